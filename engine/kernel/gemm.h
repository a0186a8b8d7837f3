// What Go and the matrix kernels agree on.
#ifndef LIBTENSOR_KERNEL_GEMM_H
#define LIBTENSOR_KERNEL_GEMM_H

#include "abi.h"

// c = alpha * a b + beta * c for every matrix of a batch; a is m by k, b is k by n. Strides count
// elements. c is not read where beta is 0. b and c have the kernel's dtype. a has it too, but for
// int8 and uint8, where it is int16, and for 16-bit floats, where it is float32 (bfloat16 where the
// kernel is gemm_bfloat16 or gemm_dots_bfloat16); where its dtype takes 16 bits its columns must be
// adjacent. Both a and b must lie along k for gemm_dots. Factors are float32 for 16-bit floats and
// of the kernel's dtype otherwise.
typedef struct {
  uintptr_t a, b, c;
  int64_t batch, m, n, k;
  int64_t a_batch, a_row, a_col, b_batch, b_row, b_col, c_batch, c_row, c_col;
  uint8_t alpha[16], beta[16];
} lt_gemm;

// The sum of products of two vectors; conjugate applies to the first. The result is float64 for
// floats, complex128 for complex numbers, and of the same dtype for integers.
typedef struct {
  uintptr_t a, b, out;
  int64_t n, a_step, b_step;
  int32_t conjugate;
} lt_dot;

#endif
