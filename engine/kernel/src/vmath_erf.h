// erf, erfc.
//
// erfc x = e^(-x^2) u P(1 - 2 K u) with u = 1/(x + K) for x >= 0: the transformed variable keeps
// one minimax polynomial good from 0 to infinity (M. M. Shepherd, J. G. Laframboise, Chebyshev
// approximation of (1+2x)exp(x^2)erfc x, Math. Comp. 36, 1981, use a like one). erf is x times a
// polynomial in x^2 below 1 and 1 - erfc beyond; for floats 1 - 2^(-x Q(x)), Q minimax, throughout.
#ifndef LT_VMATH_ERF_H_
#define LT_VMATH_ERF_H_

#include "vmath_bins.h"
#include "vmath_exp.h"

namespace lt {
namespace {

#if LT_BITMASK
template <class T>
LT_INLINE Vec<T> verf(Vec<T> x) {
  return erf_in_bins(x);
}
#else
// (erf x / x - 2/sqrt(pi) (1 - x^2/3)) / x^4 for x^2 = z <= 1.
LT_INLINE Doubles erf_tail(Doubles z) {
  const Doubles p = poly(z, -0x1.b82ce31278541p-6, 0x1.565bcd0b6b7a4p-8, -0x1.c02db36946eaep-11,
                         0x1.f9a314ccfaadep-14, -0x1.f4d0eebac5603p-17, 0x1.b9d36ba08ff78p-20,
                         -0x1.5ec0f873c9947p-23, 0x1.f402a671bf21ap-27, -0x1.2df59f017419ep-30,
                         0x1.d6616092b9284p-35);
  return fma(z, p, Doubles(0x1.ce2f21a0429acp-4));
}

LT_INLINE Doubles erf_small(Doubles x) {
  const Doubles c = -0x1.812746b0379e7p-2;
  const Two<double> z = two_prod(x, x), p = two_prod(z.hi, c);
  const Two<double> s = fast_two_sum(Doubles(0x1.20dd750429b6dp0), p.hi);
  const Doubles constants =
      fma(z.hi, Doubles(0x1.ee12e49cab7p-57), fma(z.lo, c, p.lo + 0x1.1ae3a914fed8p-56));
  const Doubles lo = fma(z.hi, z.hi * erf_tail(z.hi), s.lo + constants);
  const Two<double> y = two_prod(x, s.hi);
  return y.hi + fma(x, lo, y.lo);
}

// erfc m for 1 <= m <= 6 to 2^-56 of 1: e^(-m^2) u P((m - 3/2) u) with u = 1/(m + 3/2), which makes
// the polynomial's argument small where erfc is large.
LT_INLINE Two<double> erfc_tail(Doubles m) {
  const Doubles d = m + 1.5, d_lo = (1.5 - d) + m;
  const Doubles u = Doubles(1.0) / d, t = (m - 1.5) * u;
  const Doubles p = poly(t, -0x1.0404eaa26c42cp-1, 0x1.35bf360d08359p-4, 0x1.875188281d9ap-5,
                         -0x1.0a11cd36bfb1fp-7, -0x1.3607c2d2cd68ep-7, -0x1.a8d6b2285a84fp-11,
                         0x1.d07b9ce5d5e2p-10, 0x1.cf896f4f5c723p-11, -0x1.816a29dd6bd4ap-15,
                         -0x1.0ca483fffde7p-12, -0x1.11ce8cd510808p-13, -0x1.087ab8573a2d9p-22,
                         0x1.044f9e659a68p-14);
  const Two<double> square = two_prod(m, m);
  const auto e = exp_parts(-square.hi);
  const Doubles up = u * fma(t, p, Doubles(0x1.edf487f74041ep-1));
  // The rounding errors of u and of m^2, as a factor minus 1.
  const Doubles lost = minus_product(Doubles(1.0), u, d) - fma(u, d_lo, square.lo);
  const Doubles scaled = pow2(e.n) * up;
  const Two<double> y = two_prod(e.hi, scaled);
  return {y.hi, y.lo + fma(y.hi, lost, e.lo * scaled)};
}

LT_INLINE Doubles verf(Doubles x) {
  const Doubles m = min(Doubles(6.0), abs(x));
  Doubles small = erf_small(m);
  if constexpr (!LT_FMA) {
    // Without fma the product's error underflows.
    const Mask<double> tiny = m < 0x1p-900;
    small = select(tiny, erf_small(m * 0x1p200) * 0x1p-200, small);
  }
  const Two<double> tail = erfc_tail(m), large = fast_two_sum(Doubles(1.0), -tail.hi);
  const Doubles y = select(m < 1.0, small, large.hi + (large.lo - tail.lo));
  return copysign(y, x);
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
#endif

// c + t * p where |c| >= |t * p|.
LT_INLINE Two<double> horner_step(Two<double> t, Two<double> p, Two<double> c) {
  return add(c, multiply(t, p));
}

// e^(m^2) erfc m for 0 <= m < 2^900.
LT_INLINE Two<double> erfcx_parts(Two<double> m) {
  // u = 1 / (m + 2), t = 1 - 4 u
  Two<double> d = two_sum(m.hi, Doubles(2.0));
  d.lo = d.lo + m.lo;
  const Doubles inverse = Doubles(1.0) / d.hi;
  const Doubles rest = minus_product(Doubles(1.0), inverse, d.hi) - inverse * d.lo;
  const Two<double> u = {inverse, inverse * rest};
  const Two<double> s = fast_two_sum(Doubles(1.0), u.hi * -4.0);
  const Two<double> t = {s.hi, fma(u.lo, Doubles(-4.0), s.lo)};
  const Doubles q = poly(
      t.hi, -0x1.2a88e6107cfcp-5, -0x1.606e415520e09p-6, 0x1.a89eaff7f6d1ep-8, 0x1.9517bb699738ep-9,
      -0x1.b6fbf953c2cedp-11, -0x1.5ba436e58efeap-11, 0x1.2053e2e273dd5p-15, 0x1.2ef9fe00411eep-13,
      0x1.1e77923e46a42p-15, -0x1.6bfa6e087da47p-16, -0x1.0e8245de7d74p-16, -0x1.2f86477b14c16p-20,
      0x1.ea083b173c4d7p-19, 0x1.0e7ec9b83ae86p-19, -0x1.6b4c8be31747p-27, -0x1.3fea7c07298aep-21,
      -0x1.4ddc487957e68p-22, 0x1.d76243338bc1cp-26, 0x1.ba4f77b561717p-24, 0x1.1df9e5b95846ap-25,
      -0x1.54884ecb15c98p-27, -0x1.0e5f54c063bdep-27, -0x1.4a34a470c82d8p-30);
  const Two<double> tail = {fma(t.hi, q, Doubles(0x1.1e2deea6b115p-2)), 0.0};
  const Two<double> p1 =
      horner_step(t, tail, Two<double>{-0x1.5fd386754eff9p-1, -0x1.d8352cbd3c619p-55});
  const Two<double> p =
      horner_step(t, p1, Two<double>{0x1.058671b52c776p0, -0x1.b3d2d489edca8p-57});
  return multiply(u, p);
}

LT_INLINE Doubles verfc(Doubles x) {
  const Doubles m = min(Doubles(28.0), abs(x));
  const Two<double> square = two_prod(m, m);
  const auto e = exp_parts(-square.hi, -square.lo);
  const Two<double> y = multiply(Two<double>{e.hi, e.lo}, erfcx_parts(Two<double>{m, 0.0}));
  const Doubles r = scale(y.hi + y.lo, e.n);
  return select(x < 0.0, Doubles(2.0) - r, r);
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
