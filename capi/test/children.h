// Runs a part of a test in a separate process, in which the library is as at the start of a
// program: the parent never calls it.
#ifndef LIBTENSOR_TEST_CHILDREN_H
#define LIBTENSOR_TEST_CHILDREN_H

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

// Returns the exit status of the child that runs a part, as waitpid() reports it.
static inline int ends(void (*part)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(120);
    part();
    exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

#define PASSES(part)                                                                         \
  do {                                                                                       \
    const int status = ends(part);                                                           \
    if (status) fprintf(stderr, "%s: %s ended with %d\n", __FILE__, #part, status), exit(1); \
  } while (0)

static inline int threads_now(void) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  CHECK(tasks);
  for (const struct dirent *entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// A product that all of the library's threads take part in, whose elements are `side` times 2.
static inline tensor_t *work(int64_t side) {
  const int64_t sizes[] = {side, side};
  tensor_t *ones = NULL, *twos = NULL, *product = NULL;
  OK(tensor_full(sizes, 2, tensor_float(1), TENSOR_FLOAT32, TENSOR_LAYOUT_NONE,
                 tensor_device_default(), &ones));
  OK(tensor_add(ones, ones, tensor_int(1), &twos));
  OK(tensor_mm(ones, twos, &product));
  OK(tensor_free(ones));
  OK(tensor_free(twos));
  return product;
}

static inline void check_work(int64_t side) {
  tensor_t *product = work(side);
  const float *p = data_of(product);
  for (int64_t i = 0; i < side * side; i++) CHECK(p[i] == 2 * (float)side);
  OK(tensor_free(product));
}

#endif
