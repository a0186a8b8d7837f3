// The interface of Go and the kernels of weights in GGUF's blocks.
#ifndef LIBTENSOR_KERNEL_BLOCKS_H
#define LIBTENSOR_KERNEL_BLOCKS_H

#include "abi.h"

// The types of blocks, with their numbers in files.
enum {
  LT_Q4_0 = 2,
  LT_Q4_1 = 3,
  LT_Q5_0 = 6,
  LT_Q5_1 = 7,
  LT_Q8_0 = 8,
  LT_Q4_K = 12,
  LT_Q5_K = 13,
  LT_Q6_K = 14
};

enum { LT_GROUP = 32, LT_GROUPS = 8, LT_BLOCK = LT_GROUP * LT_GROUPS };

// LT_BLOCK activations, rounded to integers from -127 to 127 with a scale for each group of
// LT_GROUP, and sums of the integers: of each group times its scale, and of halves of groups. Pairs
// has the integers again: the first halves of groups g and g + 4, and then the second ones.
typedef struct {
  int8_t values[LT_BLOCK], pairs[LT_BLOCK];
  float scales[LT_GROUPS], sums[LT_GROUPS];
  int16_t halves[2 * LT_GROUPS];
} lt_activations;

// Rows of k values, contiguous, and their activations: (k + LT_BLOCK - 1) / LT_BLOCK items a row.
// Values past k are zeros.
typedef struct {
  uintptr_t values, activations;
  int64_t rows, k;
} lt_block_input;

// out = input weight^T + bias for m rows of activations and n rows of blocks, which take `row`
// bytes each. Elements of out and bias are float32; bias may be NULL, and rows of out have a stride
// of out_row elements.
typedef struct {
  uintptr_t weight, activations, bias, out;
  int64_t m, n, k, row, out_row;
  int32_t type;
} lt_block_linear;

// Writes count values of blocks, a multiple of their size, in float32.
typedef struct {
  uintptr_t blocks, out;
  int64_t count;
  int32_t type;
} lt_block_values;

// out = input weight^T for m rows of k activations and n rows of weights, without rounding. Input,
// scales and out are float32; rows of out have a stride of out_row elements.
// Weights of 8 bits are rows of int8, with a scale each. Weights of 4 bits are packed by 32
// rows: for each of k, 16 bytes with the integers of rows j and j + 16 in the low and high bits;
// after these, one of 16 rows may follow, of which bytes have rows 2j and 2j + 1. The values of n
// weights are (integer - 8) * scale + zero; scales has pairs of both, for each `group` of k a row
// of scale_row pairs.
typedef struct {
  uintptr_t input, weight, scales, out;
  int64_t m, n, k, out_row, group, scale_row;
} lt_weight_linear;

#endif
