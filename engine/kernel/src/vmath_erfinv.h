// erfinv.
//
// erf^-1 x = x P(w) with w = -log(1 - x^2) below 5 and x Q(sqrt w) beyond (the transformation of
// M. Giles, Approximating the erfinv function, 2010; the polynomials are Chebyshev interpolants).
#ifndef LT_VMATH_ERFINV_H_
#define LT_VMATH_ERFINV_H_

#include "vmath_erf.h"
#include "vmath_log.h"

namespace lt {
namespace {

template <class T>
LT_INLINE Vec<T> erfinv_special(Vec<T> x, Vec<T> y) {
  const Vec<T> m = abs(x);
  y = select(m == T(1), Vec<T>(Format<T>::infinity), y);
  y = select(m <= T(1), y, Vec<T>(Format<T>::nan));
  return copysign(y, x);
}

// For floats P is good to 2^-34, and Q, for sqrt w up to 4.1, to 2^-28.
LT_INLINE Doubles erfinv_exponent(Doubles m) {
  const Split<double> s = split((Doubles(1.0) - m) * (Doubles(1.0) + m));
  return -fma(s.k, Doubles(0x1.62e42fefa39efp-1), log_short(s.f));
}
LT_INLINE Doubles erfinv_middle(Doubles w) {
  return poly(w - 2.5, 0x1.805c5cfcedef5p+0, 0x1.f91e89955a57fp-3, -0x1.11c3c3612a2ccp-8,
              -0x1.4863d1009b540p-10, 0x1.c9b46cd91df7ap-13, -0x1.4f4496f9c1788p-18,
              -0x1.caa32f746fad4p-19, 0x1.00f8719914c4ap-21, 0x1.d66fac2d14be4p-27,
              -0x1.74f4495a187ccp-27, 0x1.c9c81e3c5b325p-31, 0x1.0e8b1b9516a51p-33,
              -0x1.75045e36fd876p-36);
}
LT_INLINE Floats verfinv(Floats x) {
  const Floats y = in_double(abs(x), [](Doubles m) {
    const Doubles w = erfinv_exponent(m), t = sqrt(max(w, Doubles(0.0))) - 3.0;
    const Doubles tail = poly(t, 0x1.6a9efbdba8c41p+1, 0x1.006dca9fa3655p+0, 0x1.35811c3cdd813p-7,
                              -0x1.f4f0c4d9d150ep-8, 0x1.74bf9853fe6e2p-8, -0x1.d2d630eaa5ce5p-9,
                              0x1.82550e763eb26p-10, -0x1.1360e9ffead60p-13, -0x1.1d7d9e793984ap-12,
                              0x1.61702301a9d2ap-13, -0x1.2202aa05de866p-15);
    return m * select(w < 5.0, erfinv_middle(w), tail);
  });
  return erfinv_special(x, y);
}

// -log(1 - m^2)
LT_INLINE Two<double> erfinv_exponent_parts(Doubles m) {
  const Two<double> square = two_prod(m, m), rest = fast_two_sum(Doubles(1.0), -square.hi);
  const Two<double> d = fast_two_sum(rest.hi, rest.lo - square.lo);
  const Split<double> s = split(d.hi);
  const Two<double> l = log_parts(s.k, s.f, scaled_down(s, d.lo));
  return fast_two_sum(-l.hi, -l.lo);
}

// For doubles P is good to 2^-59; its first two steps are taken in double length.
LT_INLINE Two<double> erfinv_small(Doubles m, Two<double> w) {
  const Doubles c1 = 0x1.f91e8993f0d14p-3;
  const Two<double> t = two_sum(w.hi, Doubles(-2.5));
  const Doubles r = poly(t.hi, -0x1.11c3c302dfe40p-8, -0x1.4863cdfb61771p-10, 0x1.c9b437ed2ac46p-13,
                         -0x1.4f47fe72e70c1p-18, -0x1.ca9227caeb82fp-19, 0x1.01037e3739e64p-21,
                         0x1.ccff741d567b6p-27, -0x1.752fda1ff8b59p-27, 0x1.f2cba4142aed3p-31,
                         0x1.0704bd395e70bp-33, -0x1.11954846116d4p-35, 0x1.0095aaab14481p-40,
                         0x1.2d89b6ef029d5p-41, -0x1.56d98910c54edp-44, -0x1.9f5982c48dc66p-49,
                         0x1.115f182ca7d8cp-49, -0x1.3abe63e5111f3p-53, -0x1.ef212fd6c20bdp-56,
                         0x1.699d55dab168bp-58, 0x1.928c19aaa5203p-63, -0x1.442959106aa4fp-64);
  const Two<double> p = two_prod(t.hi, r), q = fast_two_sum(c1, p.hi);
  const Two<double> s = two_prod(t.hi, q.hi);
  const Two<double> y = fast_two_sum(Doubles(0x1.805c5cfcedef5p+0), s.hi);
  const Doubles slope =
      fma(t.hi, fma(t.hi, Doubles(-0x1.ec95b4f9123p-9), Doubles(-0x1.11c3c3p-7)), c1);
  const Doubles q_lo = q.lo + (p.lo + 0x1.24b609f250a8cp-59);
  const Doubles lo =
      fma(t.lo + w.lo, slope, fma(t.hi, q_lo, s.lo)) + (y.lo + -0x1.2c9cc1d8cc3f0p-54);
  const Two<double> product = two_prod(m, y.hi);
  return {product.hi, fma(m, lo, product.lo)};
}

// Q, for sqrt w up to 6.13, is good to 2^-24; one of Halley's steps on erfc triples that.
LT_INLINE Doubles erfinv_large(Doubles m, Doubles w) {
  const Doubles t = sqrt(max(w, Doubles(0.0))) - 4.0;
  const Doubles q = poly(t, 0x1.eb7e0a441db6fp+1, 0x1.026e2059e0cd8p+0, 0x1.49700c4b35dd9p-10,
                         -0x1.c5fb0cfa582a2p-11, 0x1.5c77a72d7b6f4p-12, -0x1.0864e607efe29p-13,
                         0x1.54fb44de78c36p-15, -0x1.7b457aeb886e2p-16, 0x1.cc3024bf1a55ap-16,
                         -0x1.f9ae206f1ca6bp-17, 0x1.0bd19fee734c4p-20, 0x1.9ca76e103a7f0p-20,
                         -0x1.74f64ebb1f4cdp-22);
  const Doubles guess = m * q;
  const Doubles error = (Doubles(1.0) - m) - verfc(guess);
  const Doubles slope = exp2_short(guess * guess * Ln2<double>::inverse);
  const Doubles u = error * slope * 0.88622692545275801365;
  return guess - u / fma(guess, u, Doubles(1.0));
}

LT_INLINE Doubles verfinv(Doubles x) {
  const Doubles m = abs(x);
  const Two<double> w = erfinv_exponent_parts(m);
  // The products of the least numbers have no second half.
  const Mask<double> least = m < 0x1p-900;
  const Two<double> small = erfinv_small(select(least, m * 0x1p200, m), w);
  Doubles y = small.hi + small.lo;
  y = select(least, y * 0x1p-200, y);
  const Mask<double> large = w.hi >= 5.0;
  if (any(large)) y = select(large, erfinv_large(m, w.hi), y);
  return erfinv_special(x, y);
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_ERFINV_H_
