#ifndef LT_VMATH_HYPER_H_
#define LT_VMATH_HYPER_H_

#include "vmath_log.h"

namespace lt {
namespace {

LT_INLINE Floats vtanh(Floats x) {
  const Floats m = min(Floats(10.0f), abs(x));
  const Floats y = in_double(m, [](Doubles v) {
    const Doubles e = exp2m1_short(v * (2 * Ln2<double>::inverse));
    return e / (e + 2.0);
  });
  return copysign(y, x);
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_HYPER_H_
