// One thread frees, resizes, shares or reshapes the tensors that calls of others use: these return
// correct results, or an error that describes the conflict, and do not access freed memory.
#include <pthread.h>
#include <stdatomic.h>

#include "../lists.h"
#include "check.h"

enum { USERS = 3, ROUNDS = 4000, SIZE = 3000 };
static tensor_t *_Atomic shared;
static _Atomic int stop;
static _Atomic int64_t answers;

static tensor_t *ones(int64_t size) {
  tensor_t *t = NULL;
  OK(tensor_ones(&size, 1, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &t));
  return t;
}

static void *use(void *unused) {
  while (!stop) {
    tensor_t *t = shared, *twice = NULL;
    tensor_status status = tensor_add(t, t, tensor_int(1), &twice);
    if (status == TENSOR_OK) {
      const float *values = data_of(twice);
      CHECK(tensor_numel(twice) >= SIZE);
      for (int64_t i = 0; i < SIZE; i++) CHECK(values[i] == 2);
      OK(tensor_free(twice));
      answers++;
    } else if (status == TENSOR_ERROR_HANDLE) {
      CHECK(strstr(tensor_last_error(), "is not a live tensor"));
    } else {
      CHECK(status == TENSOR_ERROR_RUNTIME);
      CHECK(strstr(tensor_last_error(), "being resized by another thread"));
    }
  }
  return unused;
}

// Frees the shared tensor and puts another in its place.
static void free_it(void) {
  tensor_t *fresh = ones(SIZE);
  OK(tensor_free(atomic_exchange(&shared, fresh)));
}

// Makes the storage move, by way of an alias; rejected while a call uses it.
static void resize_alias(void) {
  tensor_t *alias = NULL;
  OK(tensor_detach(shared, &alias));
  const int64_t sizes[] = {SIZE + 40000, SIZE};
  for (int i = 0; i < 2; i++)
    if (tensor_resize_(alias, sizes + i, 1, TENSOR_FORMAT_NONE))
      CHECK(strstr(tensor_last_error(), "in use by a call on another thread"));
  OK(tensor_free(alias));
}

// Changes the shape of the very tensor; rejected while a call uses it.
static void reshape(void) {
  for (int i = 0; i < 2; i++)
    if (tensor_unsqueeze_(shared, 0) || tensor_squeeze_(shared))
      CHECK(strstr(tensor_last_error(), "in use by a call on another thread"));
}

// Moves the bytes to shared memory, and overwrites the old ones; rejected while a call uses them.
static void share(void) {
  if (tensor_share_memory_(shared)) {
    CHECK(strstr(tensor_last_error(), "in use by a call on another thread"));
    return;
  }
  tensor_t *other = NULL;
  const int64_t size = SIZE;
  OK(tensor_zeros(&size, 1, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &other));
  OK(tensor_free(other));
  free_it();
}

static void while_others_use(void (*change)(void)) {
  pthread_t users[USERS];
  shared = ones(SIZE);
  stop = 0;
  answers = 0;
  for (int i = 0; i < USERS; i++) CHECK(pthread_create(&users[i], NULL, use, NULL) == 0);
  while (!answers);
  for (int i = 0; i < ROUNDS; i++) change();
  stop = 1;
  for (int i = 0; i < USERS; i++) CHECK(pthread_join(users[i], NULL) == 0);
  OK(tensor_free(shared));
  int64_t bytes, unused[5];
  OK(tensor_memory_stats(&bytes, unused, unused + 1, unused + 2, unused + 3, unused + 4));
  CHECK(bytes == 0);
  CHECK(tensor_live_handles() == 0);
}

// Operations of another thread on the shared tensor while this one reads its elements.
static void *disturb(void *alias) {
  const int64_t large = 1 << 20, none = 0;
  tensor_storage_t *storage = NULL;
  CHECK(tensor_resize_(alias, &large, 1, TENSOR_FORMAT_NONE) == TENSOR_ERROR_RUNTIME);
  CHECK(strstr(tensor_last_error(), "in use by a call on another thread"));
  OK(tensor_untyped_storage(alias, &storage));
  CHECK(tensor_storage_resize_(storage, none) == TENSOR_ERROR_RUNTIME);
  CHECK(strstr(tensor_last_error(), "in use by a call on another thread"));
  OK(tensor_storage_free(storage));
  CHECK(tensor_unsqueeze_(shared, 0) == TENSOR_ERROR_RUNTIME);
  CHECK(strstr(tensor_last_error(), "in use by a call on another thread"));
  OK(tensor_free(alias));
  OK(tensor_free(shared));
  return NULL;
}

// A binding that reads elements itself holds the tensor; calls that it makes meanwhile change
// nothing of that.
static void while_held(void) {
  pthread_t other;
  tensor_t *alias = NULL, *sum = NULL;
  void *data = NULL;
  int64_t held, live = tensor_live_handles();
  shared = ones(SIZE);
  OK(tensor_detach(shared, &alias));
  OK(tensor_hold(shared, &data, &held));
  OK(tensor_add(shared, shared, tensor_int(1), &sum));
  OK(tensor_free(sum));
  CHECK(pthread_create(&other, NULL, disturb, alias) == 0);
  CHECK(pthread_join(other, NULL) == 0);
  const float *values = data;
  for (int64_t i = 0; i < SIZE; i++) CHECK(values[i] == 1);
  CHECK(tensor_hold(shared, &data, &held) == TENSOR_ERROR_HANDLE);  // it was freed, in name
  tensor_let_go(held);
  CHECK(tensor_live_handles() == live);
}

int main(void) {
  while_others_use(free_it);
  while_others_use(resize_alias);
  while_others_use(reshape);
  while_others_use(share);
  while_held();
  return 0;
}
