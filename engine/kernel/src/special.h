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

// sin and cos of pi f for |f| <= 1/2, the other one of 1/2 - |f| where that is the nearer zero.
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

// What Stirling's formula leaves of log Gamma(x) for x >= 10 (DLMF 5.11.1).
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
inline double log_gamma(double x) {
  if (x != x) return x;
  if (x == __builtin_inf()) return x;
  if (x >= kMostStirling) return double((log_fine(x) - Pair(1)) * Pair(x * 0x1p-100)) * 0x1p100;
  if (x > 0) return double(log_gamma_positive(x));
  if (x == __builtin_floor(x)) return __builtin_inf();
  if (x > -0x1p-60) return double(-log_fine(-x));
  const Pair sine = sin_cos_pi(__builtin_fabs(x - __builtin_rint(x))).sin;
  return double(kLogPi - log_fine(sine) - log_gamma_positive(Pair::sum(1, -x)));
}

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

// z^-s, with what s makes of z's low part.
inline Pair inverse_power(Pair z, double s) {
  const double power = __builtin_pow(z.hi, -s);
  return {power, z.lo == 0 ? 0 : power * (-s * z.lo / z.hi)};
}

// The sum of (q + k)^-s over k >= 0: some terms, then Euler and Maclaurin's formula (DLMF 25.11.5).
inline double hurwitz_zeta(double s, double q) {
  if (s == 1) return __builtin_inf();
  if (s < 1 || s != s || q != q) return __builtin_nan("");
  if (q <= 0) {
    if (q == __builtin_floor(q)) return __builtin_inf();
    if (s != __builtin_floor(s)) return __builtin_nan("");
  }
  if (q < -100) {  // too many terms to add: those below 0 are the first ones of another such sum
    const double part = q - __builtin_floor(q);
    const double below = hurwitz_zeta(s, 1 - part) - hurwitz_zeta(s, 1 - q);
    return hurwitz_zeta(s, part) + (__builtin_fmod(s, 2) == 0 ? below : -below);
  }
  if (s == __builtin_inf() && q > 0) return q < 1 ? s : q == 1;
  if (q == __builtin_inf()) return 0;
  // All but the integral counts for less than 2^-60.
  if (q > 0x1p60 * s) return __builtin_pow(q, 1 - s) / (s - 1);
  Pair sum = 0, z = q;
  for (int k = 0; k < 10 || z.hi < 10; z = Pair::sum(q, ++k)) {
    const Pair term = inverse_power(z, s);
    if (__builtin_fabs(term.hi) == __builtin_inf()) return term.hi;
    sum = sum + term;
    if (__builtin_fabs(term.hi) < kEpsilon * __builtin_fabs(sum.hi) && z.hi > 0) return double(sum);
  }
  // B_2j / (2j)!
  static constexpr double bernoulli[] = {1.0 / 12,
                                         -1.0 / 720,
                                         1.0 / 30240,
                                         -1.0 / 1209600,
                                         1.0 / 47900160,
                                         -691.0 / 1307674368000.0,
                                         1.0 / 74724249600.0,
                                         -3617.0 / 10670622842880000.0,
                                         43867.0 / 5109094217170944000.0};
  const Pair power = inverse_power(z, s);
  double factor = s, tail = power.hi / z.hi, rest = 0.5 * power.hi;
  for (int j = 0; j < 9; j++) {
    rest += bernoulli[j] * factor * tail;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
    tail /= z.hi * z.hi;
  }
  const Pair integral = power * z / Pair::sum(s, -1);
  return integral.hi < __builtin_inf() ? double(sum + integral + Pair(rest)) : integral.hi;
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

// The first derivative of psi. The reflection (DLMF 5.15.6) is taken in the dtype's own precision,
// as PyTorch does: near the poles the result depends on it, and at them it is large instead of
// infinite.
template <class T>
inline T trigamma(T x) {
  if (x >= T(0.5)) return T(trigamma_above(x));
  const T s = sizeof(T) == 4 ? T(__builtin_sinf(float(kPi) * float(x))) : T(__builtin_sin(kPi * x));
  return T(T(kPi) * T(kPi)) / (s * s) - T(trigamma_above(T(1 - x)));
}

// The n-th derivative of psi: (-1)^(n+1) n! zeta(n + 1, x) (DLMF 5.15.1).
template <class T>
inline T polygamma(int64_t n, T x) {
  if (n == 0) return T(digamma(x));
  if (n == 1) return trigamma(x);
  const double scale = n < 171 ? __builtin_tgamma(double(n) + 1) : __builtin_inf();
  return T((n % 2 ? scale : -scale) * hurwitz_zeta(double(n) + 1, x));
}

}  // namespace
}  // namespace lt
#endif
