// The interface of Go and the kernels of small matrices.
#ifndef LIBTENSOR_KERNEL_SMALL_H
#define LIBTENSOR_KERNEL_SMALL_H

#include "abi.h"

enum { LT_SMALL = 16 };  // the most rows and columns

// The matrices from begin to end of a batch, m by n, contiguous and column-major. The other
// operands have the same layout: `b` has n by `right` matrices, `values` an element for each of
// min(m, n) columns (or for each of `reflections`), `pivots` an int32 for each, counted from 1, and
// `info` an int32 for each matrix. `upper` selects the triangle.
typedef struct {
  uintptr_t a, b, values, pivots, info;
  int64_t m, n, right, reflections, upper, begin, end;
} lt_small;

#endif
