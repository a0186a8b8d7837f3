// What Go and the kernels of sampling agree on.
#ifndef LIBTENSOR_KERNEL_SAMPLING_H
#define LIBTENSOR_KERNEL_SAMPLING_H

#include "abi.h"

enum { LT_SAMPLE_DIMS = 3 };

enum { LT_SAMPLE_LINEAR, LT_SAMPLE_NEAREST, LT_SAMPLE_CUBIC };
enum { LT_SAMPLE_ZEROS, LT_SAMPLE_BORDER, LT_SAMPLE_REFLECTION };

// Planes of images are sampled at points of a grid, which has a coordinate for each of dims
// dimensions, from -1 to 1, the last one first: values are (examples, channels, points), grid,
// along and slope (examples, points, dims). Where along is not 0, weights are the derivatives of
// those of the points in its direction. Sizes and strides are those of the last dims of images,
// whose channels and examples have strides of their own. A call is about units from begin to end:
// blocks of points of an example, or groups of channels. room has bytes of scratch: a call without
// finds how many, and the number of units of an example.
typedef struct {
  uintptr_t image, grid, along, values, slope, room;
  int64_t bytes, units, begin, end, channels, points, dims, mode, padding, align;
  int64_t example_stride, channel_stride, sizes[LT_SAMPLE_DIMS], strides[LT_SAMPLE_DIMS];
} lt_sample;

#endif
