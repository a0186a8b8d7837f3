// The interface of Go and the kernels along one dimension.
#ifndef LIBTENSOR_KERNEL_SCAN_H
#define LIBTENSOR_KERNEL_SCAN_H

#include "abi.h"

// A contiguous tensor seen as outer x n x inner; the kernel runs along n for every outer position
// and for `width` inner positions, at which the pointers start. out[1], if used, is int64, and
// `with` is a second operand like the first. Kernels that sort and select use scratch memory for
// entries: the bytes of an element and LT_SORT_INDEX more.
typedef struct {
  uintptr_t in, out[2], scratch, with;
  int64_t outer, n, inner, width;
  int64_t params[2];
} lt_scan;

enum { LT_SORT_INDEX = 4 };

#endif
