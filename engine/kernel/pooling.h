// The interface of Go and the pooling kernels.
#ifndef LIBTENSOR_KERNEL_POOLING_H
#define LIBTENSOR_KERNEL_POOLING_H

#include "abi.h"

enum { LT_POOL_DIMS = 3 };

// The windows along a dimension of an image. Element t of window i is image element i * stride + t
// * step + origin, if it is inside. Without any there is one window per position; the windows have
// about the same size and cover all of the image.
typedef struct {
  int64_t size, positions, taps, stride, step, origin;
} lt_windows;

// Pooling of images, or its gradient. Images have planes with rows of adjacent elements, one plane
// per channel, or, if channels is not 0, that many adjacent channels per element of a plane. A call
// processes units from begin to end: rows of the result, plane by plane, or planes, or blocks of
// their channels, for gradients of max pooling. divisor, if not 0, divides sums in place of the
// number of elements; with padded this number includes elements outside of the image. samples has a
// number from 0 to 1 for each plane and each of the dims of images, from which random window
// positions are computed. room is scratch memory: a call without it computes its size in bytes.
typedef struct {
  uintptr_t image, result, indices, samples, room;
  int64_t bytes, channels, begin, end, image_plane, result_plane, divisor, padded, dims;
  lt_windows windows[LT_POOL_DIMS];
} lt_pooling;

#endif
