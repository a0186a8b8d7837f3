// Hooks: a callback receives a gradient during the backward pass, and replaces it. cc hooks.c
// -ltensor
#include <stdio.h>
#include <tensor.h>

// Halves the gradient. The library takes ownership of the results, and frees `given` itself.
static tensor_status halve(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                           int64_t made_len) {
  (void)given_len, (void)made_len;
  ++*(int *)context;
  return tensor_mul_scalar(given[0], tensor_float(0.5), &made[0]);
}

int main(void) {
  const double values[] = {1, 2, 3};
  tensor_t *x = NULL, *squares = NULL, *sum = NULL, *gradient = NULL;
  int64_t hook = 0;
  int calls = 0;
  const bool done = tensor_from_data(values, (int64_t[]){3}, 1, TENSOR_FLOAT64, &x) == TENSOR_OK &&
                    tensor_set_requires_grad(x, true) == TENSOR_OK &&
                    tensor_register_hook(x, halve, &calls, NULL, &hook) == TENSOR_OK &&
                    tensor_mul(x, x, &squares) == TENSOR_OK &&
                    tensor_sum(squares, NULL, 0, false, TENSOR_DTYPE_NONE, &sum) == TENSOR_OK &&
                    // The default gradient of a sum is 1.
                    tensor_backward((const tensor_t *[]){sum}, 1, (const tensor_t *[]){NULL}, 1, -1,
                                    false, NULL, 0) == TENSOR_OK &&
                    tensor_grad(x, &gradient) == TENSOR_OK &&
                    tensor_print(gradient, stdout) == TENSOR_OK &&
                    tensor_remove_hook(hook) == TENSOR_OK;
  printf("the hook was called %d time\n", calls);
  if (!done) fprintf(stderr, "%s\n", tensor_last_error());
  tensor_free(x), tensor_free(squares), tensor_free(sum), tensor_free(gradient);
  return !done;
}

// Prints:
// tensor([1., 2., 3.], dtype=torch.float64)
// the hook was called 1 time
