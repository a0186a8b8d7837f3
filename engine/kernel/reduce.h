// The interface of Go and the reduction kernels.
#ifndef LIBTENSOR_KERNEL_REDUCE_H
#define LIBTENSOR_KERNEL_REDUCE_H

#include "abi.h"

enum { LT_TOTAL = 32 };  // bytes that a running total may take

// One reduction of a strided input. Dimensions are split into kept and reduced ones, fastest first;
// strides are in bytes. If totals is set, the call stores its running totals there, LT_TOTAL bytes
// per output, instead of writing results; if `pieces` is above 0 it merges that many blocks of such
// totals in order and writes the results. columns is the size of kept dimension 0 before it was
// split over threads, if adjacent outputs are reduced together; it determines the order of the
// additions. It is 0 if each row is reduced separately.
typedef struct {
  uintptr_t op;
  uintptr_t in, out[2], totals;
  int32_t kept, reduced, pieces;
  uint8_t memory, compute, out_memory[2];
  int64_t columns;  // reduced together
  int64_t base;     // index of the first reduced element
  int64_t count;    // elements per output, over all blocks
  double params[2];
  int64_t kept_sizes[LT_DIMS], kept_in[LT_DIMS], kept_out[2][LT_DIMS];
  int64_t reduced_sizes[LT_DIMS], reduced_in[LT_DIMS];
} lt_reduction;

#endif
