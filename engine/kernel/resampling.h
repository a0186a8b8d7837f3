// The interface of Go and the resampling kernels.
#ifndef LIBTENSOR_KERNEL_RESAMPLING_H
#define LIBTENSOR_KERNEL_RESAMPLING_H

#include "abi.h"

enum { LT_RESAMPLE_DIMS = 3 };

// The interpolation along a dimension: output element i is the sum over k of the source element at
// index[k * outputs + i] times weights[k * outputs + i], for k below most, or below counts[i] if
// there are counts. The indices of an element are adjacent, or repeat the first or the last one.
// An index is at most back below that of any earlier element for the same k. index is int32;
// weights have the compute dtype. Without weights each element has one neighbor of weight 1. If
// unit is not 0, sums are of integers, and are rounded to multiples of it, from 0 to 255.
typedef struct {
  int64_t size, outputs, most, back;
  uintptr_t index, weights, counts;
  double unit;
} lt_index_weights;

// Resamples planes of up to three dimensions, with `lanes` adjacent channels per element. A call
// computes rows from begin to end of the result. With along_first the rows of the source are
// resampled before they are summed. room is scratch memory: a call without it computes its size in
// bytes.
typedef struct {
  uintptr_t from, to, room;
  int64_t bytes, lanes, begin, end, along_first;
  lt_index_weights axes[LT_RESAMPLE_DIMS];
} lt_resampling;

#endif
