// Gamma and related functions of one double, in plain scalar code; float kernels compute in double
// too.
#ifndef LIBTENSOR_KERNEL_SPECIAL_H
#define LIBTENSOR_KERNEL_SPECIAL_H

#include "prelude.h"

namespace lt {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kEpsilon = 0x1p-53;

inline double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// psi(x): the reflection formula for x < 0, recurrence up to 10, then the asymptotic series
// (DLMF 5.5.4, 5.5.2, 5.11.2).
inline double digamma(double x) {
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  double shift = 0;
  if (x < 0) {
    const double fraction = x - __builtin_rint(x);  // the nearer pole loses no digits
    if (fraction == 0) return __builtin_nan("");
    shift = -kPi / __builtin_tan(kPi * fraction);
    x = 1 - x;
  }
  // The sum of 1 / (x + k): its largest term, and the others as one fraction.
  double above = 0, below = 1, first = 0;
  if (x < 10) {
    first = 1 / x;
    x += 1;
  }
  for (; x < 10; x += 1) {
    above = above * x + below;
    below *= x;
  }
  shift -= above / below;
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 -
                                z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return shift + __builtin_log(x) - 0.5 / x - series - first;
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
  double sum = 0;
  for (int k = 0; k < 10 || q < 10; k++, q += 1) {
    const double term = __builtin_pow(q, -s);
    sum += term;
    if (__builtin_fabs(term) < kEpsilon * __builtin_fabs(sum) && q > 0) return sum;
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
  const double power = __builtin_pow(q, -s);
  sum += power * q / (s - 1) + 0.5 * power;
  double factor = s, tail = power / q;
  for (int j = 0; j < 9; j++) {
    sum += bernoulli[j] * factor * tail;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
    tail /= q * q;
  }
  return sum;
}

// The first derivative of psi. The reflection (DLMF 5.15.6) is taken in the dtype's own precision,
// as PyTorch does: near the poles the result depends on it, and at them it is large instead of
// infinite.
template <class T>
inline T trigamma(T x) {
  if (x >= T(0.5)) return T(hurwitz_zeta(2, x));
  const T s = sizeof(T) == 4 ? T(__builtin_sinf(float(kPi) * float(x))) : T(__builtin_sin(kPi * x));
  return T(T(kPi) * T(kPi)) / (s * s) - T(hurwitz_zeta(2, 1 - x));
}

// The n-th derivative of psi: (-1)^(n+1) n! zeta(n + 1, x) (DLMF 5.15.1).
template <class T>
inline T polygamma(int64_t n, T x) {
  if (n == 0) return T(digamma(x));
  if (n == 1) return trigamma(x);
  const double scale = n < 171 ? __builtin_tgamma(double(n) + 1) : __builtin_inf();
  return T((n % 2 ? scale : -scale) * hurwitz_zeta(double(n) + 1, x));
}

// I0 and I1, or these times exp(-|x|): the power series (DLMF 10.25.2), and the asymptotic one
// (DLMF 10.40.1) where that reaches full precision. NaN for an infinity where that is not scaled
// away, as in PyTorch.
inline double bessel_i(int order, double x, bool scaled) {
  const double sign = order ? __builtin_copysign(1.0, x) : 1;
  x = __builtin_fabs(x);
  if (__builtin_isnan(x) || (__builtin_isinf(x) && !scaled)) return __builtin_nan("");
  double term = 1, sum = 1;
  if (x < 20) {
    const double z = x * x / 4;
    for (int k = 1; term > kEpsilon * sum; k++) sum += term *= z / (double(k) * (k + order));
    return sign * sum * (order ? x / 2 : 1.0) * (scaled ? __builtin_exp(-x) : 1.0);
  }
  for (int k = 1; k < 40 && __builtin_fabs(term) > kEpsilon; k++)
    sum += term *= ((2.0 * k - 1) * (2.0 * k - 1) - 4.0 * order) / (8.0 * k * x);
  const double half = scaled ? 1.0 : __builtin_exp(x / 2);
  return sign * half * (sum / (__builtin_sqrt(2 * kPi) * __builtin_sqrt(x))) * half;
}

// x^a e^-x / Gamma(a + 1). For large a by Stirling's series, so that the large exponents cancel
// before they are rounded.
inline double gamma_prefix(double a, double x) {
  if (a < 10) return __builtin_exp(a * __builtin_log(x) - x - log_gamma(a + 1));
  // a log(x/a) - (x - a) = a (log1p(d) - d) with d = (x - a) / a
  const double d = (x - a) / a, z = 1 / (a * a);
  double exponent;
  if (__builtin_fabs(d) < 0.3) {
    double power = d, sum = 0;
    for (int k = 2; k < 60; k++) {
      power *= -d;
      sum += power / k;
      if (__builtin_fabs(power) < kEpsilon * __builtin_fabs(sum)) break;
    }
    exponent = a * sum;
  } else {
    exponent = a * (__builtin_log(x / a) - d);
  }
  const double stirling =
      (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z / 1188)))) / a;
  return __builtin_exp(exponent - stirling) / __builtin_sqrt(2 * kPi * a);
}

// The regularised incomplete gamma function, lower (P) or upper (Q): the power series (DLMF 8.11.4)
// below a + 1, the continued fraction (DLMF 8.9.2, by Lentz's method) above.
inline double incomplete_gamma(double a, double x, bool upper) {
  if (!(a >= 0) || !(x >= 0)) return __builtin_nan("");
  const bool infinite_a = a > 1e300, infinite_x = x > 1e300;
  if (a == 0) return x > 0 ? (upper ? 0 : 1) : __builtin_nan("");
  if (infinite_a) return infinite_x ? __builtin_nan("") : (upper ? 1 : 0);
  if (x == 0) return upper ? 1 : 0;
  if (infinite_x) return upper ? 0 : 1;
  const double prefix = gamma_prefix(a, x);
  constexpr int limit = 200000;
  if (x < a + 1) {
    double term = 1, sum = 1;
    for (int k = 1; k < limit && term > kEpsilon * sum; k++) sum += term *= x / (a + k);
    return upper ? 1 - prefix * sum : prefix * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int k = 1; k < limit; k++) {
    const double an = -k * (k - a);
    b += 2;
    d = an * d + b;
    d = 1 / (d == 0 ? 1e-300 : d);
    c = b + an / c;
    c = c == 0 ? 1e-300 : c;
    const double step = c * d;
    h *= step;
    if (__builtin_fabs(step - 1) < 2 * kEpsilon) break;
  }
  const double q = prefix * a * h;
  return upper ? q : 1 - q;
}

}  // namespace
}  // namespace lt
#endif
