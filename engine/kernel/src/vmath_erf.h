// erf, erfc.
//
// erfc x = e^(-x^2) u P(1 - 6 u) with u = 1/(x + 3) for x >= 0: the transformed variable keeps one
// minimax polynomial good from 0 to infinity (M. M. Shepherd, J. G. Laframboise, Chebyshev
// approximation of (1+2x)exp(x^2)erfc x, Math. Comp. 36, 1981, use a like one). erf is x times a
// polynomial in x^2 below 5/4 and 1 - erfc beyond; for floats 1 - 2^(-x Q(x)), Q minimax, throughout.
#ifndef LT_VMATH_ERF_H_
#define LT_VMATH_ERF_H_

#include "vmath_exp.h"

namespace lt {
namespace {

// (erf x / x - 2/sqrt(pi)) / x^2 for x^2 = z <= 25/16.
LT_INLINE Doubles erf_tail(Doubles z) {
  return poly(z, -0x1.812746b0379e4p-2, 0x1.ce2f21a0429b3p-4, -0x1.b82ce3127f0cep-6,
              0x1.565bcd0d11d21p-8, -0x1.c02db3c79230ep-11, 0x1.f9a320f9a9cb6p-14,
              -0x1.f4d1ee32c37p-17, 0x1.b9e14bc3ed65ep-20, -0x1.5f42a0239228cp-23,
              0x1.fa4e2e935fe8p-27, -0x1.46ec07a9747e9p-30, 0x1.5d87851f5da55p-34,
              -0x1.cc644d45be55p-39);
}

// erfc m for 5/4 <= m <= 6 to 2^-58 of 1.
LT_INLINE Doubles erfc_tail(Doubles m) {
  const Doubles u = Doubles(1.0) / (m + 3.0), t = fma(u, Doubles(-6.0), Doubles(1.0));
  const Doubles p = poly(t, 0x1.12f21ddd9f444p0, -0x1.c44c471bb3f78p-1, 0x1.2e32694559759p-1,
                         -0x1.3deb214408483p-2, 0x1.e995f1d9bfe26p-4, -0x1.b7897b3db18d7p-6,
                         -0x1.3dd194dcabe87p-10, 0x1.8da4e8938f09fp-9, -0x1.2028e8313c684p-11,
                         -0x1.236040e961821p-12, 0x1.da9ad0881f2d5p-14, 0x1.8c151e6dbe8d4p-15);
  const Two<double> square = two_prod(m, m);
  const auto e = exp_parts(-square.hi, -square.lo);
  return (e.hi + e.lo) * pow2(e.n) * (u * p);
}

LT_INLINE Doubles verf(Doubles x) {
  const Doubles m = min(Doubles(6.0), abs(x)), z = x * x;
  const Two<double> y = two_prod(x, Doubles(0x1.20dd750429b6dp0));
  const Doubles small = y.hi + fma(x * z, erf_tail(z), fma(x, Doubles(0x1.1ae3a914fed8p-56), y.lo));
  return copysign(select(m < 1.25, small, Doubles(1.0) - erfc_tail(m)), x);
}
LT_INLINE Floats verf(Floats x) {
  const Floats y = in_double(min(Floats(4.0f), abs(x)), [](Doubles m) {
    const Doubles q = poly(m, 0x1.a0be83d9cf233p0, 0x1.d63ed92246aeep-1, 0x1.2fa71c91c14f2p-3,
                           -0x1.c3e94433b2d47p-6, -0x1.7b81add81116fp-12, 0x1.53c1881dc39fap-9,
                           -0x1.1772496cebf9ep-10, 0x1.f8ac5a7bac44p-13, -0x1.00e0eb36e83fcp-15,
                           0x1.ca9a745896d6dp-20);
    return -exp2m1_short(-m * q);
  });
  return copysign(y, x);
}

// c + t * p
LT_INLINE Two<double> horner_step(Two<double> t, Two<double> p, Two<double> c) {
  const Two<double> product = multiply(t, p), s = two_sum(c.hi, product.hi);
  return {s.hi, s.lo + (c.lo + product.lo)};
}

LT_INLINE Doubles verfc(Doubles x) {
  const Doubles m = min(Doubles(28.0), abs(x));
  const Two<double> u = divide(Two<double>{1.0, 0.0}, two_sum(m, Doubles(3.0)));
  const Two<double> h = fast_two_sum(Doubles(1.0), u.hi * -6.0);
  // 6 u rounds; its error goes into the low part.
  const Doubles lost = minus_product(u.hi * 6.0, u.hi, Doubles(6.0));
  const Two<double> t = fast_two_sum(h.hi, h.lo + fma(u.lo, Doubles(-6.0), lost));
  const Doubles tail = poly(
      t.hi, -0x1.3deb21415dd2ap-2, 0x1.e995f11b17432p-4, -0x1.b78993d6a28b9p-6,
      -0x1.3dd3e71217375p-10, 0x1.8dae3a1f4a084p-9, -0x1.1f78e10f258cp-11, -0x1.2238fbbef4be4p-12,
      0x1.c3252744a25c5p-14, 0x1.fdfec8ec766b3p-16, -0x1.251985f4e63bap-16, -0x1.3eb23b5d2810ep-18,
      0x1.72ff61c1710bbp-19, 0x1.0bf0cbbedf169p-20, -0x1.b3dd9d8e20782p-22, -0x1.f28c9a830a672p-23,
      0x1.7b688f107abc3p-25, 0x1.a3f8513153e01p-25, -0x1.fc2e2f2c735e7p-33, -0x1.e5d90c7f5a255p-28,
      -0x1.cade87baa169ap-31, 0x1.6e0156f091e28p-32);
  Two<double> p = horner_step(t, Two<double>{tail, 0.0},
                              Two<double>{0x1.2e326945de2b5p-1, 0x1.e5969f05395efp-56});
  p = horner_step(t, p, Two<double>{-0x1.c44c471baa376p-1, 0x1.c1767fa56493bp-55});
  p = horner_step(t, p, Two<double>{0x1.12f21ddd9f5e2p0, -0x1.931f4a6aa08dep-54});
  const Two<double> square = two_prod(m, m);
  const auto e = exp_parts(-square.hi, -square.lo);
  const Two<double> y = multiply(multiply(fast_two_sum(e.hi, e.lo), u), p);
  // 2 - erfc |x| for negative x.
  const Doubles s = pow2(max(Doubles(-1000.0), e.n));
  const Two<double> d = fast_two_sum(Doubles(2.0), -(y.hi * s));
  return select(x < 0.0, d.hi + (d.lo - y.lo * s), scale(y.hi + y.lo, e.n));
}
LT_INLINE Floats verfc(Floats x) {
  return in_double(clamp(x, -10.5f, 10.5f), [](Doubles v) {
    const Doubles m = abs(v);
    const Doubles u = Doubles(1.0) / (m + 3.0), t = fma(u, Doubles(-6.0), Doubles(1.0));
    const Doubles p = poly(t, 0x1.12f21de1687c4p0, -0x1.c44c47f24016cp-1, 0x1.2e326648ac4cfp-1,
                           -0x1.3deadfef9e771p-2, 0x1.e997da7d6a528p-4, -0x1.b7b2fad74aa0ap-6,
                           -0x1.420dc891e7968p-10, 0x1.9258fb5c8233cp-9, -0x1.fad44ee390b8p-12,
                           -0x1.457add49a19dp-12, 0x1.1e1d40e341d42p-17);
    const Doubles y = exp2_short(m * m * -Ln2<double>::inverse) * (u * p);
    return select(v < 0.0, Doubles(2.0) - y, y);
  });
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_ERF_H_
