// The interface of Go and the matrix kernels.
#ifndef LIBTENSOR_KERNEL_GEMM_H
#define LIBTENSOR_KERNEL_GEMM_H

#include "abi.h"

// c = alpha * a b + beta * d for every matrix of a batch; a is m by k, b is k by n. Strides count
// elements. d may be c; it is not read if beta is 0. b, c and d have the kernel's dtype. a has it
// too, except for int8 and uint8, where it is int16, and for 16-bit floats, where it is float32
// (bfloat16 for the kernels gemm_bfloat16 and gemm_dots_bfloat16); if its dtype has 16 bits, its
// columns must be adjacent. For gemm_dots both a and b must be contiguous along k. Factors are
// float32 for 16-bit floats and of the kernel's dtype otherwise.
typedef struct {
  uintptr_t a, b, c, d;
  int64_t batch, m, n, k;
  int64_t a_batch, a_row, a_col, b_batch, b_row, b_col, c_batch, c_row, c_col;
  int64_t d_batch, d_row, d_col;
  uint8_t alpha[16], beta[16];
} lt_gemm;

// Arguments of gemm_amx. room is scratch memory of `bytes` bytes; if it is NULL, the kernel only
// sets bytes, which also suffices for products with fewer rows or columns.
typedef struct {
  lt_gemm g;
  uintptr_t room;
  int64_t bytes;
} lt_gemm_amx;

// A product of quantized matrices; b is int8, a int16, or uint8 for the kernel gemm_bytes, or of
// the kernel's dtype for gemm_quantized_amx, and a's columns are adjacent. If packed is not NULL,
// it has the columns of b, as the kernel's name with _pack wrote them, and the first is that of
// this number, a multiple of 32. Arrays have an item for each column of c, and may be read up to 64
// items beyond the last one. A sum is that of (a - a_zero) * b, plus offsets, less zeros times the
// row's row_sums if these are not NULL; it wraps around. It is written to an int32 c; in float32,
// plus bias and times scales, to a float32 one; and rounded, ties to even, clamped to [low, high],
// plus zero, to one of 8 bits. The factors and the batch of g are ignored.
typedef struct {
  lt_gemm g;
  uintptr_t offsets, zeros, row_sums, bias, scales, packed;
  int64_t column;
  int32_t a_zero, zero;
  float low, high;
  int32_t dtype;  // of c
} lt_gemm_quantized;

// A product of float32 whose operands are rounded to bfloat16: a is rounded by the kernel, and b is
// bfloat16. If packed is not NULL, it has the columns of a matrix of packed_k rows, at least k, as
// gemm_rounded_amx_pack wrote them. b is the part of it with the first k rows and the columns from
// this number on, a multiple of 32.
typedef struct {
  lt_gemm g;
  uintptr_t packed;
  int64_t packed_k, column;
} lt_gemm_rounded;

// A k by n matrix of int8, or of bfloat16 for gemm_rounded_amx_pack, to pack for products; bytes is
// the size of packed, which is not written if it is NULL.
typedef struct {
  uintptr_t b, packed;
  int64_t n, k, b_row, b_col, bytes;
} lt_gemm_packing;

// The sum of products of two vectors; conjugate applies to the first. The result is float64 for
// floats, complex128 for complex numbers, and of the same dtype for integers.
typedef struct {
  uintptr_t a, b, out;
  int64_t n, a_step, b_step;
  int32_t conjugate;
} lt_dot;

#endif
