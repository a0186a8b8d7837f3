// What Go and the matrix kernels agree on.
#ifndef LIBTENSOR_KERNEL_GEMM_H
#define LIBTENSOR_KERNEL_GEMM_H

#include "abi.h"

// c = alpha * a b + beta * c for every matrix of a batch, all of one dtype; a is m by k, b is k by
// n. Strides count elements. c is not read where beta is 0.
typedef struct {
  uintptr_t a, b, c;
  int64_t batch, m, n, k;
  int64_t a_batch, a_row, a_col, b_batch, b_row, b_col, c_batch, c_row, c_col;
  uint8_t alpha[16], beta[16];
} lt_gemm;

// The sum of products of two vectors; conjugate applies to the first. The result is float64 for
// float32, complex128 for complex64, and of the same dtype otherwise.
typedef struct {
  uintptr_t a, b, out;
  int64_t n, a_step, b_step;
  int32_t conjugate;
} lt_dot;

#endif
