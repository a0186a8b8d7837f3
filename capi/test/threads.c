// Threads share tensors for reading and make their own; each has its own last error.
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 5000 };
static tensor_t *shared;

static void *work(void *arg) {
  int id = *(int *)arg;
  for (int i = 0; i < ROUNDS; i++) {
    tensor_t *t = NULL, *u = NULL;
    OK(tensor_add_scalar(shared, tensor_int(id), tensor_int(1), &t));
    OK(tensor_mul(t, t, &u));
    CHECK(data_of(u)[0] == (float)((1 + id) * (1 + id)));
    OK(tensor_free(t));
    const int64_t size[] = {-1 - id};
    char text[16];
    snprintf(text, sizeof text, "size %d ", -1 - id);
    FAILS(tensor_zeros(size, 1, TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, tensor_device_default(), &t),
          TENSOR_ERROR_RUNTIME, text);
    OK(tensor_free(u));
  }
  return NULL;
}

int main(void) {
  const int64_t one[] = {1};
  shared = floats((float[]){1}, one, 1);
  pthread_t threads[THREADS];
  int ids[THREADS];
  for (int i = 0; i < THREADS; i++) {
    ids[i] = i;
    CHECK(pthread_create(&threads[i], NULL, work, &ids[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  OK(tensor_free(shared));
  CHECK(tensor_live_handles() == 0);
  return 0;
}
