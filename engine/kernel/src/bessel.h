// Bessel functions, modified or not, and the Airy function, of one double: piecewise polynomials
// (gen_fits.h) near 0, and beyond 16 and 26 the amplitude and phase (DLMF 10.18) or the factor of
// the exponential, as polynomials in 1/x. Both parts of a result are in double-double precision
// until the end.
#ifndef LIBTENSOR_KERNEL_BESSEL_H
#define LIBTENSOR_KERNEL_BESSEL_H

#include "gen_fits.h"

namespace lt {
namespace {

constexpr double kInfinity = __builtin_inf(), kNaN = __builtin_nan("");
constexpr Pair kQuarterPi = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
constexpr Pair kSqrtTwoOverPi = {0x1.9884533d43651p-1, -0x1.cbc0d30ebfd15p-55};
constexpr Pair kTwoOverPi = {0x1.45f306dc9c883p-1, -0x1.6b01ec5417056p-55};

// A fit in the numbers of R: Pair, or double for results in float.
template <class R, class F>
LT_INLINE R fitted(const F &fit, double x) {
  if constexpr (std::is_same_v<R, double>)
    return fit.shortly(x);
  else
    return fit(x);
}

LT_INLINE Pair inverse(double x) { return Pair(1) / Pair(x); }

// sqrt(2 / (pi x)) m(1/x) cos(x - (order/2 + 1/4) pi + phase(1/x) / x - quarters pi/2) for x >= 26.
template <class M, class P>
inline double oscillation(double x, int order, int quarters, const M &amplitude, const P &phase) {
  if (x == kInfinity) return 0;
  const Pair u = inverse(x);
  Turn t = reduce_pair(x);
  t.n -= order + quarters;
  t.r = t.r - kQuarterPi + phase(u) * u;
  return double(kSqrtTwoOverPi / sqrt(Pair(x)) * amplitude(u) * cos_turn(t));
}

template <class R>
inline double bessel_j0(double x) {
  x = __builtin_fabs(x);
  if (x < 26) return double(fitted<R>(bessel_j0_fit, x));
  return x == x ? oscillation(x, 0, 0, bessel_amplitude0, bessel_phase0) : x;
}
template <class R>
inline double bessel_j1(double x) {
  const double m = __builtin_fabs(x);
  if (!(m > 0)) return x;
  const double y = m < 26 ? double(fitted<R>(bessel_j1_fit, m))
                          : oscillation(m, 1, 0, bessel_amplitude1, bessel_phase1);
  return x < 0 ? -y : y;
}
template <class R>
inline double bessel_y0(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNaN;
  if (x < 0.5) return double(kTwoOverPi * log_pair(x) * bessel_j0_fit(x) + bessel_y0_rest(x));
  return x < 26 ? double(fitted<R>(bessel_y0_fit, x))
                : oscillation(x, 0, 1, bessel_amplitude0, bessel_phase0);
}
template <class R>
inline double bessel_y1(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNaN;
  if (x < 0x1p-500) return -double(kTwoOverPi / Pair(x * 0x1p600)) * 0x1p600;
  if (x < 0.5)
    return double((kTwoOverPi * log_pair(x) * bessel_j1_fit(x) * Pair(x) + bessel_y1_rest(x)) /
                  Pair(x));
  return x < 26 ? double(fitted<R>(bessel_y1_fit, x))
                : oscillation(x, 1, 1, bessel_amplitude1, bessel_phase1);
}

// e^-|x| I(x), for order 1 divided by x below 16 and of positive x.
template <class R>
inline Pair scaled_i(int order, double m) {
  if (m < 16) return order ? fitted<R>(bessel_i1_fit, m) * R(m) : fitted<R>(bessel_i0_fit, m);
  const Pair u = inverse(m);
  return (order ? bessel_i1_far(u) : bessel_i0_far(u)) / sqrt(Pair(m));
}
inline double times_power(Pair y, double x) {
  const Power e = exp_pair(x);
  return __builtin_ldexp(double(y * e.value), e.n);
}
template <class R>
inline double bessel_i(int order, double x, bool scaled) {
  const double m = __builtin_fabs(x);
  if (m != m || (order && m == 0)) return x;
  double y;
  if (order && m < 0x1p-60)
    y = m / 2;
  else if (m == kInfinity)
    y = scaled ? 0 : m;
  else
    y = scaled ? double(scaled_i<R>(order, m)) : times_power(scaled_i<R>(order, m), m);
  return order && x < 0 ? -y : y;
}

// e^x K(x).
template <class R>
inline Pair scaled_k(int order, double x) {
  if (x < 16) return order ? fitted<R>(bessel_k1_fit, x) : fitted<R>(bessel_k0_fit, x);
  const Pair u = inverse(x);
  return (order ? bessel_k1_far(u) : bessel_k0_far(u)) / sqrt(Pair(x));
}
// K(x) below 1.
inline Pair small_k(int order, double x) {
  const Pair e = Pair(exp_pair(x)), x_log = log_pair(x);
  if (order == 0) return bessel_k0_rest(x) - x_log * e * bessel_i0_fit(x);
  return bessel_k1_rest(x) / Pair(x) + x_log * e * bessel_i1_fit(x) * Pair(x);
}
template <class R>
inline double bessel_k(int order, double x, bool scaled) {
  if (!(x > 0)) return x == 0 ? kInfinity : kNaN;
  if (x == kInfinity) return 0;
  if (order && x < 0x1p-500) return 1 / x;
  if (x < 1) return scaled ? times_power(small_k(order, x), x) : double(small_k(order, x));
  return scaled ? double(scaled_k<R>(order, x)) : times_power(scaled_k<R>(order, x), -x);
}

// 2/3 m^(3/2) as a turn, from the square root in triple length and exact products and quotients of
// its parts.
inline Turn airy_turn(double m) {
  const double first = __builtin_sqrt(m);
  const Pair rest = Pair(m) - Pair::product(first, first);
  const double second = rest.hi / (2 * first);
  const Pair less = rest - Pair::product(2 * first, second) - Pair::product(second, second);
  Turn t = {0, 0};
  for (const double part : {first, second, less.hi / (2 * first)}) {
    const Pair product = Pair::product(2 * m, part);
    for (double value : {product.hi, product.lo})
      for (int i = 0; i < 3; i++) {
        const double third = value / 3;
        value = double(Pair(value) - Pair::product(3, third));
        const Turn turn = reduce_pair(third);
        const Pair r = t.r + turn.r;
        const int over = r.hi > kQuarterPi.hi ? 1 : r.hi < -kQuarterPi.hi ? -1 : 0;
        t = {t.n + turn.n + over, r - Pair(over) * kHalfPi};
      }
  }
  return t;
}

// Ai, with zeta = 2/3 |x|^(3/2) and Ai(-x) = M cos(zeta - pi/4 + phase) (DLMF 9.8).
inline double airy_ai(double x) {
  if (x != x) return x;
  const double m = __builtin_fabs(x);
  if (m < 10) return double(airy_fit(x));
  // Beyond 2^64 the phase has no accurate digits even in triple length.
  if (m > 0x1p64) return x > 0 || m == kInfinity ? 0 : kNaN;
  const Pair root = sqrt(Pair(m)), zeta = Pair(2) * Pair(m) * root / Pair(3), u = Pair(1) / zeta;
  constexpr Pair root_pi = {0x1.c5bf891b4ef6bp0, -0x1.618f13eb7ca89p-54};
  const Pair scale = root_pi * sqrt(root);
  if (x > 0) {
    const Power e = exp_pair(-zeta);
    return __builtin_ldexp(double(airy_far(u) * e.value / (scale * Pair(2))), e.n);
  }
  // The low part is far less than a quarter turn here.
  Turn t = m < 0x1p30 ? reduce_pair(zeta.hi) : airy_turn(m);
  if (m < 0x1p30) t.r = t.r + Pair(zeta.lo);
  t.r = t.r - kQuarterPi + airy_phase(u) * u;
  return double(airy_amplitude(u) * cos_turn(t) / scale);
}

}  // namespace
}  // namespace lt
#endif
