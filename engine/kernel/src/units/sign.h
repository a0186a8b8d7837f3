// Signs, magnitudes, squares and inverses.
#include "../native.h"

namespace lt {
namespace {

template <class T>
LT_INLINE RealOf<T> magnitude(T a) {
  if constexpr (kind_of<T> == kComplex) {
    using R = RealOf<T>;
    const R infinity = R(__builtin_inf()), length = hypotenuse(a.re, a.im);
    const bool infinite = (__builtin_fabs(a.re) == infinity) | (__builtin_fabs(a.im) == infinity);
    return infinite ? infinity : length;  // whatever the other part is
  } else if constexpr (__is_same(T, float))
    return __builtin_fabsf(a);
  else if constexpr (__is_same(T, double))
    return __builtin_fabs(a);
  else if constexpr (kind_of<T> == kFloating)
    return {(uint16_t)(a.bits & 0x7fff)};
  else
    return a < 0 ? T(-a) : a;
}

template <class T>
LT_INLINE T negative(T a) {
  if constexpr (kind_of<T> == kFloating && sizeof(T) == 2)
    return {(uint16_t)(a.bits ^ 0x8000)};
  else
    return T(-a);
}

template <class T>
LT_INLINE T sign_of(T a) {
  return T((a > 0) - (a < 0));
}
template <>
LT_INLINE Bool sign_of(Bool a) {
  return a;
}

// z / |z|, 0 for 0. For numbers close to the ends of the range, for which |z| is infinite or
// inaccurate, a multiple is used.
template <class T>
LT_INLINE Complex<T> direction(Complex<T> z) {
  const T far = sizeof(T) == 4 ? T(0x1p120) : T(0x1p1000), up = sizeof(T) == 4 ? 0x1p60f : 0x1p60;
  const T size = T(__builtin_fabs(z.re) + __builtin_fabs(z.im));
  const T by = size > far ? 1 / up : size < 1 / far ? up * up : T(1);
  const Complex<T> w = {z.re * by, z.im * by};
  const T m = magnitude(w);
  return m == 0 ? Complex<T>(0, 0) : Complex<T>(w.re / m, w.im / m);
}

LT_UNARY_TO(Abs, RealOf<T>, magnitude(a))
LT_UNARY(Sign, sign_of(a))
LT_UNARY(Direction, direction(a))
struct Neg {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    const auto f = [](auto a) { return negative(a); };
    if constexpr (kind_of<T> == kComplex)
      parts_unary<T>(data, strides, n, f);
    else
      unary_row<T, T>(data, strides, n, f);
  }
};
LT_UNARY(Square, T(a *a))
LT_UNARY(Reciprocal, T(T(1) / a))
LT_UNARY(ConjPhysical, T(a.re, -a.im))
LT_BINARY(Copysign, T(__builtin_copysign(a, b)))

template <class T>
LT_INLINE RealOf<T> angle_of(T a) {
  if constexpr (kind_of<T> == kComplex)
    return sizeof(a.re) == 4 ? RealOf<T>(__builtin_atan2f(a.im, a.re))
                             : RealOf<T>(__builtin_atan2(a.im, a.re));
  else
    return a != a ? a : a < 0 ? T(3.14159265358979323846) : T(0);
}
LT_UNARY_TO(Angle, RealOf<T>, angle_of(a))

}  // namespace
}  // namespace lt

LT_UNIT(sign){
    {"abs", "R>T", LT_STORED_NUMBERS(Abs)},
    {"sign", "T>T", LT_ORDERED(Sign)},
    {"direction", "T>T", LT_COMPLEX_ONLY(Direction)},
    {"neg", "T>T", LT_STORED_MODULAR(Neg)},
    {"square", "T>T", LT_MODULAR_NUMBERS(Square)},
    {"reciprocal", "T>T", LT_FLOATING_COMPLEX(Reciprocal)},
    {"copysign", "T>TT", LT_FLOATING(Copysign)},
    {"conj_physical", "T>T", LT_COMPLEX_ONLY(ConjPhysical)},
    {"angle", "R>T", LT_FLOATING_COMPLEX(Angle)},
    LT_END,
};
