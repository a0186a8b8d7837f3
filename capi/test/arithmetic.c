// A sum from C: values, shapes, all forms of a call, and the state after a failed call.
#include "check.h"

int main(void) {
  const int64_t row[] = {3}, column[] = {2, 1};
  tensor_t *a = floats((float[]){1, 2, 3}, row, 1), *b = floats((float[]){10, 20}, column, 2),
           *c = NULL;
  OK(tensor_add(a, b, tensor_int(2), &c));
  CHECK(tensor_dim(c) == 2 && tensor_sizes(c)[0] == 2 && tensor_sizes(c)[1] == 3);
  CHECK(tensor_strides(c)[0] == 3 && tensor_strides(c)[1] == 1 && tensor_numel(c) == 6);
  CHECK(tensor_get_dtype(c) == TENSOR_FLOAT32 && tensor_get_device(c).type == TENSOR_CPU);
  CHECK(memcmp(data_of(c), (float[]){21, 22, 23, 41, 42, 43}, 24) == 0);

  OK(tensor_add_scalar_(a, tensor_float(0.5), tensor_int(1)));
  CHECK(memcmp(data_of(a), (float[]){1.5, 2.5, 3.5}, 12) == 0);

  OK(tensor_mul_out(a, a, c));  // resizes c
  CHECK(tensor_dim(c) == 1 && tensor_sizes(c)[0] == 3);
  CHECK(data_of(c)[2] == 3.5f * 3.5f);

  tensor_t *untouched = (tensor_t *)&c;
  const int64_t four[] = {4};
  tensor_t *d = floats((float[]){1, 2, 3, 4}, four, 1);
  FAILS(tensor_add(a, d, tensor_int(1), &untouched), TENSOR_ERROR_RUNTIME,
        "size of tensor a (3) must match the size of tensor b (4)");
  CHECK(untouched == (tensor_t *)&c);
  FAILS(tensor_add_(a, d, tensor_int(1)), TENSOR_ERROR_RUNTIME, "add");
  CHECK(data_of(a)[0] == 1.5f && tensor_sizes(a)[0] == 3);
  FAILS(tensor_add(a, b, tensor_none(), &c), TENSOR_ERROR_VALUE, "alpha");

  const int64_t huge[] = {INT64_MAX, INT64_MAX}, negative[] = {-1};
  FAILS(tensor_zeros(huge, 2, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, tensor_device_default(), &c),
        TENSOR_ERROR_RUNTIME, "64-bit");
  FAILS(
      tensor_zeros(negative, 1, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, tensor_device_default(), &c),
      TENSOR_ERROR_RUNTIME, "negative");
  FAILS(tensor_zeros(row, 1, (tensor_dtype)99, TENSOR_LAYOUT_NONE, tensor_device_default(), &c),
        TENSOR_ERROR_VALUE, "dtype");
  FAILS(tensor_zeros(NULL, 1, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, tensor_device_default(), &c),
        TENSOR_ERROR_VALUE, "size");
  FAILS(tensor_zeros(row, 1, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, tensor_device_default(), NULL),
        TENSOR_ERROR_VALUE, "NULL");
  tensor_device cuda = {TENSOR_CUDA, 0};
  FAILS(tensor_zeros(row, 1, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, cuda, &c), TENSOR_ERROR_RUNTIME,
        "no driver: libcuda.so.1");

  OK(tensor_free(a));
  OK(tensor_free(b));
  OK(tensor_free(c));
  OK(tensor_free(d));
  CHECK(tensor_live_handles() == 0);
  return 0;
}
