// Shared by all vmath_*.h files: polynomials, powers of two, error-free arithmetic.
// A float function computes either in float throughout (the cheapest ones) or in double, where
// plain arithmetic has far more than 24 accurate bits and overflow and subnormal results need no
// care. A double function keeps the rounding error in a second double (Two): error-free sums after
// Knuth, The Art of Computer Programming 2, 4.2.2; products after T. J. Dekker, A floating-point
// technique for extending the available precision, Numer. Math. 18 (1971).
#ifndef LT_VMATH_CORE_H_
#define LT_VMATH_CORE_H_

#include "vec.h"

namespace lt {
namespace {

using Floats = Vec<float>;
using Doubles = Vec<double>;

// Layout of the IEEE formats.
template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr int fraction_bits = 23;
  static constexpr int32_t one = 0x3f800000;
  static constexpr int32_t fraction_mask = 0x007fffff;
  static constexpr int32_t sqrt_half = 0x3f3504f3;
  // 2^23 as bits, and 2^23 + the exponent's bias: an exponent field between them becomes a number.
  static constexpr int32_t two_to_fraction_bits = 0x4b000000;
  static constexpr float biased_zero = 0x1p23f + 127;
  static constexpr float min_normal = 0x1p-126f;
  static constexpr float infinity = __builtin_inff();
  static constexpr float nan = __builtin_nanf("");
  // Adding this leaves the nearest integer in the low bits, for |x| < 2^22.
  static constexpr float round_magic = 0x1.8p23f;
};
template <>
struct Format<double> {
  static constexpr int fraction_bits = 52;
  static constexpr int64_t one = 0x3ff0000000000000;
  static constexpr int64_t fraction_mask = 0x000fffffffffffff;
  static constexpr int64_t sqrt_half = 0x3fe6a09e667f3bcd;
  static constexpr int64_t two_to_fraction_bits = 0x4330000000000000;
  static constexpr double biased_zero = 0x1p52 + 1023;
  static constexpr double min_normal = 0x1p-1022;
  static constexpr double infinity = __builtin_inf();
  static constexpr double nan = __builtin_nan("");
  static constexpr double round_magic = 0x1.8p52;
};

// c0 + c1 x + c2 x^2 + ... given z = x^2: two terms per step, because the latency of one long chain
// of multiply-adds dominates.
template <class T>
LT_INLINE Vec<T> poly_pairs(Vec<T>, Vec<T>, T c0) {
  return c0;
}
template <class T>
LT_INLINE Vec<T> poly_pairs(Vec<T> x, Vec<T>, T c0, T c1) {
  return fma(x, Vec<T>(c1), Vec<T>(c0));
}
template <class T, class... C>
LT_INLINE Vec<T> poly_pairs(Vec<T> x, Vec<T> z, T c0, T c1, C... c) {
  return fma(z, poly_pairs(x, z, c...), fma(x, Vec<T>(c1), Vec<T>(c0)));
}
template <class T, class... C>
LT_INLINE Vec<T> poly(Vec<T> x, C... c) {
  return poly_pairs(x, x * x, c...);
}

// An integer as a number, and as the low bits of a word with rubbish above them.
template <class T>
struct Integer {
  Vec<T> value;
  Vec<IntOf<T>> bits;
};

// The integer nearest to x, for |x| < 2^(fraction bits - 1).
template <class T>
LT_INLINE Integer<T> nearest(Vec<T> x) {
  const Vec<T> shifted = x + Format<T>::round_magic;
  return {shifted - Format<T>::round_magic, bit_cast<IntOf<T>>(shifted)};
}

// The integer nearest to x*y, or next to it if the product is about halfway between two.
template <class T>
LT_INLINE Integer<T> nearest_product(Vec<T> x, Vec<T> y) {
  const Vec<T> shifted = fma(x, y, Vec<T>(Format<T>::round_magic));
  return {shifted - Format<T>::round_magic, bit_cast<IntOf<T>>(shifted)};
}

// 2^n for an n whose power is a normal number.
template <class T>
LT_INLINE Vec<T> pow2(Integer<T> n) {
  return bit_cast<T>((n.bits << Format<T>::fraction_bits) + Format<T>::one);
}

// x * 2^n, rounded once, for an n within twice the exponent range.
template <class T>
LT_INLINE Vec<T> scale(Vec<T> x, Integer<T> n) {
#if LT_BITMASK
  if constexpr (sizeof(T) == 4)
    return (Raw<T>)_mm512_scalef_ps((__m512)x.v, (__m512)n.value.v);
  else
    return (Raw<T>)_mm512_scalef_pd((__m512d)x.v, (__m512d)n.value.v);
#else
  using I = IntOf<T>;
  constexpr int bits = Format<T>::fraction_bits;
  const Vec<I> half = (n.bits << (bits - 1)) & ~Format<T>::fraction_mask;
  const Vec<I> rest = (n.bits << bits) - half;
  return x * bit_cast<T>(rest + Format<T>::one) * bit_cast<T>(half + Format<T>::one);
#endif
}

// An unevaluated sum, |lo| at most about a unit in the last place of hi.
template <class T>
struct Two {
  Vec<T> hi, lo;
};

// a + b exactly.
template <class T>
LT_INLINE Two<T> two_sum(Vec<T> a, Vec<T> b) {
  const Vec<T> s = a + b, bb = s - a;
  return {s, (a - (s - bb)) + (b - bb)};
}

// a + b exactly where |a| >= |b| or a is zero.
template <class T>
LT_INLINE Two<T> fast_two_sum(Vec<T> a, Vec<T> b) {
  const Vec<T> s = a + b;
  return {s, b - (s - a)};
}

// a * b exactly, unless the product or its error under- or overflows. Without FMA lo may be off by
// a unit in the last place of that product's error: factors are split where the halves do not
// overflow.
template <class T>
LT_INLINE Two<T> two_prod(Vec<T> a, Vec<T> b) {
  const Vec<T> p = a * b;
#if LT_FMA
  return {p, fma(a, b, -p)};
#else
  using I = IntOf<T>;
  const Vec<I> high = -(I(1) << (sizeof(T) == 4 ? 12 : 27));
  const Vec<T> ah = bit_cast<T>(bit_cast<I>(a) & high), bh = bit_cast<T>(bit_cast<I>(b) & high);
  const Vec<T> al = a - ah, bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

// x - a*b rounded once, where the result is exact or far larger than the error of the product.
template <class T>
LT_INLINE Vec<T> minus_product(Vec<T> x, Vec<T> a, Vec<T> b) {
#if LT_FMA
  return fma(-a, b, x);
#else
  const Two<T> p = two_prod(a, b);
  return (x - p.hi) - p.lo;
#endif
}

// x - r*r rounded once, where r is about the root of x. Without FMA it is twice the half of it:
// squares of roots of the largest numbers may be beyond the range.
template <class T>
LT_INLINE Vec<T> minus_square(Vec<T> x, Vec<T> r) {
#if LT_FMA
  return fma(-r, r, x);
#else
  const Two<T> p = two_prod(r * T(0.5), r);
  return ((x * T(0.5) - p.hi) - p.lo) * T(2);
#endif
}

// (a.hi + a.lo) * (b.hi + b.lo)
template <class T>
LT_INLINE Two<T> multiply(Two<T> a, Two<T> b) {
  const Two<T> p = two_prod(a.hi, b.hi);
  return {p.hi, p.lo + fma(a.hi, b.lo, a.lo * b.hi)};
}

// (a.hi + a.lo) / (b.hi + b.lo)
template <class T>
LT_INLINE Two<T> divide(Two<T> a, Two<T> b) {
  const Vec<T> inverse = Vec<T>(T(1)) / b.hi;
  const Vec<T> q = a.hi * inverse;
  const Vec<T> rest = minus_product(a.hi, q, b.hi) + (a.lo - q * b.lo);
  return {q, rest * inverse};
}

// (a.hi + a.lo) + (b.hi + b.lo) where |a| >= |b|.
template <class T>
LT_INLINE Two<T> add(Two<T> a, Two<T> b) {
  const Two<T> s = fast_two_sum(a.hi, b.hi);
  return {s.hi, s.lo + (a.lo + b.lo)};
}

// f on both halves of a float vector, in double.
template <class F>
LT_INLINE Floats in_double(Floats x, F f) {
  const Wide w = widen(x);
  return narrow({f(w.lo), f(w.hi)});
}
template <class F>
LT_INLINE Floats in_double(Floats x, Floats y, F f) {
  const Wide a = widen(x), b = widen(y);
  return narrow({f(a.lo, b.lo), f(a.hi, b.hi)});
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_CORE_H_
