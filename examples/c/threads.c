// Threads: any number reads one tensor; each has its own last error, and its own modes.
// cc threads.c -ltensor -pthread
#include <pthread.h>
#include <stdio.h>
#include <tensor.h>

enum { THREADS = 4 };

typedef struct job {
  const tensor_t *shared;
  int64_t number;
  double sum;
  bool failed;
} job;

// Adds up every fourth row, from the number of the thread on.
static void *run(void *argument) {
  job *self = argument;
  tensor_t *rows = NULL, *sum = NULL;
  tensor_scalar value;
  // No call of this thread is recorded for gradients. Other threads are not affected.
  self->failed =
      tensor_set_grad_enabled(false) != TENSOR_OK ||
      tensor_slice(self->shared, 0, self->number, TENSOR_NONE, THREADS, &rows) != TENSOR_OK ||
      tensor_sum(rows, NULL, 0, false, TENSOR_DTYPE_NONE, &sum) != TENSOR_OK ||
      tensor_item(sum, &value) != TENSOR_OK;
  if (self->failed)
    fprintf(stderr, "thread %d: %s\n", (int)self->number, tensor_last_error());
  else
    self->sum = value.value.f.re;
  tensor_free(rows), tensor_free(sum);
  return NULL;
}

int main(void) {
  tensor_t *flat = NULL, *shared = NULL;
  bool done = tensor_arange(tensor_int(1000), TENSOR_FLOAT64, TENSOR_LAYOUT_NONE,
                            tensor_device_default(), &flat) == TENSOR_OK &&
              tensor_reshape(flat, (int64_t[]){100, 10}, 2, &shared) == TENSOR_OK;
  // How many threads an operator uses itself.
  done = done && tensor_set_num_threads(1) == TENSOR_OK;
  if (!done) fprintf(stderr, "%s\n", tensor_last_error());
  pthread_t threads[THREADS];
  job jobs[THREADS];
  double total = 0;
  for (int i = 0; done && i < THREADS; i++) {
    jobs[i] = (job){shared, i, 0, false};
    pthread_create(&threads[i], NULL, run, &jobs[i]);
  }
  for (int i = 0; done && i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    printf("thread %d: %.0f\n", i, jobs[i].sum);
    total += jobs[i].sum;
  }
  printf("together: %.0f\n", total);
  tensor_free(flat), tensor_free(shared);
  return !done;
}

// Prints:
// thread 0: 121125
// thread 1: 123625
// thread 2: 126125
// thread 3: 128625
// together: 499500
