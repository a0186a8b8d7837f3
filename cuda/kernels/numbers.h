// The functions and constants of scalars that kernels use without a prefix, in addition to those of
// vectors.
#ifndef LIBTENSOR_CUDA_NUMBERS_H
#define LIBTENSOR_CUDA_NUMBERS_H

#include "device.h"
#include "../../engine/kernel/src/chunks.h"

#ifndef INFINITY
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#endif

namespace lt {
namespace {

using ::exp;
using ::log;
using ::log1p;
using ::pow;
using ::sqrt;

}  // namespace
}  // namespace lt
#endif
