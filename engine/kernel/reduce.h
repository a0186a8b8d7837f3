// What Go and the reduction kernels agree on.
#ifndef LIBTENSOR_KERNEL_REDUCE_H
#define LIBTENSOR_KERNEL_REDUCE_H

#include "abi.h"

enum { LT_TOTAL = 32 };  // bytes that a running total may take

// One reduction of a strided input. Dimensions are split into kept and reduced ones, fastest first;
// strides are in bytes. Where totals is set, the call leaves its running totals there, LT_TOTAL
// bytes an output, instead of writing results; where pieces is above 0 it merges that many blocks
// of such totals in order and writes the results. columns is the size that kept dimension 0 had
// before it was cut over threads, where its elements are reduced side by side; it settles the order
// of the additions. It is 0 where the elements of each row are reduced on their own.
typedef struct {
  uintptr_t op;
  uintptr_t in, out[2], totals;
  int32_t kept, reduced, pieces;
  uint8_t memory, compute, out_memory[2];
  int64_t columns;  // reduced side by side
  int64_t base;     // index of the first reduced element
  int64_t count;    // elements reduced to one, over all pieces
  double params[2];
  int64_t kept_sizes[LT_DIMS], kept_in[LT_DIMS], kept_out[2][LT_DIMS];
  int64_t reduced_sizes[LT_DIMS], reduced_in[LT_DIMS];
} lt_reduction;

#endif
