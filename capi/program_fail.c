// Errors of the steps of a run.
#include <stdarg.h>
#include <stdio.h>

#include "program_run.h"

static void fail(run *r, tensor_status status, const char *step, const char *text) {
  if (!r->problem.code)
    lt_explain(&r->problem, status, NULL, "program_run: node '%s': %s", step, text);
}

void *lt_fail_step(run *r, const char *step, const char *format, ...) {
  char text[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  fail(r, TENSOR_ERROR_RUNTIME, step, text);
  return NULL;
}

void *lt_fail_call(run *r, const char *step, tensor_status status) {
  fail(r, status, step, tensor_last_error());
  return NULL;
}

void *lt_fail_memory(run *r, const char *step) {
  fail(r, TENSOR_ERROR_MEMORY, step, "there is not enough memory for the results");
  return NULL;
}
