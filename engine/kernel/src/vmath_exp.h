// exp, exp2, expm1, sigmoid.
//
// x = n ln 2 + r with |r| <= ln 2 / 2 and ln 2 in two parts, the first short enough for an exact
// product (W. J. Cody, W. Waite, Software Manual for the Elementary Functions, 1980); e^r by a
// minimax polynomial for (e^r - 1 - r) / r^2 (Remez exchange, coefficients rounded one by one);
// 2^n by the exponent field.
#ifndef LT_VMATH_EXP_H_
#define LT_VMATH_EXP_H_

#include "vmath_core.h"

namespace lt {
namespace {

template <class T>
struct Ln2;
template <>
struct Ln2<float> {
  static constexpr float inverse = 0x1.715476p0f, hi = 0x1.62e4p-1f, lo = 0x1.7f7d1cp-20f;
};
template <>
struct Ln2<double> {
  static constexpr double inverse = 0x1.71547652b82fep0;
  static constexpr double hi = 0x1.62e42fefa38p-1, lo = 0x1.ef35793c7673p-45;
};

// (e^r - 1 - r - r^2/2) / r^3 for |r| <= ln 2 / 2.
LT_INLINE Floats exp_cubic(Floats r) {
  return poly(r, 0x1.55548ap-3f, 0x1.555526p-5f, 0x1.123e6p-7f, 0x1.6d0482p-10f);
}
LT_INLINE Doubles exp_cubic(Doubles r) {
  return poly(r, 0x1.5555555555559p-3, 0x1.555555555555ap-5, 0x1.111111110f67ep-7,
              0x1.6c16c16c14448p-10, 0x1.a01a01affaf5ap-13, 0x1.a01a01b0bd92dp-16,
              0x1.71ddf816e0b61p-19, 0x1.27e4c58d52519p-22, 0x1.af5f323e77b38p-26,
              0x1.1f9587e8d29aep-29);
}
// (e^r - 1 - r) / r^2
template <class T>
LT_INLINE Vec<T> exp_tail(Vec<T> r) {
  return fma(r, exp_cubic(r), Vec<T>(T(0.5)));
}

// (2^f - 1) / f to 2^-32 for |f| <= 1/2.
LT_INLINE Doubles exp2_tail_short(Doubles f) {
  return poly(f, 0x1.62e42fef95ed3p-1, 0x1.ebfbe045fe519p-3, 0x1.c6b08dc5e0209p-5,
              0x1.3b2a1b67d4bcp-7, 0x1.5d874c7da5bb4p-10, 0x1.4440076126b82p-13,
              0x1.00dc4c3d33fc1p-16);
}

// e^(x + x_lo) = (hi + lo) 2^n with hi between 0.7 and 1.42.
template <class T>
struct Exponential {
  Vec<T> hi, lo;
  Integer<T> n;
};

template <class T>
LT_INLINE Exponential<T> exp_parts(Vec<T> x) {
  const Integer<T> n = nearest(x * Ln2<T>::inverse);
  const Vec<T> exact = fma(n.value, Vec<T>(-Ln2<T>::hi), x), rest = n.value * -Ln2<T>::lo;
  const Vec<T> r = exact + rest;
  const Two<T> s = fast_two_sum(Vec<T>(T(1)), exact);
  return {s.hi, fma(r * r, exp_tail(r), s.lo + rest), n};
}

// The same for x + x_lo with r^2/2 in double length: about 2^-57 of the result is lost, not 2^-55.
LT_INLINE Exponential<double> exp_parts(Doubles x, Doubles x_lo) {
  const Integer<double> n = nearest(x * Ln2<double>::inverse);
  const Doubles exact = fma(n.value, Doubles(-Ln2<double>::hi), x);
  const Doubles rest = fma(n.value, Doubles(-Ln2<double>::lo), x_lo);
  const Doubles r = exact + rest;
  const Two<double> square = two_prod(r, r);
  const Two<double> s = fast_two_sum(Doubles(1.0), exact);
  const Two<double> t = fast_two_sum(s.hi, square.hi * 0.5);
  const Doubles cubic = fma(square.hi * r, exp_cubic(r), fma(square.lo, Doubles(0.5), rest));
  return {t.hi, cubic + (s.lo + t.lo), n};
}

// 2^x and 2^x - 1 for float results: |x| < 1000.
LT_INLINE Doubles exp2_short(Doubles x) {
  const Integer<double> n = nearest(x);
  const Doubles f = x - n.value, p = fma(f, exp2_tail_short(f), Doubles(1.0));
  return bit_cast<double>(bit_cast<int64_t>(p) + (n.bits << 52));
}
LT_INLINE Doubles exp2m1_short(Doubles x) {
  const Integer<double> n = nearest(x);
  const Doubles f = x - n.value, s = pow2(n);
  return fma(s * f, exp2_tail_short(f), s - 1.0);
}

// x within the bounds; NaN stays NaN.
template <class T>
LT_INLINE Vec<T> clamp(Vec<T> x, T lowest, T highest) {
  return min(Vec<T>(highest), max(Vec<T>(lowest), x));
}

LT_INLINE Floats vexp(Floats x) {
  const auto e = exp_parts(clamp(x, -105.0f, 89.0f));
  return scale(e.hi + e.lo, e.n);
}
LT_INLINE Doubles vexp(Doubles x) {
  const auto e = exp_parts(clamp(x, -746.0, 710.0));
  return scale(e.hi + e.lo, e.n);
}

// 2^(f + f_lo) for |f| <= 1/2.
LT_INLINE Doubles exp2_fraction(Doubles f, Doubles f_lo) {
  const Doubles ln2 = 0x1.62e42fefa39efp-1;
  const Two<double> y = two_prod(f, ln2);
  const Doubles y_lo = fma(f_lo, ln2, fma(f, Doubles(0x1.abc9e3b39803fp-56), y.lo));
  const Doubles r = y.hi + y_lo;
  const Two<double> s = fast_two_sum(Doubles(1.0), y.hi);
  return s.hi + fma(r * r, exp_tail(r), s.lo + y_lo);
}

// Without fma the last product of these polynomials would round once more: one unit too many.
LT_INLINE Floats vexp2(Floats x) {
  x = clamp(x, -151.0f, 129.0f);
  if constexpr (!LT_FMA) return in_double(x, [](Doubles v) { return exp2_short(v); });
  const Integer<float> n = nearest(x);
  const Floats f = x - n.value;
  const Floats p =
      poly(f, 0x1.ebfbd4p-3f, 0x1.c6af9ep-5f, 0x1.3b32cap-7f, 0x1.5ef57ep-10f, 0x1.3e792p-13f);
  return scale(fma(f, fma(f, p, Floats(0x1.62e43p-1f)), Floats(1.0f)), n);
}
LT_INLINE Doubles vexp2(Doubles x) {
  x = clamp(x, -1076.0, 1025.0);
  const Integer<double> n = nearest(x);
  const Doubles f = x - n.value;
  if constexpr (!LT_FMA) return scale(exp2_fraction(f, 0.0), n);
  const Doubles p = poly(f, 0x1.ebfbdff82c5a4p-3, 0x1.c6b08d7049fe8p-5, 0x1.3b2ab6fba0118p-7,
                         0x1.5d87fe78cd5d3p-10, 0x1.4309130ed923dp-13, 0x1.ffcbfba9c9b56p-17,
                         0x1.62bfc79c747fcp-20, 0x1.b5267c4ed2dc5p-24, 0x1.e61b5101a0be4p-28,
                         0x1.e79c888f690dfp-32);
  return scale(fma(f, fma(f, p, Doubles(0x1.62e42fefa39efp-1)), Doubles(1.0)), n);
}

// (e^x - 1) / 2 as a leading term and a small correction; halved because e^x may overflow.
LT_INLINE Two<double> half_expm1_parts(Doubles x) {
  const Integer<double> n = nearest(x * Ln2<double>::inverse);
  const Doubles exact = fma(n.value, Doubles(-Ln2<double>::hi), x);
  const Doubles rest = n.value * -Ln2<double>::lo;
  const Doubles r = exact + rest, s = pow2(Integer<double>{n.value, n.bits - int64_t(1)});
  // For n of 1 and -1 the sum cancels, so that r^2/2 must not round either.
  const Two<double> square = two_prod(r, r);
  const Doubles cubic = fma(square.hi * r, exp_cubic(r), fma(square.lo, Doubles(0.5), rest));
  const Two<double> a = fast_two_sum(s, Doubles(-0.5)), b = fast_two_sum(a.hi, s * exact);
  const Two<double> c = fast_two_sum(b.hi, s * 0.5 * square.hi);
  return {c.hi, fma(s, cubic, (a.lo + b.lo) + c.lo)};
}

LT_INLINE Floats vexpm1(Floats x) {
  const Floats y = in_double(clamp(x, -30.0f, 90.0f),
                             [](Doubles v) { return exp2m1_short(v * Ln2<double>::inverse); });
  return copysign(y, x);
}
LT_INLINE Doubles vexpm1(Doubles x) {
  const Two<double> h = half_expm1_parts(clamp(x, -50.0, 710.0));
  const Doubles y = h.hi + h.lo;
  // x itself if it is tiny: the half of a subnormal number may not be representable.
  return select(abs(x) < 0x1p-54, x, y + y);
}

// 1 / (1 + e^-x) for |x| <= 80.
//
// With e^-|x| = 2^n e^r, e^r is (2 + up) / (2 + down) for up = even + r and down = even - r, where
// `even` is an even function of r, so that one quotient is left. The errors of small terms remain.
LT_INLINE Floats sigmoid_near(Floats x) {
  const Floats below = -abs(x), two = 2.0f;
  const Integer<float> n = nearest_product(below, Floats(Ln2<float>::inverse));
  const Floats exact = fma(n.value, Floats(-Ln2<float>::hi), below);
  const Floats r = fma(n.value, Floats(-Ln2<float>::lo), exact), square = r * r;
  const Floats even = square * fma(square, Floats(-0x1.6a89c8p-9f), Floats(0x1.555514p-3f));
  const Floats up = even + r, down = even - r, power = pow2(n);
  // The divisor is head + tail.
  const Floats head = fma(power, two, two), lost = fma(power, two, two - head);
  const Floats inverse = 1.0f / fma(power, up, head + down), tail = fma(power, up, down + lost);
  const Mask<float> negative = x < 0.0f;
  const Floats rest = select(negative, up, down), y = (two + rest) * inverse;
  const Floats remainder = fma(-tail, y, minus_product(two, head, y) + rest);
  return select(negative, power, Floats(1.0f)) * fma(remainder, inverse, y);
}
LT_INLINE Floats vsigmoid(Floats x) {
  const Floats y = sigmoid_near(x);
  const Mask<float> far = abs(x) > 80.0f;
  return any(far) ? select(far, select(x < 0.0f, vexp(x), Floats(1.0f)), y) : y;
}

// c / (c + c e^-x): c keeps e^-x in range where the result is subnormal.
LT_INLINE Doubles vsigmoid(Doubles x) {
  const double c = 0x1p-128;
  const Exponential<double> e = exp_parts(clamp(-x, -100.0, 746.0));
  const Doubles s = pow2(Integer<double>{e.n.value, e.n.bits - int64_t(128)});
  const Two<double> sum = two_sum(Doubles(c), e.hi * s);
  const Two<double> d = fast_two_sum(sum.hi, fma(e.lo, s, sum.lo));
  const Doubles y = c / d.hi;
  const Doubles rest = minus_product(Doubles(c), y, d.hi) - y * d.lo;
  return fma(y, rest * (1 / c), y);
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_EXP_H_
