// The interface of Go and the convolution kernels.
#ifndef LIBTENSOR_KERNEL_CONVOLUTION_H
#define LIBTENSOR_KERNEL_CONVOLUTION_H

#include "abi.h"

enum { LT_AXES = 3 };

// A dimension: position i and kernel element t refer to image element i * stride + t * step +
// origin; the image is zero outside. A call computes the positions from begin to end. Image
// elements have a stride of image_step, and positions one of position_step, in elements of the
// kernel's dtype.
typedef struct {
  int64_t size, taps, stride, step, origin, begin, end, image_step, position_step;
} lt_axis;

// A convolution of an image: for each of several groups, a result with some rows, from the group's
// channels, rows of weights and bias. A row of weights has the kernel elements of the first
// channel, then those of the next, without gaps. Weights and bias, which may be NULL, have the
// accumulator dtype: float32 for 16-bit floats, int32 for integers of up to 32 bits, and the
// kernel's for others. A call without room computes the size of room in bytes. convolution_amx
// reads packed weights instead: weight_group, weight_tap and weight_row are the units of a group,
// of a kernel element and of a row in them. With `merged` the kernel elements along the last axis
// count as channels. For convolution_rows image_channel and result_row are 1, and a row of weights
// has the channels of the first kernel element, then those of the next.
typedef struct {
  uintptr_t image, weight, bias, result, room;
  int64_t bytes, groups, channels, rows;
  int64_t image_group, weight_group, bias_group, result_group;
  int64_t image_channel, weight_row, weight_tap, result_row, merged;
  lt_axis axes[LT_AXES];
} lt_convolution;

// Transposed weights: a row for each channel of the computed image, with the weights of the first
// channel of the other tensor, then those of the next, in the accumulator dtype. from has elements
// of the kernel's dtype, with steps between them.
typedef struct {
  uintptr_t from, to;
  int64_t rows, channels, row_step, channel_step;
  int64_t taps[LT_AXES], tap_steps[LT_AXES];
} lt_convolution_turn;

// The gradient of weights: for each row of the positions, each channel of the image and each kernel
// element, the sum of the products of corresponding elements over all images and positions, one box
// of positions after the other. Kernel elements of the result have strides tap_steps. all_rows is
// the number of rows with those of other calls; the order of sums depends on it. If groups is not
// 0, these are groups of one channel and one row, which are adjacent in the image and the
// positions.
typedef struct {
  uintptr_t image, positions, result, room;
  int64_t bytes, images, channels, rows, all_rows, groups, result_group;
  int64_t image_image, positions_image, image_channel, positions_row, result_row, result_channel;
  int64_t tap_steps[LT_AXES], box[LT_AXES];
  lt_axis axes[LT_AXES];
} lt_convolution_weight;

#endif
