// The interface of kernels with an index operand, on the CPU and on CUDA devices.
#ifndef LIBTENSOR_KERNEL_PLACE_PARAMS_H
#define LIBTENSOR_KERNEL_PLACE_PARAMS_H

#include "abi.h"

// The parameters of a kernel with an index operand: the byte stride of the indexed operand, the
// number of positions, and the first index out of range, with whether there is one. Such an index
// stops the kernel. If `checked` is set, no other thread writes to the indices, which are bytes.
// The value added to negative indices is the number of positions, so that they count from the end,
// or 0, so that they are out of range.
typedef struct {
  int64_t step, size, bad, failed, checked, wrap;
} lt_place_params;

#endif
