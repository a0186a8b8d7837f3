// A custom operator with a user-defined kernel: gate(x, w) = x * sigmoid(w), in one pass over the
// memory instead of two, on the library's threads, with a derivative of any order.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tensor.h>

// ---------------------------------------------------------------------------------- the kernel

typedef struct {
  const float *x, *w;
  float *to;
} pointers;

static tensor_status gate_range(void *context, int64_t begin, int64_t end) {
  const pointers *p = context;
  for (int64_t i = begin; i < end; i++) p->to[i] = p->x[i] / (1 + expf(-p->w[i]));
  return TENSOR_OK;
}

static tensor_status require(bool condition, const char *message) {
  if (condition) return TENSOR_OK;
  tensor_set_last_error(message);
  return TENSOR_ERROR_RUNTIME;
}

// gate(Tensor x, Tensor w) -> Tensor
static tensor_status gate(void *context, const tensor_value *arguments, int32_t argument_count,
                          tensor_value *results, int32_t result_count) {
  (void)context, (void)argument_count, (void)result_count;
  const tensor_t *x = arguments[0].as.tensor, *w = arguments[1].as.tensor;
  const int64_t dim = tensor_dim(x);
  tensor_status status =
      require(tensor_get_dtype(x) == TENSOR_FLOAT32 && tensor_get_dtype(w) == TENSOR_FLOAT32 &&
                  tensor_dim(w) == dim &&
                  memcmp(tensor_sizes(x), tensor_sizes(w), (size_t)dim * sizeof(int64_t)) == 0,
              "examples::gate: arguments 'x' and 'w' must be float32 tensors of the same shape");
  tensor_t *rows[2] = {NULL, NULL}, *made = NULL;
  void *from[2], *to;
  for (int i = 0; i < 2 && !status; i++) {
    status = tensor_contiguous(arguments[i].as.tensor, TENSOR_CONTIGUOUS, &rows[i]);
    if (!status) status = tensor_data_ptr(rows[i], &from[i]);
  }
  if (!status)
    status = tensor_empty(tensor_sizes(x), dim, TENSOR_FLOAT32, TENSOR_STRIDED,
                          tensor_get_device(x), TENSOR_CONTIGUOUS, &made);
  if (!status) status = tensor_data_ptr(made, &to);
  if (!status)
    status =
        tensor_parallel_for(tensor_numel(x), 4096, gate_range, &(pointers){from[0], from[1], to});
  tensor_free(rows[0]), tensor_free(rows[1]);
  // The library frees the result after an error.
  if (made) results[0] = (tensor_value){.kind = TENSOR_VALUE_TENSOR, .as.tensor = made};
  return status;
}

// ------------------------------------------------------------------------------- the derivative

// With s = sigmoid(w): the gradient of x is g * s, that of w is g * x * s * (1 - s). The operators
// of the library compute it, so that it can be differentiated again.
static tensor_status gate_backward(void *context, const tensor_value *arguments,
                                   int32_t argument_count, const tensor_value *results,
                                   const tensor_value *gradients, int32_t result_count,
                                   tensor_value *argument_gradients) {
  (void)context, (void)argument_count, (void)results, (void)result_count;
  tensor_t *s = NULL, *first = NULL, *rest = NULL, *slope = NULL, *second = NULL;
  tensor_status status = tensor_sigmoid(arguments[1].as.tensor, &s);
  if (!status) status = tensor_mul(gradients[0].as.tensor, s, &first);
  if (!status) status = tensor_rsub_scalar(s, tensor_int(1), tensor_int(1), &rest);
  if (!status) status = tensor_mul(first, rest, &slope);
  if (!status) status = tensor_mul(slope, arguments[0].as.tensor, &second);
  tensor_t *const temporary[] = {s, rest, slope};
  for (int i = 0; i < 3; i++) tensor_free(temporary[i]);
  argument_gradients[0] =
      (tensor_value){.kind = first ? TENSOR_VALUE_TENSOR : TENSOR_VALUE_NONE, .as.tensor = first};
  argument_gradients[1] =
      (tensor_value){.kind = second ? TENSOR_VALUE_TENSOR : TENSOR_VALUE_NONE, .as.tensor = second};
  return status;
}

static tensor_status call_gate(tensor_t *x, tensor_t *w, tensor_value *result) {
  const tensor_value arguments[] = {{.kind = TENSOR_VALUE_TENSOR, .as.tensor = x},
                                    {.kind = TENSOR_VALUE_TENSOR, .as.tensor = w}};
  int32_t count = 1;
  return tensor_call("examples::gate", arguments, NULL, 2, result, &count, NULL);
}

int main(void) {
  const tensor_operator_options options = {
      .size = sizeof options, .backward = gate_backward, .unsaved_results = 1};
  int64_t definition = 0;
  tensor_status status = tensor_define_operator("examples::gate(Tensor x, Tensor w) -> Tensor",
                                                gate, &options, NULL, NULL, &definition);

  const int64_t sizes[] = {2, 3};
  tensor_t *x = NULL, *w = NULL, *sum = NULL, *gradient = NULL;
  tensor_value y = {.kind = TENSOR_VALUE_NONE};
  if (!status) status = tensor_from_data((float[]){1, 2, 3, 4, 5, 6}, sizes, 2, TENSOR_FLOAT32, &x);
  if (!status)
    status = tensor_zeros(sizes, 2, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &w);
  if (!status) status = tensor_set_requires_grad(w, true);
  if (!status) status = call_gate(x, w, &y);
  if (!status) status = tensor_print(y.as.tensor, stdout);
  if (!status) status = tensor_sum(y.as.tensor, NULL, 0, false, TENSOR_DTYPE_NONE, &sum);
  if (!status) status = tensor_backward((const tensor_t *[]){sum}, 1, NULL, 0, 1, false, NULL, 0);
  if (!status) status = tensor_grad(w, &gradient);
  if (!status) status = tensor_print(gradient, stdout);

  // An error of the operator is the error of the call.
  tensor_value none;
  if (!status && call_gate(x, sum, &none)) puts(tensor_last_error());
  if (status) fprintf(stderr, "%s\n", tensor_last_error());
  tensor_t *const made[] = {x, w, sum, gradient};
  for (int i = 0; i < 4; i++) tensor_free(made[i]);
  tensor_value_free(&y);
  tensor_remove_operator(definition);
  return status != TENSOR_OK;
}

// Prints:
// tensor([[0.5000, 1.0000, 1.5000],
//         [2.0000, 2.5000, 3.0000]], grad_fn=<examples::gate>)
// tensor([[0.2500, 0.5000, 0.7500],
//         [1.0000, 1.2500, 1.5000]])
// examples::gate: arguments 'x' and 'w' must be float32 tensors of the same shape
