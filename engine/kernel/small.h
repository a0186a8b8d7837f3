// What Go and the kernels for small matrices agree on.
#ifndef LIBTENSOR_KERNEL_SMALL_H
#define LIBTENSOR_KERNEL_SMALL_H

#include "abi.h"

enum { LT_SMALL = 16 };  // the most rows and columns

// The matrices from begin to end of a batch, m by n and one after another, in column-major order.
// What else a kernel reads or writes lies in the same way: `b` has n by `right` matrices, `values`
// a number for each of min(m, n) columns (or for each of `reflections`), `pivots` an int32 of them,
// counted from 1, and `info` an int32 for each matrix. `upper` chooses the triangle.
typedef struct {
  uintptr_t a, b, values, pivots, info;
  int64_t m, n, right, reflections, upper, begin, end;
} lt_small;

#endif
