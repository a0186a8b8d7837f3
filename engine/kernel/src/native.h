// Functions of complex numbers, from libm (C99 Annex G) if available, and kernels that take one
// function for real vectors and one for complex elements.
#ifndef LIBTENSOR_KERNEL_NATIVE_H
#define LIBTENSOR_KERNEL_NATIVE_H

#include "chunks.h"

namespace lt {
namespace {

LT_INLINE float hypotenuse(float x, float y) {
  // A double holds the squares of floats without overflow.
  return float(__builtin_sqrt(double(x) * x + double(y) * y));
}
LT_INLINE double hypotenuse(double x, double y) { return __builtin_hypot(x, y); }

#define LT_NATIVE(NAME)                        \
  LT_INLINE Complex64 c##NAME(Complex64 z) {   \
    __complex__ float c;                       \
    __real__ c = z.re;                         \
    __imag__ c = z.im;                         \
    c = __builtin_c##NAME##f(c);               \
    return {__real__ c, __imag__ c};           \
  }                                            \
  LT_INLINE Complex128 c##NAME(Complex128 z) { \
    __complex__ double c;                      \
    __real__ c = z.re;                         \
    __imag__ c = z.im;                         \
    c = __builtin_c##NAME(c);                  \
    return {__real__ c, __imag__ c};           \
  }

LT_NATIVE(exp)
LT_NATIVE(log)
LT_NATIVE(sqrt)
LT_NATIVE(sin)
LT_NATIVE(cos)
LT_NATIVE(tan)
LT_NATIVE(asin)
LT_NATIVE(acos)
LT_NATIVE(atan)
LT_NATIVE(sinh)
LT_NATIVE(cosh)
LT_NATIVE(tanh)
LT_NATIVE(asinh)
LT_NATIVE(acosh)
LT_NATIVE(atanh)
#undef LT_NATIVE

template <class T>
LT_INLINE Complex<T> scaled(Complex<T> z, double by) {
  return {T(z.re * by), T(z.im * by)};
}

}  // namespace
}  // namespace lt

// REAL is an expression in a vector a, COMPLEX one in a complex number a.
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
