// Calls while a thread ends, from destructors of thread-specific data that run after the library's
// own, work like any others: the thread's message and its pins, already freed, are allocated again.
#include <pthread.h>

#include "check.h"

enum { THREADS = 64 };
static pthread_key_t last;
static tensor_t *shared;

static void at_the_end(void *unused) {
  (void)unused;
  for (int i = 0; i < 50; i++) {
    tensor_t *t = NULL;
    FAILS(tensor_mul(shared, NULL, &t), TENSOR_ERROR_HANDLE, "argument 'other' is NULL");
    OK(tensor_mul(shared, shared, &t));
    CHECK(data_of(t)[0] == 9);
    OK(tensor_free(t));
  }
}

static void *work(void *value) {
  tensor_t *t = NULL;
  FAILS(tensor_mul(shared, NULL, &t), TENSOR_ERROR_HANDLE, "argument 'other' is NULL");
  pthread_setspecific(last, value);
  return NULL;
}

int main(void) {
  const int64_t one[] = {1};
  shared = floats((float[]){3}, one, 1);
  // Destructors run in the order of their keys: this one is behind those of the library.
  pthread_key_create(&last, at_the_end);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, &shared) == 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  OK(tensor_free(shared));
  CHECK(tensor_live_handles() == 0);
  return 0;
}
