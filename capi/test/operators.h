// Used by the generated program build/operators/operators.c: tensors from bytes, and results as
// text.
#ifndef LIBTENSOR_TEST_OPERATORS_H
#define LIBTENSOR_TEST_OPERATORS_H

#include <math.h>

#include "check.h"

// A tensor over static bytes, with any strides.
static tensor_t *make(void *bytes, int64_t count, tensor_dtype dtype, const int64_t *size,
                      const int64_t *stride, int64_t dims, int64_t offset) {
  tensor_t *flat = NULL, *view = NULL;
  OK(tensor_from_data(bytes, &count, 1, dtype, &flat));
  OK(tensor_as_strided(flat, size, dims, stride, dims, offset, &view));
  OK(tensor_free(flat));
  return view;
}

static tensor_t *empty(tensor_dtype dtype) {
  tensor_t *t = NULL;
  OK(tensor_empty((const int64_t[]){0}, 1, dtype, TENSOR_LAYOUT_NONE, tensor_device_default(),
                  TENSOR_FORMAT_NONE, &t));
  return t;
}

static void put_hex(const void *data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i++) printf("%02x", ((const unsigned char *)data)[i]);
}

static void put_numbers(const int64_t *values, int64_t n) {
  for (int64_t i = 0; i < n; i++) printf("%s%lld", i ? "," : "", (long long)values[i]);
}

// dtype [sizes] [strides] bytes of the elements in row-major order
static void put_tensor(const tensor_t *t, bool values) {
  printf(" %s [", tensor_dtype_name(tensor_get_dtype(t)));
  put_numbers(tensor_sizes(t), tensor_dim(t));
  printf("] [");
  put_numbers(tensor_strides(t), tensor_dim(t));
  printf("] ");
  if (!values) return;
  tensor_t *conjugated = NULL, *computed = NULL, *dense = NULL;
  void *data = NULL;
  OK(tensor_resolve_conj(t, &conjugated));
  OK(tensor_resolve_neg(conjugated, &computed));
  OK(tensor_contiguous(computed, TENSOR_CONTIGUOUS, &dense));
  OK(tensor_data_ptr(dense, &data));
  put_hex(data, tensor_numel(dense) * tensor_dtype_size(tensor_get_dtype(dense)));
  OK(tensor_free(conjugated));
  OK(tensor_free(computed));
  OK(tensor_free(dense));
}

static void put_scalar(tensor_scalar s) {
  static const char *const kinds[] = {"none", "bool", "int", "float", "complex"};
  printf(" %s ", kinds[s.kind]);
  if (s.kind <= TENSOR_SCALAR_INT) {
    printf("%lld", (long long)s.value.i);
  } else {
    put_hex(&s.value, s.kind == TENSOR_SCALAR_COMPLEX ? 16 : 8);
  }
}

#endif
