// The library is opened while the program runs, as plugins and interpreters do, also from a thread
// that ends, and closed, after which it stays. Nothing here is linked with it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../include/tensor.h"

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1); \
  } while (0)

static const char *const name = "libtensor.so.0";

static void *open_library(void *nothing) {
  (void)nothing;
  CHECK(!dlopen(name, RTLD_NOW | RTLD_NOLOAD));
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "%s\n", dlerror());
  CHECK(library);
  return library;
}

#define FIND(function)                                     \
  __typeof__(&function) function##_found;                  \
  *(void **)&function##_found = dlsym(library, #function); \
  CHECK(function##_found)

// A sort that several threads take part in.
static void *use(void *library) {
  enum { MANY = 200000 };
  FIND(tensor_from_data);
  FIND(tensor_sort);
  FIND(tensor_data_ptr);
  FIND(tensor_free);
  float *numbers = malloc(MANY * sizeof *numbers);
  CHECK(numbers);
  for (int i = 0; i < MANY; i++) numbers[i] = (float)(MANY - 1 - i);
  tensor_t *given = NULL, *sorted = NULL, *places = NULL;
  void *data = NULL;
  CHECK(!tensor_from_data_found(numbers, (int64_t[]){MANY}, 1, TENSOR_FLOAT32, &given));
  CHECK(!tensor_sort_found(given, 0, false, &sorted, &places));
  CHECK(!tensor_data_ptr_found(sorted, &data));
  for (int i = 0; i < MANY; i++) CHECK(((float *)data)[i] == (float)i);
  CHECK(!tensor_free_found(given) && !tensor_free_found(sorted) && !tensor_free_found(places));
  free(numbers);
  return library;
}

static void *in_thread(void *(*body)(void *), void *given) {
  pthread_t thread;
  CHECK(!pthread_create(&thread, NULL, body, given) && !pthread_join(thread, &given));
  return given;
}

static void opened_by_the_program(void) { use(open_library(NULL)); }

static void opened_in_a_thread(void) {
  void *library = in_thread(open_library, NULL);
  in_thread(use, library);
  use(library);
}

static void *open_and_use(void *nothing) { return use(open_library(nothing)); }

static void opened_and_used_in_a_thread(void) { use(in_thread(open_and_use, NULL)); }

static void closed_before_the_first_call(void) {
  void *library = open_library(NULL);
  CHECK(!dlclose(library));
  CHECK((library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)));
  use(library);
}

// A closed library stays loaded: its threads continue, and its state is the same when it is opened
// again.
static void closed_after_calls(void) {
  void *library = use(open_library(NULL));
  FIND(tensor_set_num_threads);
  FIND(tensor_get_num_threads);
  CHECK(!tensor_set_num_threads_found(3));
  for (int i = 0; i < 3; i++) {
    CHECK(!dlclose(library));
    CHECK((library = dlopen(name, RTLD_NOW | RTLD_LOCAL)));
    in_thread(use, library);
  }
  int64_t threads = 0;
  CHECK(!tensor_get_num_threads_found(&threads) && threads == 3);
}

int main(void) {
  void (*const parts[])(void) = {opened_by_the_program, opened_in_a_thread,
                                 opened_and_used_in_a_thread, closed_before_the_first_call,
                                 closed_after_calls};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
      alarm(120);
      parts[i]();
      exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    if (status) fprintf(stderr, "part %zu ended with %d\n", i, status);
    CHECK(!status);
  }
  return 0;
}
