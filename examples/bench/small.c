// Prints the time of small calls in nanoseconds, including the release of their results: tensor_add
// of three floats, and a linear layer of 64 units with relu. The minimum of several measurements.
#include <stdio.h>
#include <stdlib.h>
#include <tensor.h>
#include <time.h>

enum { RUNS = 30, REPEATS = 10000 };

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

static tensor_t *a, *x, *weights, *bias;

static void add(void) {
  tensor_t *sum;
  check(tensor_add(a, a, tensor_int(1), &sum));
  tensor_free(sum);
}

static void layer(void) {
  tensor_t *units, *positive;
  check(tensor_nn_linear(x, weights, bias, &units));
  check(tensor_relu(units, &positive));
  tensor_free(units), tensor_free(positive);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void time_calls(void call(void)) {
  double least = 1e300;
  for (int run = 0; run < RUNS; run++) {
    const double start = now();
    for (int i = 0; i < REPEATS; i++) call();
    const double took = (now() - start) / REPEATS;
    least = took < least ? took : least;
  }
  printf("%.1f\n", least);
}

int main(void) {
  a = ones(1, 3), x = ones(1, 64), weights = ones(64, 64);
  check(tensor_select(weights, 0, 0, &bias));
  time_calls(add);
  time_calls(layer);
  tensor_free(a), tensor_free(x), tensor_free(weights), tensor_free(bias);
}
