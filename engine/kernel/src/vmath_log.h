// log (the rest follows)
#ifndef LT_VMATH_LOG_H_
#define LT_VMATH_LOG_H_

#include "vmath_exp.h"

namespace lt {
namespace {

// x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), for positive normal x.
template <class T>
struct Split {
  Vec<T> k, f;
};

template <class T>
LT_INLINE Split<T> split(Vec<T> x) {
  using F = Format<T>;
  using I = IntOf<T>;
  // The shift moves the boundary between exponents from 1 to sqrt(1/2); x is positive, so that
  // the arithmetic shift right brings in zeros.
  const Vec<I> bits = bit_cast<I>(x) + (F::one - F::sqrt_half);
  const Vec<I> m = (bits & F::fraction_mask) + F::sqrt_half;
  const T two_p = T(sizeof(T) == 4 ? 0x1p23 : 0x1p52), bias = T(sizeof(T) == 4 ? 127 : 1023);
  using U = std::make_unsigned_t<I>;
  const Vec<I> exponent = bit_cast<I>(bit_cast<U>(bits) >> F::fraction_bits);
  const Vec<T> k = bit_cast<T>(exponent | bit_cast<I>(Vec<T>(two_p))) - (two_p + bias);
  return {k, bit_cast<T>(m) - T(1)};
}

// Replaces y where x is no positive finite number: log 0 = -inf, log inf = inf, else NaN.
template <class T>
LT_INLINE Vec<T> log_special(Vec<T> x, Vec<T> y) {
  const Vec<T> infinity = Format<T>::infinity;
  y = select(x < infinity, y, x);
  y = select(x == T(0), -infinity, y);
  return select(x < T(0), Vec<T>(Format<T>::nan), y);
}

LT_INLINE Floats vlog(Floats x) {
  const Mask<float> small = x < Format<float>::min_normal;
  const Split<float> s = split(select(small, x * 0x1p24f, x));
  const Floats k = select(small, s.k - 24.0f, s.k), f = s.f;
  const Floats p =
      poly(f, 0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a034p-3f, -0x1.547232p-3f, 0x1.22d6c6p-3f,
             -0x1.0d88d4p-3f, 0x1.058c72p-3f, -0x1.3932c6p-4f);
  const Floats t = fma(f * f, fma(f, p, Floats(-0.5f)), k * Ln2<float>::lo);
  return log_special(x, fma(k, Floats(Ln2<float>::hi), f + t));
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_LOG_H_
