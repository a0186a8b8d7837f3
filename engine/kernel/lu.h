// The interface of Go and the kernels of large factorizations.
#ifndef LIBTENSOR_KERNEL_LU_H
#define LIBTENSOR_KERNEL_LU_H

#include "abi.h"

enum { LT_LU = 16 };  // the most columns of an LU block, and rows of a triangle, in a factorization

// Strides count elements.
// lu_panel factors a, m by n with adjacent rows, by the largest pivots; it writes these to
// `pivots`, an int32 for each of min(m, n) columns and counted from 1, and to `info` the first of
// them that is zero, or 0.
// lu_triangle solves a x = b for the n columns of b, of m rows, and overwrites b with x; the rows
// or the columns of b are adjacent. a is the upper or lower triangle, with a unit diagonal if
// `unit` is set. There are `batch` such pairs, with the given strides.
// lu_exchange exchanges row i of b, which has n columns with adjacent rows, with row pivots[i] - 1,
// for m rows i in order.
typedef struct {
  uintptr_t a, b, pivots;
  int64_t m, n, a_row, a_col, b_row, b_col;
  int64_t batch, a_step, b_step;
  int64_t upper, unit, info;
} lt_lu;

#endif
