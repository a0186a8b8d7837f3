// Prints how many nanoseconds small calls take, with the freeing of what they give: tensor_add of
// three floats, and a linear layer of 64 units with relu.
#include <stdio.h>
#include <stdlib.h>
#include <tensor.h>
#include <time.h>

enum { REPEATS = 300000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void check(tensor_status status) {
  if (status == TENSOR_OK) return;
  fprintf(stderr, "%s\n", tensor_last_error());
  exit(1);
}

static tensor_t *ones(int64_t rows, int64_t columns) {
  tensor_t *t;
  check(tensor_ones((int64_t[]){rows, columns}, 2, TENSOR_FLOAT32, TENSOR_STRIDED,
                    tensor_device_default(), &t));
  return t;
}

int main(void) {
  tensor_t *a = ones(1, 3), *x = ones(1, 64), *weights = ones(64, 64), *bias, *c, *y;
  check(tensor_select(weights, 0, 0, &bias));
  double start = now();
  for (int i = 0; i < REPEATS; i++) {
    check(tensor_add(a, a, tensor_int(1), &c));
    tensor_free(c);
  }
  printf("%.1f\n", (now() - start) / REPEATS);
  start = now();
  for (int i = 0; i < REPEATS; i++) {
    check(tensor_nn_linear(x, weights, bias, &c));
    check(tensor_relu(c, &y));
    tensor_free(c), tensor_free(y);
  }
  printf("%.1f\n", (now() - start) / REPEATS);
  tensor_free(a), tensor_free(x), tensor_free(weights), tensor_free(bias);
}
