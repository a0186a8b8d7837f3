// Powers and hypotenuses.
#include "../native.h"
// Comes after native.h, which a device has in another form.
#include "../compound.h"
#include "../vmath_pow.h"

namespace lt {
namespace {

// By repeated squaring, wrapping. A negative exponent leaves 0, save for the bases 1 and -1.
template <class T>
LT_INLINE T integer_power(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (T(-1) < 0 && base == T(-1)) return exponent & 1 ? T(-1) : T(1);
    return 0;
  }
  T result = 1;
  for (; exponent != 0; exponent = T(exponent >> 1)) {
    if (exponent & 1) result = T(result * base);
    base = T(base * base);
  }
  return result;
}

// e^(y log x)
template <class T>
LT_INLINE Complex<T> complex_power(Complex<T> x, Complex<T> y) {
  if (y == Complex<T>(0)) return {1};
  if (x == Complex<T>(0)) {
    if (y.re > 0) return {0};
    return {y.re < 0 ? T(__builtin_inf()) : T(__builtin_nan("")), T(__builtin_nan(""))};
  }
  // If that is small, the rounding of the logarithm is negligible.
  const Complex128 a = rounded<Complex128>(x), b = rounded<Complex128>(y), plain = b * clog(a);
  if (__builtin_fabs(plain.re) + __builtin_fabs(plain.im) < (sizeof(T) == 4 ? 0x1p20 : 4))
    return rounded<Complex<T>>(cexp(plain));
  return rounded<Complex<T>>(power_of(a, b));
}

// Handles a constant exponent that needs no general power; returns false for others.
template <class T, class F, class S>
LT_INLINE bool simple_power(T exponent, F apply, S root) {
  if (exponent == T(2))
    apply([](auto a) { return a * a; });
  else if (exponent == T(3))
    apply([](auto a) { return a * a * a; });
  else if (exponent == T(1))
    apply([](auto a) { return a; });
  else if (exponent == T(-1))
    apply([](auto a) { return decltype(a)(RealOf<T>(1)) / a; });
  else if (exponent == T(-2))
    apply([](auto a) { return decltype(a)(RealOf<T>(1)) / (a * a); });
  else if (exponent == T(0.5))
    apply(root);
  else if (exponent == T(-0.5))
    apply([root](auto a) { return decltype(a)(RealOf<T>(1)) / root(a); });
  else
    return false;
  return true;
}

// The power 1/2, which equals the square root except for -inf and -0.
template <class T>
LT_INLINE Vec<T> power_half(Vec<T> a) {
  return select(a == -Format<T>::infinity, Vec<T>(Format<T>::infinity), sqrt(a) + T(0));
}

struct Pow {
  static constexpr bool kConstants = true;  // row looks for a constant exponent
  template <class T>
  static void row(char *const *data, const int64_t *s, int64_t n, const void *) {
    if constexpr (kind_of<T> == kInteger) {
      binary_row<T, T, T>(data, s, n, [](T a, T b) -> T { return integer_power(a, b); });
    } else if constexpr (kind_of<T> == kComplex) {
      auto apply = [&](auto f) { unary_row<T, T>(data, s, n, f); };
      if (s[2] == 0 && simple_power(*(const T *)data[2], apply, [](T a) { return csqrt(a); }))
        return;
      binary_row<T, T, T>(data, s, n, [](T a, T b) -> T { return complex_power(a, b); });
    } else {
      auto apply = [&](auto f) { vector_unary<T>(data, s, n, f); };
      if (s[2] == 0 &&
          simple_power(*(const T *)data[2], apply, [](Vec<T> a) { return power_half(a); }))
        return;
      vector_binary<T>(data, s, n, [](Vec<T> a, Vec<T> b) { return vpow(a, b); });
    }
  }
};

struct Hypot {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    vector_binary<T>(data, strides, n, [](Vec<T> a, Vec<T> b) { return vhypot(a, b); });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(power){
    {"pow", "T>TT", LT_NUMBERS(Pow)},
    {"hypot", "T>TT", LT_FLOATING(Hypot)},
    LT_END,
};
