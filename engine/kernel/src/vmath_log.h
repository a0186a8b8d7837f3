// log, log2, log10, log1p.
//
// x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). In double, with s = f / (2 + f),
// log(1 + f) = 2 atanh s = f - (f^2/2 - s (f^2/2 + s^2 R(s^2))), the form of the FreeBSD msun
// library (K. C. Ng, e_log.c), R a minimax polynomial; k ln 2 is added in two parts. The float log
// uses a minimax polynomial in f and needs no division.
#ifndef LT_VMATH_LOG_H_
#define LT_VMATH_LOG_H_

#include "vmath_exp.h"

namespace lt {
namespace {

// x = 2^k (1 + f), and 2^-k if that is a normal number.
template <class T>
struct Split {
  Vec<T> k, f, inverse;
};

// For positive normal x.
template <class T>
LT_INLINE Split<T> split(Vec<T> x) {
  using F = Format<T>;
  using I = IntOf<T>;
  using U = std::make_unsigned_t<I>;
  // The sum moves the step between exponents from 1 to sqrt(1/2).
  const Vec<I> bits = bit_cast<I>(x) + (F::one - F::sqrt_half);
  const Vec<I> m = (bits & F::fraction_mask) + F::sqrt_half;
  const Vec<I> exponent = bit_cast<I>(bit_cast<U>(bits) >> F::fraction_bits);
  const Vec<T> k = bit_cast<T>(exponent | F::two_to_fraction_bits) - F::biased_zero;
  return {k, bit_cast<T>(m) - T(1), bit_cast<T>(m - bit_cast<I>(x) + F::one)};
}

// For positive x, subnormal numbers too.
template <class T>
LT_INLINE Split<T> split_any(Vec<T> x) {
  const Mask<T> small = x < Format<T>::min_normal;
  const T shift = T(Format<T>::fraction_bits + 1);
  Split<T> s = split(select(small, x * T(2) * T(int64_t(1) << Format<T>::fraction_bits), x));
  s.k = select(small, s.k - shift, s.k);
  return s;
}

// y, but log's limits where x is no positive finite number: -inf for 0, inf for inf, else NaN.
template <class T>
LT_INLINE Vec<T> log_special(Vec<T> x, Vec<T> y) {
  const Vec<T> infinity = Format<T>::infinity;
  y = select(x < infinity, y, x);
  y = select(x == T(0), -infinity, y);
  return select(x < T(0), Vec<T>(Format<T>::nan), y);
}

// log(1 + f) = f - square.hi - square.lo + rest, the square being f^2/2 exactly.
struct LogTerms {
  Two<double> square;
  Doubles rest;
};

LT_INLINE LogTerms log_terms(Doubles f) {
  const Doubles s = f / (f + 2.0), z = s * s;
  const Doubles r = z * poly(z, 0x1.5555555555597p-1, 0x1.999999997e2e1p-2, 0x1.2492494388e7cp-2,
                             0x1.c71c50a8e629bp-3, 0x1.74668b4980466p-3, 0x1.3999a4e8445a4p-3,
                             0x1.2f5a8c477a172p-3);
  const Two<double> square = two_prod(f, f * 0.5);
  return {square, s * (square.hi + r)};
}

// k ln 2 + log(1 + f + f_lo) as a leading term and a small rest.
LT_INLINE Two<double> log_parts(Doubles k, Doubles f, Doubles f_lo) {
  const LogTerms t = log_terms(f);
  const Two<double> a = fast_two_sum(k * Ln2<double>::hi, f);
  const Two<double> b = fast_two_sum(a.hi, -t.square.hi);
  // f_lo / (1 + f)
  const Doubles correction = f_lo * fma(f, f - 1.0, Doubles(1.0));
  const Doubles small = fma(k, Doubles(Ln2<double>::lo), correction - t.square.lo);
  return {b.hi, t.rest + (small + (a.lo + b.lo))};
}

// lo * 2^-k; none where x is so large that 2^-k is no normal number and lo does not count.
LT_INLINE Doubles scaled_down(Split<double> s, Doubles lo) {
  return select(s.k < 1000.0, lo * s.inverse, Doubles(0.0));
}

// log(1 + x + x_lo), x > -1.
LT_INLINE Two<double> log1p_parts(Doubles x, Doubles x_lo) {
  const Two<double> u = two_sum(Doubles(1.0), x);
  const Split<double> s = split(u.hi);
  return log_parts(s.k, s.f, scaled_down(s, u.lo + x_lo));
}

// The logarithms of positive finite numbers, as sums whose parts do not overlap.
LT_INLINE Two<double> log_two(Two<double> v) {
  const Split<double> s = split_any(v.hi);
  const Two<double> l = log_parts(s.k, s.f, scaled_down(s, v.lo));
  return fast_two_sum(l.hi, l.lo);
}
LT_INLINE Two<double> log1p_two(Doubles x, Doubles x_lo) {
  const Two<double> l = log1p_parts(x, x_lo);
  return fast_two_sum(l.hi, l.lo);
}

// log(1 + f) to 2^-37, for float results.
LT_INLINE Doubles log_short(Doubles f) {
  const Doubles s = f / (f + 2.0), z = s * s;
  return s * poly(z, 2.0, 0x1.555554f9fec32p-1, 0x1.999a817eca07ep-2, 0x1.2436ff17964efp-2,
                  0x1.e340918aa1ce8p-3);
}

// log(1 + x) for float results.
LT_INLINE Doubles log1p_short(Doubles x) {
  const Split<double> s = split(x + 1.0);
  const Doubles f = fma(x, s.inverse, s.inverse - 1.0);
  return fma(s.k, Doubles(0x1.62e42fefa39efp-1), log_short(f));
}

LT_INLINE Floats vlog(Floats x) {
  const Split<float> s = split_any(x);
  const Floats f = s.f;
  const Floats p = poly(f, 0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a034p-3f, -0x1.547232p-3f,
                        0x1.22d6c6p-3f, -0x1.0d88d4p-3f, 0x1.058c72p-3f, -0x1.3932c6p-4f);
  const Floats t = fma(f * f, fma(f, p, Floats(-0.5f)), s.k * Ln2<float>::lo);
  return log_special(x, fma(s.k, Floats(Ln2<float>::hi), f + t));
}
LT_INLINE Doubles vlog(Doubles x) {
  const Split<double> s = split_any(x);
  const Two<double> y = log_parts(s.k, s.f, 0.0);
  return log_special(x, y.hi + y.lo);
}

// k * unit + log(1 + f) * factor, each constant in two parts, the first of unit a short one.
LT_INLINE Doubles log_to_base(Split<double> s, Two<double> unit, Two<double> factor) {
  const LogTerms t = log_terms(s.f);
  const Two<double> a = fast_two_sum(s.f, -t.square.hi);
  const Two<double> b = fast_two_sum(a.hi, t.rest + (a.lo - t.square.lo));
  const Two<double> y = multiply(b, factor);
  const Two<double> sum = fast_two_sum(s.k * unit.hi, y.hi);
  return sum.hi + (sum.lo + fma(s.k, unit.lo, y.lo));
}

LT_INLINE Floats vlog2(Floats x) {
  return log_special(x, in_double(x, [](Doubles v) {
                       const Split<double> s = split(v);
                       return fma(log_short(s.f), Doubles(Ln2<double>::inverse), s.k);
                     }));
}
LT_INLINE Doubles vlog2(Doubles x) {
  const Two<double> unit = {1.0, 0.0};
  const Two<double> factor = {0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56};
  return log_special(x, log_to_base(split_any(x), unit, factor));
}

LT_INLINE Floats vlog10(Floats x) {
  return log_special(x, in_double(x, [](Doubles v) {
                       const Split<double> s = split(v);
                       const Doubles y = log_short(s.f) * 0x1.bcb7b1526e50ep-2;
                       return fma(s.k, Doubles(0x1.34413509f79ffp-2), y);
                     }));
}
LT_INLINE Doubles vlog10(Doubles x) {
  const Two<double> unit = {0x1.34413509f78p-2, 0x1.fef311f12b358p-46};
  const Two<double> factor = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
  return log_special(x, log_to_base(split_any(x), unit, factor));
}

// log1p(x) is x where x is tiny: keeps -0 and subnormals.
LT_INLINE Floats vlog1p(Floats x) {
  const Floats y = in_double(x, [](Doubles v) { return log1p_short(v); });
  return select(abs(x) < 0x1p-30f, x, log_special(x + 1.0f, y));
}
LT_INLINE Doubles vlog1p(Doubles x) {
  const Two<double> y = log1p_parts(x, 0.0);
  return select(abs(x) < 0x1p-54, x, log_special(x + 1.0, y.hi + y.lo));
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_LOG_H_
