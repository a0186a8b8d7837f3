// The functions and constants of single numbers that kernels use without a prefix, beside those of
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
