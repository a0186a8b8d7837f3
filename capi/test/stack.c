// Calls run on threads with the minimum stack of the header.
#include <pthread.h>

#include "check.h"

enum { KIB = 256 };

static tensor_t *counted(int64_t rows, int64_t columns, tensor_dtype dtype) {
  tensor_t *flat = NULL, *made = NULL;
  OK(tensor_arange(tensor_int(rows * columns), dtype, TENSOR_STRIDED, tensor_device_default(),
                   &flat));
  OK(tensor_reshape(flat, (int64_t[]){rows, columns}, 2, &made));
  OK(tensor_free(flat));
  return made;
}

static void *work(void *unused) {
  tensor_t *a = counted(300, 500, TENSOR_FLOAT32), *b = counted(500, 300, TENSOR_FLOAT64);
  tensor_t *half = NULL, *turned = NULL, *made[12] = {NULL};
  half = counted(300, 500, TENSOR_FLOAT16);
  OK(tensor_transpose_(b, 0, 1));
  OK(tensor_transpose(a, 0, 1, &turned));
  // Kernels that convert, transpose, sort, reduce and multiply rows keep blocks on the stack.
  OK(tensor_add(half, b, tensor_int(1), &made[0]));
  OK(tensor_atan2(a, b, &made[1]));
  OK(tensor_mm(a, turned, &made[2]));
  OK(tensor_sum(half, (int64_t[]){0}, 1, false, TENSOR_DTYPE_NONE, &made[3]));
  OK(tensor_sort(half, 0, false, &made[4], &made[5]));
  OK(tensor_cumsum(turned, 1, TENSOR_DTYPE_NONE, &made[6]));
  OK(tensor_softmax(half, 0, TENSOR_DTYPE_NONE, &made[7]));
  OK(tensor_lgamma(half, &made[8]));
  OK(tensor_contiguous(turned, TENSOR_CONTIGUOUS, &made[9]));
  char *text = NULL;
  OK(tensor_to_string(half, 4, 1000, 3, 80, -1, &text));
  tensor_string_free(text);
  for (int i = 0; i < 12; i++) OK(tensor_free(made[i]));
  OK(tensor_free(a));
  OK(tensor_free(b));
  OK(tensor_free(half));
  OK(tensor_free(turned));
  return unused;
}

int main(void) {
  pthread_attr_t small;
  pthread_t thread;
  CHECK(pthread_attr_init(&small) == 0);
  CHECK(pthread_attr_setstacksize(&small, KIB << 10) == 0);
  CHECK(pthread_create(&thread, &small, work, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(tensor_live_handles() == 0);
  return 0;
}
