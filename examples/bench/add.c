// Prints how long tensor_add of two tensors of three floats and the freeing of its result take, in
// nanoseconds.
#include <stdio.h>
#include <tensor.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void) {
  enum { REPEATS = 1000000 };
  const int64_t sizes[] = {3};
  tensor_t *a, *c;
  if (tensor_ones(sizes, 1, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &a))
    goto failed;
  double start = now();
  for (int i = 0; i < REPEATS; i++) {
    if (tensor_add(a, a, tensor_int(1), &c)) goto failed;
    tensor_free(c);
  }
  printf("%.1f\n", (now() - start) / REPEATS);
  tensor_free(a);
  return 0;
failed:
  fprintf(stderr, "%s\n", tensor_last_error());
  return 1;
}
