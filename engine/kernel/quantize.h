// The interface of Go and the kernels of quantized tensors.
#ifndef LIBTENSOR_KERNEL_QUANTIZE_H
#define LIBTENSOR_KERNEL_QUANTIZE_H

#include "abi.h"

// Parameters of quantized_add and quantized_mul: how two operands are quantized, the factor that
// their sum or product is multiplied by, and the zero point and the range of the result.
typedef struct {
  float a_scale, b_scale, factor;
  int32_t a_zero, b_zero, zero, low, high;
} lt_quantized_pair;

#endif
