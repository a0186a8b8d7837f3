// Errors of the steps of a run.
#include <stdarg.h>
#include <stdio.h>

#include "program_run.h"

void *lt_fail_step(run *r, const char *step, const char *format, ...) {
  if (r->problem.code) return NULL;
  char text[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  lt_explain(&r->problem, TENSOR_ERROR_RUNTIME, NULL, "program_run: node '%s': %s", step, text);
  return NULL;
}
