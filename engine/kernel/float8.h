// The interface of Go and the kernels of 8-bit floats.
#ifndef LIBTENSOR_KERNEL_FLOAT8_H
#define LIBTENSOR_KERNEL_FLOAT8_H

#include "abi.h"

// The bits of an 8-bit float: a sign, if the format has one, an exponent with a bias, and
// `fraction` bits. largest is the code of the largest finite number, overflow that of larger
// numbers and infinity, and nan that of NaN, with the sign where is_signed; where it is not, zero,
// overflow and nan have no sign. powers is 1 where the code is an exponent alone. Kernels have a
// format as parameters.
typedef struct {
  int32_t fraction, bias;
  uint32_t largest, overflow, nan;
  int32_t is_signed, powers;
} lt_float8_format;

#endif
