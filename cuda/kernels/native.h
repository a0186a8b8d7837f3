// Replaces engine/kernel/src/native.h, which uses libm's functions of complex numbers: here they
// are computed from those of real numbers (special values as in C99 Annex G), for floats in double,
// and for doubles in double-double arithmetic where digits would cancel.
#ifndef LIBTENSOR_CUDA_NATIVE_H
#define LIBTENSOR_CUDA_NATIVE_H
#define LIBTENSOR_KERNEL_NATIVE_H

#include "../../engine/kernel/src/chunks.h"

namespace lt {
namespace {

LT_INLINE float hypotenuse(float x, float y) {
  return float(__builtin_sqrt(double(x) * x + double(y) * y));
}
LT_INLINE double hypotenuse(double x, double y) { return __builtin_hypot(x, y); }

template <class T>
LT_INLINE Complex<T> scaled(Complex<T> z, double by) {
  return {T(z.re * by), T(z.im * by)};
}

}  // namespace
}  // namespace lt

// Included after the header with which it shares names.
#include "complex_inverse.h"

namespace lt {
namespace {
using plane::cacos;
using plane::cacosh;
using plane::casin;
using plane::casinh;
using plane::catan;
using plane::catanh;
using plane::ccos;
using plane::ccosh;
using plane::cexp;
using plane::clog;
using plane::csin;
using plane::csinh;
using plane::csqrt;
using plane::ctan;
using plane::ctanh;
}  // namespace
}  // namespace lt

#define LT_FUNCTION(NAME, REAL, COMPLEX)                                                  \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      if constexpr (kind_of<T> == kComplex)                                               \
        unary_row<T, T>(data, strides, n, [](T a) -> T { return COMPLEX; });              \
      else                                                                                \
        vector_unary<T>(data, strides, n, [](Vec<T> a) -> Vec<T> { return REAL; });       \
    }                                                                                     \
  };

#endif
