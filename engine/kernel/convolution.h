// What Go and the kernels of convolutions agree on.
#ifndef LIBTENSOR_KERNEL_CONVOLUTION_H
#define LIBTENSOR_KERNEL_CONVOLUTION_H

#include "abi.h"

enum { LT_AXES = 3 };

// A dimension: position i and tap t meet element i * stride + t * step + origin of an image, which
// has zeros before its first element and behind its last one. A call is about the positions from
// begin to end. Elements of the image are image_step apart, and what belongs to positions
// position_step, in elements of the kernel's dtype.
typedef struct {
  int64_t size, taps, stride, step, origin, begin, end, image_step, position_step;
} lt_axis;

// What kernels make of an image with some channels: a result with some rows for each of several
// groups, of which each has channels, rows of weights and a bias of its own. A row of weights has
// the taps of the first channel, then those of the next, without gaps. Weights and bias, which may
// be NULL, are of the dtype that products are summed in: float32 for 16-bit floats, int32 for
// integers of up to 32 bits, and the kernel's for others. A call without room finds how many bytes
// of it there must be.
typedef struct {
  uintptr_t image, weight, bias, result, room;
  int64_t bytes, groups, channels, rows;
  int64_t image_group, weight_group, bias_group, result_group;
  int64_t image_channel, weight_row, result_row;
  lt_axis axes[LT_AXES];
} lt_convolution;

// Weights as a row for each of so many channels of an image that is made of others: those of the
// first of these, then those of the next, in the dtype that products are summed in. from has
// elements of the kernel's dtype, with steps between them.
typedef struct {
  uintptr_t from, to;
  int64_t rows, channels, row_step, channel_step;
  int64_t taps[LT_AXES], tap_steps[LT_AXES];
} lt_convolution_turn;

// For each row of what belongs to positions, each channel of the image and each tap, the sum of the
// products of both where they meet, over all images and positions, a box of positions after the
// other. Taps of the result are tap_steps apart. all_rows tells how many there are with those of
// other calls, on which the order of sums depends.
typedef struct {
  uintptr_t image, positions, result, room;
  int64_t bytes, images, channels, rows, all_rows;
  int64_t image_image, positions_image, image_channel, positions_row, result_row, result_channel;
  int64_t tap_steps[LT_AXES], box[LT_AXES];
  lt_axis axes[LT_AXES];
} lt_convolution_weight;

#endif
