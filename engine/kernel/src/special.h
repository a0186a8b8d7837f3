// Gamma and related functions of one double, in double length until the end; float kernels compute
// in double too.
#ifndef LIBTENSOR_KERNEL_SPECIAL_H
#define LIBTENSOR_KERNEL_SPECIAL_H

#include "gen_fits.h"
#include "vmath_erf.h"

namespace lt {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kEpsilon = 0x1p-53;
constexpr Pair kPiPair = {0x1.921fb54442d18p1, 0x1.1a62633145c07p-53};
constexpr Pair kLogPi = {0x1.250d048e7a1bdp0, 0x1.7abf2ad8d5088p-57};
constexpr Pair kHalfLogTau = {0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};
constexpr Pair kTwoPi = {0x1.921fb54442d18p2, 0x1.1a62633145c07p-52};

// log x of a positive finite number, of which 2^-60 is lost near 1 and 2^-66 elsewhere.
inline Pair log_fine(Pair x) {
  const Split<double> s = split_any(Doubles(x.hi));
  const double k = s.k[0], low = scaled_down(s, Doubles(x.lo))[0];
  return Pair(k) * Pair(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56) +
         log_fit(Pair::ordered(1 + s.f[0], low));
}

// e^x - 1
inline Pair expm1_pair(Pair x) {
  if (!(__builtin_fabs(x.hi) < 0.5)) return Pair(exp_pair(x)) - Pair(1);
  Pair sum = 1;
  for (int k = 20; k > 1; k--) sum = Pair(1) + sum * x / Pair(k);
  return sum * x;
}

// sin and cos of pi f for |f| <= 1/2, with the other function of 1/2 - |f| near its zero.
struct SinCos {
  Pair sin, cos;
};
inline SinCos sin_cos_pi(double f) {
  const double m = __builtin_fabs(f);
  const bool swap = m > 0.25;
  const Two<double> r = Pair(swap ? 0.5 - m : m) * kPiPair;
  const Pair s(sin_parts(r)), c(cos_parts(r));
  const Pair sn = Pair::ordered(s.hi, s.lo), cs = Pair::ordered(c.hi, c.lo);
  return {f < 0 ? -(swap ? cs : sn) : swap ? cs : sn, swap ? sn : cs};
}

// The correction of Stirling's formula for log Gamma(x), x >= 10 (DLMF 5.11.1).
inline double stirling(double x) {
  const double z = 1 / (x * x);
  return (1.0 / 12 -
          z * (1.0 / 360 -
               z * (1.0 / 1260 -
                    z * (1.0 / 1680 -
                         z * (1.0 / 1188 -
                              z * (691.0 / 360360 - z * (1.0 / 156 - z * 3617.0 / 122400))))))) /
         x;
}

// log Gamma of x > 0.
inline Pair log_gamma_positive(Pair x) {
  if (x.hi < 1) return log_gamma_fit(x + Pair(1)) - log_fine(x);
  if (x.hi < 10) return log_gamma_fit(x);
  return (x - Pair(0.5)) * log_fine(x) - x + kHalfLogTau + Pair(stirling(x.hi));
}

// Beyond it products in double length overflow.
constexpr double kMostStirling = 0x1p900;

// log |Gamma(x)|, by the reflection formula for x < 0 (DLMF 5.5.3).
inline Pair log_gamma_pair(double x) {
  if (x != x) return x;
  if (x == __builtin_inf()) return x;
  if (x >= kMostStirling) return double((log_fine(x) - Pair(1)) * Pair(x * 0x1p-100)) * 0x1p100;
  if (x > 0) return log_gamma_positive(x);
  if (x == __builtin_floor(x)) return __builtin_inf();
  if (x > -0x1p-60) return -log_fine(-x);
  const Pair sine = sin_cos_pi(__builtin_fabs(x - __builtin_rint(x))).sin;
  return kLogPi - log_fine(sine) - log_gamma_positive(Pair::sum(1, -x));
}
inline double log_gamma(double x) { return double(log_gamma_pair(x)); }

// psi(x) for x >= 1: the asymptotic series (DLMF 5.11.2) from 10 on.
inline Pair digamma_above(Pair x) {
  if (x.hi < 10) return digamma_fit(x);
  const double z = 1 / (x.hi * x.hi);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 -
                                z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return log_fine(x) - Pair(0.5) / x - Pair(series);
}

// psi(x), by the reflection formula for x < 0 and one step of the recurrence below 1 (DLMF 5.5.4,
// 5.5.2).
inline double digamma(double x) {
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  if (!(x < __builtin_inf())) return x;
  if (x >= 1) return double(digamma_above(x));
  if (__builtin_fabs(x) < 0x1p-60) return -1 / x;
  if (x > 0) return double(digamma_above(Pair::sum(1, x)) - Pair(1) / Pair(x));
  const double fraction = x - __builtin_rint(x);  // the nearer pole loses no digits
  if (fraction == 0 || x == -__builtin_inf()) return __builtin_nan("");
  const SinCos t = sin_cos_pi(fraction);
  return double(digamma_above(Pair::sum(1, -x)) - kPiPair * t.cos / t.sin);
}

// r^s for 0 < r <= 1, s > 1.
inline Pair raised(Pair r, double s) {
  if (s != __builtin_floor(s) || s > 1024) return Pair(exp_pair(Pair(s) * log_fine(r)));
  Pair all = 1;
  for (int n = int(s); n; n /= 2, r = r * r)
    if (n % 2) all = all * r;
  return all;
}

// B_2j / (2j)!
constexpr double kEulerMaclaurin[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000.0,
                                      1.0 / 74724249600.0,
                                      -3617.0 / 10670622842880000.0,
                                      43867.0 / 5109094217170944000.0};

// The sum of (unit / (q + k))^s over k >= 0 for 0 < unit <= q: some terms, then Euler and
// Maclaurin's formula (DLMF 25.11.5).
inline Pair zeta_sum(double s, Pair q, Pair unit) {
  Pair sum = 0, z = q;
  for (int k = 0; k < 10 || z.hi < 10; z = q + Pair(++k)) {
    const Pair term = raised(unit / z, s);
    sum = sum + term;
    if (term.hi < 0x1p-64 * sum.hi) return sum;
  }
  const Pair power = raised(unit / z, s);
  double factor = s, tail = power.hi / z.hi, rest = 0, next = s + 1;
  for (double b : kEulerMaclaurin) {
    rest += b * factor * tail;
    factor *= next * (next + 1), next += 2;
    tail /= z.hi * z.hi;
  }
  return sum + power * (z / Pair::sum(s, -1) + Pair(0.5)) + Pair(rest);
}

// e^x of |x| < 10^8, whose range is larger than that of doubles.
inline Power exp_wide(Pair x) {
  const double twos = __builtin_rint(x.hi * 1.4426950408889634);
  const Power e = exp_pair(x - Pair(twos) * Pair(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56));
  return {e.value, e.n + int(twos)};
}
inline Power operator*(Power a, Power b) {
  const Pair p = a.value * b.value;
  const int e = p.hi != 0 ? __builtin_ilogb(p.hi) : 0;
  return {{__builtin_ldexp(p.hi, -e), __builtin_ldexp(p.lo, -e)}, a.n + b.n + e};
}

// The sum of (q + k)^-s over k >= 0, times scale. It counts in units of the largest term.
inline double hurwitz_zeta(double s, double q, Power scale = {1, 0}) {
  if (s == 1) return __builtin_inf();
  if (s < 1 || s != s || q != q) return __builtin_nan("");
  if (q <= 0) {
    if (q == __builtin_floor(q)) return __builtin_inf();
    if (s != __builtin_floor(s)) return __builtin_nan("");
  }
  if (s == __builtin_inf()) return q == 1 ? 1 : q > 1 ? 0 : s;
  if (q == __builtin_inf()) return 0;
  Pair sum, unit = q;
  if (q > 0x1p60 * s) {  // all terms but the integral are below 2^-60
    sum = Pair(q) / Pair::sum(s, -1);
  } else if (q > 0) {
    sum = zeta_sum(s, q, q);
  } else {  // the terms below 0 are the first ones of another such sum
    const Pair above = Pair::sum(q, -__builtin_floor(q)), below = Pair(1) - above;
    unit = above.hi < below.hi ? above : below;
    const Pair other = zeta_sum(s, below, unit) - zeta_sum(s, Pair::sum(1, -q), unit);
    const Pair first = zeta_sum(s, above, unit);
    sum = __builtin_fmod(s, 2) == 0 ? first + other : first - other;
  }
  const Pair power = Pair(-s) * log_fine(unit);
  if (!(__builtin_fabs(power.hi) < 1e8)) return power.hi < 0 ? 0 : __builtin_inf();
  const Power y = Power{1, 0} * Power{sum, 0} * exp_wide(power) * scale;
  return __builtin_ldexp(double(y.value), y.n);
}

// n!
inline Power factorial(int64_t n) {
  if (n > 1000) return exp_wide(log_gamma_positive(Pair::sum(double(n), 1)));
  Power all = {1, 0};
  for (int64_t k = 2; k <= n; k++) all = all * Power{double(k), 0};
  return all;
}

// The sum of (x + k)^-2 over k >= 0 for x >= 0.5, as good as float32 needs: some terms, then the
// asymptotic series (DLMF 5.15.8).
inline double trigamma_short(double x) {
  double sum = 0;
  for (; x < 8; x += 1) sum += 1 / (x * x);
  const double r = 1 / x, z = r * r;
  double series = 7.0 / 6;
  for (double b : {-691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6})
    series = series * z + b;
  return sum + r + 0.5 * z + r * z * series;
}

template <class T>
inline double trigamma_above(T x) {
  return sizeof(T) == 4 ? trigamma_short(x) : hurwitz_zeta(2, x);
}

// The first derivative of psi at x < 0 by the reflection (DLMF 5.15.6) in the precision of the
// dtype, as in PyTorch: at the poles the result is large instead of infinite.
template <class T>
inline T trigamma_reflected(T x) {
  const T s = sizeof(T) == 4 ? T(__builtin_sinf(float(kPi) * float(x))) : T(__builtin_sin(kPi * x));
  return T(T(kPi) * T(kPi)) / (s * s) - T(trigamma_above(T(1 - x)));
}

// The n-th derivative of psi, whose scale is n!: (-1)^(n+1) n! zeta(n + 1, x) (DLMF 5.15.1).
template <class T>
inline T polygamma(int64_t n, T x, Power scale) {
  if (n == 0) return T(digamma(x));
  if (n == 1 && x < 0 && (sizeof(T) == 4 || x == __builtin_floor(x))) return trigamma_reflected(x);
  if (n == 1 && x >= T(0.5)) return T(trigamma_above(x));
  const double sign = n % 2 ? 1 : -1;
  if (n > 1000000) return T(sign * __builtin_inf() * hurwitz_zeta(double(n) + 1, x));
  return T(sign * hurwitz_zeta(double(n) + 1, x, scale));
}

}  // namespace
}  // namespace lt
#endif
