// The scaled complement of the error function, and the normal distribution: all are e^(m^2) erfc m
// and a power of e, both in double length.
#ifndef LT_VMATH_NORMAL_H_
#define LT_VMATH_NORMAL_H_

#include "vmath_erfinv.h"

namespace lt {
namespace {

// e^(m^2) erfc m for 0 <= m < 2^900: erfc's polynomial below 26, the asymptotic series
// (DLMF 7.12.1) from there on.
LT_INLINE Two<double> erfcx_any(Two<double> m) {
  const Mask<double> far = m.hi >= 26.0;
  const Two<double> near =
      erfcx_parts(Two<double>{select(far, Doubles(26.0), m.hi), select(far, Doubles(0.0), m.lo)});
  if (!any(far)) return near;
  const Two<double> u = divide(Two<double>{1.0, 0.0}, m);
  const Doubles z = u.hi * u.hi;
  const Doubles tail =
      z * poly(z, -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875, -1055.7421875);
  const Two<double> y = multiply(u, Two<double>{0x1.20dd750429b6dp-1, 0x1.1ae3a914fed80p-57});
  const Two<double> s = fast_two_sum(y.hi, fma(y.hi, tail, y.lo));
  return {select(far, s.hi, near.hi), select(far, s.lo, near.lo)};
}

// e^(x^2) erfc x; 2 e^(x^2) less that of -x for negative x.
LT_INLINE Doubles verfcx(Doubles x) {
  const Doubles m = abs(x);
  const Mask<double> large = m > 0x1p500;
  const Doubles down = select(large, Doubles(0x1p-400), Doubles(1.0));
  const Two<double> v = erfcx_any(Two<double>{min(m, Doubles(0x1.fffffffffffffp1023)) * down, 0.0});
  const Two<double> square = two_prod(max(x, Doubles(-27.0)), max(x, Doubles(-27.0)));
  const auto e = exp_parts(min(square.hi, Doubles(800.0)), square.lo);
  // The term to subtract, in units of 2^(n + 1); 0 where it is negligible.
  const Mask<double> counts = e.n.value < 100.0;
  const Doubles unit = pow2(Integer<double>{-e.n.value - 1.0, int64_t(-1) - e.n.bits});
  const Doubles v_hi = select(counts, v.hi * unit, Doubles(0.0));
  const Doubles v_lo = select(counts, v.lo * unit, Doubles(0.0));
  const Two<double> difference = two_sum(e.hi, -v_hi);
  const Doubles negative = scale(difference.hi + (difference.lo + (e.lo - v_lo)),
                                 Integer<double>{e.n.value + 1.0, e.n.bits + int64_t(1)});
  const Doubles positive = select(m < Format<double>::infinity, (v.hi + v.lo) * down, Doubles(0.0));
  return select(x < 0.0, negative, select(x == x, positive, x));
}
LT_INLINE Floats verfcx(Floats x) {
  return in_double(x, [](Doubles v) { return verfcx(v); });
}

constexpr double kSqrtHalf[] = {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};

// The distribution of -m for 0 <= m <= 40: value 2^n, and e^(m^2/2) times it.
struct LowerTail {
  Two<double> scaled, value;
  Integer<double> n;
};
LT_INLINE LowerTail lower_tail(Doubles m) {
  const Two<double> z = multiply(Two<double>{m, 0.0}, Two<double>{kSqrtHalf[0], kSqrtHalf[1]});
  const Two<double> v = erfcx_parts(z), square = two_prod(m, m);
  const Two<double> half = {v.hi * 0.5, v.lo * 0.5};
  const auto e = exp_parts(square.hi * -0.5, square.lo * -0.5);
  const Two<double> y = multiply(Two<double>{e.hi, e.lo}, half);
  return {half, fast_two_sum(y.hi, y.lo), e.n};
}

LT_INLINE Doubles vndtr(Doubles x) {
  const LowerTail t = lower_tail(min(abs(x), Doubles(40.0)));
  const Doubles y = scale(t.value.hi, t.n);
  const Doubles lo = select(y > 0x1p-900, t.value.lo * pow2(t.n), Doubles(0.0));
  const Two<double> rest = fast_two_sum(Doubles(1.0), -y);
  const Doubles low = scale(t.value.hi + t.value.lo, t.n);
  return select(x == x, select(x > 0.0, rest.hi + (rest.lo - lo), low), x);
}
LT_INLINE Floats vndtr(Floats x) {
  return in_double(x, [](Doubles v) { return vndtr(v); });
}

// log(1 - Q) right of 0, Q being the other tail, and log(e^(x^2/2) P) - x^2/2 left of it.
LT_INLINE Doubles vlog_ndtr(Doubles x) {
  const Doubles m = abs(x);
  const LowerTail t = lower_tail(min(m, Doubles(40.0)));
  const Doubles hi = scale(t.value.hi, t.n), lo = t.value.lo * pow2(t.n);
  const Two<double> near = log1p_two(-hi, select(hi > 0x1p-900, -lo, Doubles(0.0)));
  const Doubles right =
      select(hi < 0x1p-54, -scale(t.value.hi + t.value.lo, t.n), near.hi + near.lo);
  const Doubles limited = min(m, Doubles(0x1p480));
  const Two<double> v =
      erfcx_any(multiply(Two<double>{limited, 0.0}, Two<double>{kSqrtHalf[0], kSqrtHalf[1]}));
  const Two<double> l = log_two(Two<double>{v.hi * 0.5, v.lo * 0.5});
  const Two<double> square = two_prod(limited, limited);
  const Two<double> sum = two_sum(square.hi * -0.5, l.hi);
  const Doubles rest = l.lo - square.lo * 0.5;
  const Doubles left = select(m < 0x1p480, sum.hi + (sum.lo + rest), m * (m * -0.5));
  return select(x == x, select(x > 0.0, right, left), x);
}
LT_INLINE Floats vlog_ndtr(Floats x) {
  return in_double(x, [](Doubles v) { return vlog_ndtr(v); });
}

// -ndtri(p) for 0 < p < 0.1: Newton's method on log_ndtr, from the first terms of its asymptotic
// inverse. The last step applies the residual in double-double precision.
inline __attribute__((noinline)) double upper_quantile(double p) {
  const Two<double> target = log_two(Two<double>{p, 0.0});
  const double l = target.hi[0], r = __builtin_sqrt(-2 * l);
  double x = r - (__builtin_log(r) + 0.91893853320467274178) / r;
  for (int k = 0; k < 4; k++) {
    const Doubles m = x;
    const Two<double> half = lower_tail(m).scaled, near = log_two(half), square = two_prod(m, m);
    const Two<double> a = two_sum(square.hi * -0.5, -target.hi), b = two_sum(a.hi, near.hi);
    const Doubles rest = (near.lo - square.lo * 0.5 - target.lo) + a.lo + b.lo;
    const double slope = -0.39894228040143267794 / half.hi[0];
    x -= (b.hi[0] + rest[0]) / slope;
  }
  return x;
}

// sqrt(2) erfinv(2 p - 1) in the middle.
LT_INLINE Doubles vndtri(Doubles p) {
  const Two<double> d = two_sum(p + p, Doubles(-1.0));
  // Arguments out of range are handled at the end; the logarithm needs positive numbers.
  const Doubles m = min(abs(d.hi), Doubles(1.0)), m_lo = select(d.hi < 0.0, -d.lo, d.lo);
  const Two<double> w = erfinv_exponent_parts(m), y = erfinv_small(m, w);
  const Doubles slope = exp2_short(min(y.hi * y.hi, Doubles(9.0)) * Ln2<double>::inverse);
  const Doubles y_lo = fma(m_lo * slope, Doubles(0.88622692545275801365), y.lo);
  const Two<double> x =
      multiply(fast_two_sum(y.hi, y_lo), Two<double>{kSqrtHalf[0] * 2, kSqrtHalf[1] * 2});
  Doubles z = copysign(x.hi + x.lo, d.hi);
  const Doubles q = min(p, Doubles(1.0) - p);
  const Mask<double> tail = (q > 0.0) & (q < 0.01);
  if (any(tail))
    for (int i = 0; i < Doubles::N; i++)
      if (q[i] > 0 && q[i] < 0.01)
        z.v[i] = p[i] < 0.5 ? -upper_quantile(q[i]) : upper_quantile(q[i]);
  z = select(q == 0.0, copysign(Doubles(Format<double>::infinity), d.hi), z);
  return select(q >= 0.0, z, Doubles(Format<double>::nan));
}
LT_INLINE Floats vndtri(Floats p) {
  return in_double(p, [](Doubles v) { return vndtri(v); });
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_NORMAL_H_
