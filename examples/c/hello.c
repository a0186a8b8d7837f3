// cc hello.c -ltensor
#include <stdio.h>
#include <tensor.h>

int main(void) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const int64_t sizes[] = {2, 3};
  tensor_t *a = NULL, *b = NULL;
  const bool done = tensor_from_data(values, sizes, 2, TENSOR_FLOAT32, &a) == TENSOR_OK &&
                    tensor_mul_scalar(a, tensor_float(0.5), &b) == TENSOR_OK &&
                    tensor_print(b, stdout) == TENSOR_OK;
  if (!done) fprintf(stderr, "%s\n", tensor_last_error());
  tensor_free(a);
  tensor_free(b);
  return !done;
}

// Prints:
// tensor([[0.5000, 1.0000, 1.5000],
//         [2.0000, 2.5000, 3.0000]])
