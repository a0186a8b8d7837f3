// sinh, cosh, tanh, asinh, acosh, atanh.
//
// From e^|x| or e^2|x| - 1 and from logarithms of double length arguments; minimax odd polynomials
// for sinh below 1 and asinh below 1/2, where those cancel. Floats work in double.
#ifndef LT_VMATH_HYPER_H_
#define LT_VMATH_HYPER_H_

#include "vmath_bins.h"
#include "vmath_log.h"

namespace lt {
namespace {

// (sinh x - x) / x^3 for x^2 = z <= 1.
LT_INLINE Doubles sinh_tail(Doubles z) {
  return poly(z, 0x1.5555555555556p-3, 0x1.111111111102p-7, 0x1.a01a01a036c73p-13,
              0x1.71de3a3b6927bp-19, 0x1.ae646f99725d4p-26, 0x1.61171c11b7415p-33,
              0x1.b5bbcd8ba522p-41);
}

// e^m + sign e^-m, halved, for m >= 0.
LT_INLINE Doubles half_sum(Doubles m, double sign) {
  const auto e = exp_parts(min(Doubles(711.0), m));
  const Two<double> p = fast_two_sum(e.hi, e.lo);
  const Two<double> inverse = divide(Two<double>{1.0, 0.0}, p);
  const Doubles s = pow2(nearest(max(Doubles(-1000.0), e.n.value * -2.0))) * sign;
  const Two<double> sum = add(p, Two<double>{inverse.hi * s, inverse.lo * s});
  return scale(sum.hi + sum.lo, nearest(e.n.value - 1.0));
}

LT_INLINE Doubles vsinh(Doubles x) {
  const Doubles m = abs(x), z = x * x;
  return select(m < 1.0, fma(x * z, sinh_tail(z), x), copysign(half_sum(m, -1), x));
}
LT_INLINE Floats vsinh(Floats x) {
  const Floats y = in_double(min(Floats(90.0f), abs(x)), [](Doubles m) {
    // (e + e / (e + 1)) / 2 with e = e^m - 1.
    const Doubles e = exp2m1_short(m * Ln2<double>::inverse);
    return fma(e, Doubles(0.5), e * 0.5 / (e + 1.0));
  });
  return copysign(y, x);
}

LT_INLINE Doubles vcosh(Doubles x) { return half_sum(abs(x), 1); }
LT_INLINE Floats vcosh(Floats x) {
  return in_double(min(Floats(90.0f), abs(x)), [](Doubles m) {
    const Doubles e = exp2_short(m * Ln2<double>::inverse);
    return fma(e, Doubles(0.5), Doubles(0.5) / e);
  });
}

#if LT_BITMASK
template <class T>
LT_INLINE Vec<T> vtanh(Vec<T> x) {
  return tanh_in_bins(x);
}
#else
LT_INLINE Doubles vtanh(Doubles x) {
  // h / (h + 1) with h = (e^2|x| - 1) / 2.
  const Doubles m = min(Doubles(20.0), abs(x));
  const Two<double> p = half_expm1_parts(m + m), h = fast_two_sum(p.hi, p.lo);
  const Two<double> d = two_sum(h.hi, Doubles(1.0));
  const Two<double> q = divide(h, Two<double>{d.hi, d.lo + h.lo});
  return select(m < 0x1p-28, x, copysign(q.hi + q.lo, x));
}
LT_INLINE Floats vtanh(Floats x) {
  const Floats y = in_double(min(Floats(10.0f), abs(x)), [](Doubles m) {
    const Doubles e = exp2m1_short(m * (2 * Ln2<double>::inverse));
    return e / (e + 2.0);
  });
  return copysign(y, x);
}
#endif

// sqrt(a) in double length, 0 for 0.
LT_INLINE Two<double> sqrt_parts(Two<double> a) {
  const Doubles root = sqrt(a.hi);
  const Doubles lo = (minus_square(a.hi, root) + a.lo) / (root + root);
  return {root, select(a.hi > 0.0, lo, Doubles(0.0))};
}

// (asinh x - x) / x^3 for x^2 = z <= 1/4.
LT_INLINE Doubles asinh_tail(Doubles z) {
  return poly(z, -0x1.5555555555541p-3, 0x1.3333333330738p-4, -0x1.6db6db6ba40c1p-5,
              0x1.f1c71ba8b80c5p-6, -0x1.6e8b8c8a53a8dp-6, 0x1.1c4d2dbcb83a5p-6,
              -0x1.c972c0884813p-7, 0x1.7940b8aa06f34p-7, -0x1.38649612c9f38p-7,
              0x1.e922fd3711c95p-8, -0x1.36eac7abb388fp-8, 0x1.c1c20dacd423bp-10);
}

LT_INLINE Doubles vasinh(Doubles x) {
  const Doubles m = abs(x), z = x * x;
  // log(m + sqrt(m^2 + 1)), or log(2 m) where the 1 no longer counts.
  const Mask<double> big = m > 0x1p30;
  const Two<double> square = two_prod(m, m), sum = two_sum(square.hi, Doubles(1.0));
  const Two<double> root = sqrt_parts(Two<double>{sum.hi, sum.lo + square.lo});
  const Two<double> total = fast_two_sum(root.hi, m);
  const Split<double> s = split(select(big, m, total.hi));
  const Doubles rest = (total.lo + root.lo) * s.inverse;
  const Two<double> y =
      log_parts(select(big, s.k + 1.0, s.k), s.f, select(big, Doubles(0.0), rest));
  const Doubles large = select(m < Format<double>::infinity, y.hi + y.lo, m);
  return copysign(select(m < 0.5, fma(m * z, asinh_tail(z), m), large), x);
}
LT_INLINE Floats vasinh(Floats x) {
  const Floats m = abs(x);
  const Floats y = in_double(m, [](Doubles v) {
    // log1p(v + v^2 / (1 + sqrt(1 + v^2)))
    const Doubles z = v * v;
    return log1p_short(v + z / (sqrt(z + 1.0) + 1.0));
  });
  return copysign(select(m < Format<float>::infinity, y, m), x);
}

LT_INLINE Doubles vacosh(Doubles x) {
  // log1p(t + sqrt(x^2 - 1)) with t = x - 1, or log(2 x) where the 1 no longer counts.
  const Mask<double> big = x > 0x1p30;
  const Two<double> square = two_prod(x, x), difference = fast_two_sum(square.hi, Doubles(-1.0));
  const Two<double> root = sqrt_parts(fast_two_sum(difference.hi, difference.lo + square.lo));
  const Two<double> sum = fast_two_sum(root.hi, x - 1.0);
  const Doubles v = select(big, x, sum.hi), v_lo = select(big, Doubles(0.0), sum.lo + root.lo);
  const Two<double> u = two_sum(select(big, Doubles(0.0), Doubles(1.0)), v);
  const Split<double> s = split(u.hi);
  const Two<double> y = log_parts(select(big, s.k + 1.0, s.k), s.f, scaled_down(s, u.lo + v_lo));
  const Doubles r = select(x < Format<double>::infinity, y.hi + y.lo, x);
  return select(x < 1.0, Doubles(Format<double>::nan), r);
}
LT_INLINE Floats vacosh(Floats x) {
  const Floats y = in_double(x, [](Doubles v) {
    const Doubles t = v - 1.0;
    return log1p_short(t + sqrt(t * (v + 1.0)));
  });
  const Floats r = select(x < Format<float>::infinity, y, x);
  return select(x < 1.0f, Floats(Format<float>::nan), r);
}

LT_INLINE Doubles vatanh(Doubles x) {
  // log1p(2 m / (1 - m)) / 2
  const Doubles m = abs(x);
  const Two<double> q = divide(Two<double>{m + m, 0.0}, fast_two_sum(Doubles(1.0), -m));
  const Two<double> h = log1p_parts(q.hi, q.lo);
  Doubles y = (h.hi + h.lo) * 0.5;
  y = select(m == 1.0, Doubles(Format<double>::infinity), y);
  y = select(m <= 1.0, y, Doubles(Format<double>::nan));
  return select(m < 0x1p-28, x, copysign(y, x));
}
LT_INLINE Floats vatanh(Floats x) {
  const Floats m = abs(x);
  Floats y =
      in_double(m, [](Doubles v) { return log1p_short((v + v) / (Doubles(1.0) - v)) * 0.5; });
  y = select(m == 1.0f, Floats(Format<float>::infinity), y);
  y = select(m <= 1.0f, y, Floats(Format<float>::nan));
  return copysign(y, x);
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_HYPER_H_
