// The interface of Go and the sampling kernels.
#ifndef LIBTENSOR_KERNEL_SAMPLING_H
#define LIBTENSOR_KERNEL_SAMPLING_H

#include "abi.h"

enum { LT_SAMPLE_DIMS = 3 };

enum { LT_SAMPLE_LINEAR, LT_SAMPLE_NEAREST, LT_SAMPLE_CUBIC };
enum { LT_SAMPLE_ZEROS, LT_SAMPLE_BORDER, LT_SAMPLE_REFLECTION };

// Samples planes of images at the points of a grid, which has a coordinate for each of dims
// dimensions, from -1 to 1, the last dimension first: values are (examples, channels, points),
// grid, along and slope (examples, points, dims). If along is not 0, weights are the derivatives of
// the interpolation weights in its direction. Sizes and strides are those of the last dims of
// images, with separate strides for channels and examples. A call processes units from begin to
// end: blocks of points of a batch element, or groups of channels. room is scratch memory: a call
// without it computes its size in bytes, and the number of units per batch element.
typedef struct {
  uintptr_t image, grid, along, values, slope, room;
  int64_t bytes, units, begin, end, channels, points, dims, mode, padding, align;
  int64_t example_stride, channel_stride, sizes[LT_SAMPLE_DIMS], strides[LT_SAMPLE_DIMS];
} lt_sampling;

#endif
