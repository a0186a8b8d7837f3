#define _GNU_SOURCE
#include "library.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static outcome explain(tensor_status status) {
  return (outcome){status, status ? strdup(tensor_last_error()) : NULL};
}

// The program and the library each have a Go runtime, and both preempt goroutines with SIGURG. A
// handler ignores the signal on threads that are not of its runtime, so that both can be called.
static struct sigaction of_program, of_library;

static void preempt(int number, siginfo_t *info, void *context) {
  of_program.sa_sigaction(number, info, context);
  of_library.sa_sigaction(number, info, context);
}

outcome start_library(void) {
  sigaction(SIGURG, NULL, &of_program);
  const int64_t one = 1;
  tensor_t *first = NULL;
  const tensor_status status = tensor_from_data(&one, NULL, 0, TENSOR_INT64, &first);
  if (status) return explain(status);
  tensor_free(first);
  sigaction(SIGURG, NULL, &of_library);
  const bool both = of_program.sa_flags & of_library.sa_flags & SA_SIGINFO;
  if (!both || of_program.sa_sigaction == of_library.sa_sigaction) return explain(TENSOR_OK);
  struct sigaction joined = of_program;
  joined.sa_sigaction = preempt;
  sigaction(SIGURG, &joined, NULL);
  return explain(TENSOR_OK);
}

outcome load_file(const char *path, tensor_program_t **out) {
  return explain(tensor_program_load(path, out));
}

outcome load_bytes(const void *data, int64_t length, tensor_program_t **out) {
  return explain(tensor_program_load_memory(data, length, out));
}

outcome run_program(const tensor_program_t *program, tensor_t **state, int32_t state_count,
                    const tensor_value *inputs, int32_t n, tensor_value *outputs, int32_t m) {
  const tensor_program_options options = {.size = sizeof options,
                                          .state = (const tensor_t *const *)state,
                                          .state_count = state_count,
                                          .gradients = state != NULL};
  return explain(tensor_program_run_with(program, &options, inputs, n, outputs, m));
}

outcome state_tensor(const tensor_program_t *program, int32_t index, bool requires_grad,
                     tensor_t **out) {
  tensor_status status = tensor_program_tensor(program, index, out);
  if (!status && requires_grad) status = tensor_set_requires_grad(*out, true);
  return explain(status);
}

outcome backward_of(const tensor_t *tensor, const tensor_t *gradient) {
  return explain(tensor_backward(&tensor, 1, &gradient, gradient ? 1 : 0, -1, false, NULL, 0));
}

outcome gradient_of(const tensor_t *tensor, tensor_t **out) {
  return explain(tensor_grad(tensor, out));
}

outcome require_gradient(const tensor_t *tensor, bool requires_grad) {
  return explain(tensor_set_requires_grad(tensor, requires_grad));
}

outcome tensor_of(const void *data, const int64_t *sizes, int64_t dims, tensor_dtype dtype,
                  tensor_t **out) {
  return explain(tensor_from_data(data, sizes, dims, dtype, out));
}

outcome elements_of(const tensor_t *tensor, tensor_t **out, void **data) {
  tensor_status status = tensor_contiguous(tensor, TENSOR_CONTIGUOUS, out);
  if (!status) status = tensor_data_ptr(*out, data);
  return explain(status);
}

void set_tensor(tensor_value *to, tensor_t *tensor) {
  to->kind = TENSOR_VALUE_TENSOR, to->as.tensor = tensor;
}
void set_int(tensor_value *to, int64_t i) { to->kind = TENSOR_VALUE_INT, to->as.i = i; }
void set_float(tensor_value *to, double f) { to->kind = TENSOR_VALUE_FLOAT, to->as.f = f; }
void set_bool(tensor_value *to, bool b) { to->kind = TENSOR_VALUE_BOOL, to->as.b = b; }
void set_string(tensor_value *to, const char *string) {
  to->kind = TENSOR_VALUE_STRING, to->as.string = string;
}
tensor_t *get_tensor(const tensor_value *value) { return value->as.tensor; }
int64_t get_int(const tensor_value *value) { return value->as.i; }
double get_float(const tensor_value *value) { return value->as.f; }
bool get_bool(const tensor_value *value) { return value->as.b; }
const char *get_string(const tensor_value *value) { return value->as.string; }
