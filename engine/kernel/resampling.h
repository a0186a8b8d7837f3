// What Go and the kernels of resampling agree on.
#ifndef LIBTENSOR_KERNEL_RESAMPLING_H
#define LIBTENSOR_KERNEL_RESAMPLING_H

#include "abi.h"

enum { LT_RESAMPLE_DIMS = 3 };

// How the elements of a dimension are made: element i is the sum over t of those of the source at
// index[t * outputs + i] times weights[t * outputs + i], for t below most, or below counts[i] where
// there are counts. The indices of an element are adjacent, or repeat the first or the last one.
// That of a tap lies at most back below the index of this tap of any element in front. index is of
// int32, weights are of the dtype that is computed in. Without weights there is one tap that counts
// as it is. Where unit is not 0, sums are of integers, and are rounded to multiples of it, which
// are from 0 to 255.
typedef struct {
  int64_t size, outputs, most, back;
  uintptr_t index, weights, counts;
  double unit;
} lt_taps;

// Resamples planes of up to three dimensions, whose elements have lanes adjacent channels. A call
// is about rows from begin to end of what is made. With along_first the rows of the source are
// resampled before they are added up. room has bytes of scratch: a call without finds how many.
typedef struct {
  uintptr_t from, to, room;
  int64_t bytes, lanes, begin, end, along_first;
  lt_taps axes[LT_RESAMPLE_DIMS];
} lt_resample;

#endif
