// What Go and the kernels of pooling agree on.
#ifndef LIBTENSOR_KERNEL_POOLING_H
#define LIBTENSOR_KERNEL_POOLING_H

#include "abi.h"

enum { LT_POOL_DIMS = 3 };

// The windows along a dimension of an image. Tap t of window i is element i * stride + t * step +
// origin, where the image has it. Without taps there are as many windows as positions that are
// about as long as each other and cover all.
typedef struct {
  int64_t size, positions, taps, stride, step, origin;
} lt_windows;

// What kernels make of images, or of what belongs to their windows. Images come in planes with rows
// of adjacent elements, each plane of which is a channel, or, where channels is not 0, with so many
// channels that are adjacent, each plane of which has all. A call is about units from begin to end:
// rows of what is made, plane by plane, or planes, or blocks of their channels, of gradients of
// largest elements. divisor, where not 0, is what sums are divided by, in place of the number of
// elements, to which with padded those outside count. samples has a number from 0 to 1 for each
// plane and each of the dims of images, of which windows that begin at random are made. room has
// bytes of scratch: a call without finds how many.
typedef struct {
  uintptr_t image, result, indices, samples, room;
  int64_t bytes, channels, begin, end, image_plane, result_plane, divisor, padded, dims;
  lt_windows windows[LT_POOL_DIMS];
} lt_pool;

#endif
