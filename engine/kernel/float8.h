// The interface of Go and the kernels of 8-bit floats.
#ifndef LIBTENSOR_KERNEL_FLOAT8_H
#define LIBTENSOR_KERNEL_FLOAT8_H

#include "abi.h"

// Parameters of float8_encode; they mirror dtype.Float8Format.
typedef struct {
  int32_t fraction, bias;
  uint32_t largest, overflow, nan;
  int32_t is_signed, powers;
} lt_float8_format;

#endif
