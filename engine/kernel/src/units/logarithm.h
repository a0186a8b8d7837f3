// Logarithms.
#include "../native.h"
#include "../vmath_log.h"

namespace lt {
namespace {

// log(1 + z) without losing a small z: |1 + z|^2 - 1 = x (2 + x) + y^2.
template <class T>
LT_INLINE Complex<T> clog1p(Complex<T> z) {
  const double x = z.re, y = z.im;
  if (__builtin_fabs(x) > 0.5 || __builtin_fabs(y) > 0.5)
    return clog(Complex<T>(T(1) + z.re, z.im));
  const double re = y == 0 ? __builtin_log1p(x) : 0.5 * __builtin_log1p(x * (2 + x) + y * y);
  return {T(re), T(__builtin_atan2(y, 1 + x))};
}

LT_FUNCTION(Log, vlog(a), clog(a))
LT_FUNCTION(Log2, vlog2(a), scaled(clog(a), 1.44269504088896340736))
LT_FUNCTION(Log10, vlog10(a), scaled(clog(a), 0.43429448190325182765))
LT_FUNCTION(Log1p, vlog1p(a), clog1p(a))

}  // namespace
}  // namespace lt

LT_UNIT(logarithm){
    {"log", "T>T", LT_FLOATING_COMPLEX(Log)},
    {"log2", "T>T", LT_FLOATING_COMPLEX(Log2)},
    {"log10", "T>T", LT_FLOATING_COMPLEX(Log10)},
    {"log1p", "T>T", LT_FLOATING_COMPLEX(Log1p)},
    LT_END,
};
