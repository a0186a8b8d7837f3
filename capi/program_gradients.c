// Gradients of tensors that only the graph of cond uses that was not run.
#include "functions.h"
#include "program_run.h"

static bool is_differentiable(const tensor_t *t) {
  const tensor_dtype d = tensor_get_dtype(t);
  return d >= TENSOR_FLOAT16 && d <= TENSOR_COMPLEX128;
}

// Returns the sum of no elements of a tensor: a real 0, whose gradient is 0 for all elements.
static tensor_status sum_none(const tensor_t *t, tensor_t **out) {
  tensor_t *row = NULL, *empty = NULL, *parts = NULL;
  tensor_status status = tensor_unsqueeze(t, 0, &row);
  if (!status) status = tensor_narrow(row, 0, 0, 0, &empty);
  if (!status && lt_is_complex(tensor_get_dtype(t))) status = tensor_view_as_real(empty, &parts);
  if (!status) status = tensor_sum(parts ? parts : empty, NULL, 0, false, TENSOR_DTYPE_NONE, out);
  tensor_free(row), tensor_free(empty), tensor_free(parts);
  return status;
}

// Adds the sum of no elements of a tensor to a sum.
static tensor_status add_source(const tensor_t *t, tensor_t **sum) {
  tensor_t *zero = NULL, *next = NULL;
  const tensor_status status = sum_none(t, &zero);
  if (status || !*sum) return *sum = zero, status;
  const tensor_status added = tensor_add(*sum, zero, tensor_int(1), &next);
  tensor_free(zero), tensor_free(*sum);
  *sum = next;
  return added;
}

// Subtracts a zero from a tensor, which changes no element.
static tensor_status subtract(tensor_t **t, const tensor_t *zero) {
  tensor_t *same = NULL, *result = NULL;
  tensor_status status =
      tensor_to_options(zero, tensor_get_dtype(*t), TENSOR_LAYOUT_NONE, tensor_device_default(),
                        false, false, TENSOR_FORMAT_NONE, &same);
  if (!status) status = tensor_sub(*t, same, tensor_int(1), &result);
  tensor_free(same);
  if (status) return status;
  tensor_free(*t);
  *t = result;
  return TENSOR_OK;
}

void lt_connect_untaken(run *r, const char *step, const int64_t *used, int64_t used_count,
                        tensor_value *results, int64_t count) {
  bool enabled = false, grad = false;
  tensor_t *zero = NULL;
  if (!r->gradients || tensor_is_grad_enabled(&enabled) || !enabled) return;
  tensor_status status = TENSOR_OK;
  for (int64_t i = 0; i < used_count && !status; i++) {
    const tensor_value *v = r->values + used[i];
    if (v->kind != TENSOR_VALUE_TENSOR) continue;
    status = tensor_requires_grad(v->as.tensor, &grad);
    if (!status && grad) status = add_source(v->as.tensor, &zero);
  }
  for (int64_t i = 0; i < count && zero && !status; i++)
    if (results[i].kind == TENSOR_VALUE_TENSOR && is_differentiable(results[i].as.tensor))
      status = subtract(&results[i].as.tensor, zero);
  tensor_free(zero);
  if (status) lt_fail_call(r, step, status);
}
