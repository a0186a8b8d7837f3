// The few lines that every C test uses.
#ifndef LIBTENSOR_TEST_CHECK_H
#define LIBTENSOR_TEST_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/tensor.h"

// Ends the test with a message unless the condition holds.
#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              tensor_last_error());                                                    \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)

#define OK(call) CHECK((call) == TENSOR_OK)

// The call must fail with this status and a message that has this text in it.
#define FAILS(call, status, text)                       \
  do {                                                  \
    CHECK((call) == (status));                          \
    CHECK(strstr(tensor_last_error(), (text)) != NULL); \
  } while (0)

static inline tensor_t *floats(const float *values, const int64_t *sizes, int64_t dims) {
  tensor_t *t = NULL;
  OK(tensor_from_data(values, sizes, dims, TENSOR_FLOAT32, &t));
  return t;
}

static inline const float *data_of(const tensor_t *t) {
  void *p = NULL;
  OK(tensor_data_ptr(t, &p));
  return p;
}

#endif
