// The regularised incomplete gamma functions of a and x, lower (P) and upper (Q): a power series
// (DLMF 8.11.4) for x < a + 1, a continued fraction (DLMF 8.9.2) beyond, and Temme's uniform
// expansion (DLMF 8.12) where a is large and x near it. All have the factor x^a e^-x / Gamma(a +
// 1), whose exponent needs double length.
#ifndef LIBTENSOR_KERNEL_INCOMPLETE_GAMMA_H
#define LIBTENSOR_KERNEL_INCOMPLETE_GAMMA_H

#include "special.h"

namespace lt {
namespace {

constexpr double kTemmeFrom = 200;

// a log(x / a) - (x - a), so that large terms cancel before they are rounded.
inline Pair gamma_power(double a, double x) {
  const Pair d = Pair::sum(x, -a) / Pair(a);
  if (d.hi >= -0.5 && d.hi <= 1) return -(Pair(a) * d * d * gamma_exponent(d));
  return Pair(a) * (log_fine(Pair(x) / Pair(a)) - d);
}

// x^a e^-x / Gamma(a + 1)
inline Pair gamma_prefix(double a, double x) {
  if (a < 10)
    return Pair(exp_pair(Pair(a) * log_fine(x) - Pair(x) - log_gamma_positive(Pair::sum(a, 1))));
  return Pair(exp_pair(gamma_power(a, x) - Pair(stirling(a)))) / sqrt(kTwoPi * Pair(a));
}

// Terms that are smaller than this part of a sum are left out of it.
template <class R>
constexpr double kLeftOut = std::is_same_v<R, double> ? 0x1p-40 : 0x1p-60;

// The sum of x^k / ((a + 1) ... (a + k)), in double length for doubles: its terms decrease slowly.
template <class R>
inline Pair gamma_series(double a, double x) {
  const double inverse = x < 0x1p-1000 ? 0 : 1 / x;
  R term = 1, sum = 1;
  for (int k = 1; leading(term) > kLeftOut<R> * leading(sum); k++) {
    if constexpr (std::is_same_v<R, double>) {
      sum += term *= x / (a + k);
    } else {
      const Pair d = Pair::sum(a, k);
      const double ratio = x / d.hi;
      const Pair exact = Pair::product(ratio, d.hi);
      const double rest = ((x - exact.hi) - exact.lo) - ratio * d.lo;
      term = term * Pair(ratio, rest * ratio * inverse);
      sum = Pair::ordered(sum.hi, term.hi) + Pair(sum.lo + term.lo);
    }
  }
  return sum;
}

// Gamma(a, x) e^x / x^a: Lentz's method determines the number of terms, which are then evaluated
// from the last to the first, so that errors decay; the first ones in double-double precision.
// Floats use its product.
template <class R>
inline Pair gamma_fraction(double a, double x) {
  const double first = x + 1 - a;
  constexpr double ends = std::is_same_v<R, double> ? 0x1p-40 : kEpsilon;
  double b = first, c = 1e300, d = 1 / b;
  double whole = d;
  int terms = 1;
  for (double step = 0; __builtin_fabs(step - 1) > ends && terms < 100000; terms++) {
    const double an = -terms * (terms - a);
    b += 2;
    d = an * d + b;
    d = 1 / (d == 0 ? 1e-300 : d);
    c = b + an / c;
    c = c == 0 ? 1e-300 : c;
    step = c * d;
    whole *= step;
  }
  if (std::is_same_v<R, double>) return whole;
  terms += terms / 2;  // the steps reach convergence a little before the omitted terms do
  double deep = first + 2 * terms;
  int k = terms;
  for (; k > 24; k--) deep = (first + 2 * (k - 1)) - k * (k - a) / deep;
  Pair y = deep;
  const Pair start = Pair::sum(x, 1) - Pair(a);
  for (; k > 0; k--) y = start + Pair(2 * (k - 1)) - Pair(k) * Pair::sum(k, -a) / y;
  return Pair(1) / y;
}

// Q for a < 1 and x < a + 1, which may be small: 1 - x^a / Gamma(a + 1) and the other terms of the
// power series of P.
inline double small_upper_gamma(double a, double x) {
  const Pair power = Pair(a) * log_fine(x) - log_gamma_positive(Pair::sum(a, 1));
  Pair term = 1, sum = 0;
  for (int k = 1; __builtin_fabs(term.hi) > 0x1p-60; k++) {
    term = term * Pair(-x) / Pair(k);
    sum = sum + term / Pair::sum(a, k);
  }
  return double(-expm1_pair(power) - Pair(exp_pair(power)) * sum * Pair(a));
}

// P left of a and Q right of it, d being (x - a) / a.
inline Pair temme_tail(double a, double x, Pair d) {
  const Pair power = gamma_power(a, x), z = sqrt(-power);
  double y = temme5(d).hi;
  y = y / a + temme4(d).hi;
  y = y / a + temme3(d).hi;
  y = y / a + temme2(d).hi;
  y = y / a + temme1(d).hi;
  const Pair sum = temme0(d) + Pair(y / a);
  const Pair rest = sum / sqrt(kTwoPi * Pair(a));
  const Pair half = Pair(erfcx_parts(z)) * Pair(0.5);
  return Pair(exp_pair(power)) * (d.hi < 0 ? half - rest : half + rest);
}

// R: double for results in float, Pair for doubles.
template <class R>
inline double incomplete_gamma(double a, double x, bool upper) {
  if (!(a >= 0) || !(x >= 0)) return __builtin_nan("");
  const bool infinite_a = a > 1e300, infinite_x = x > 1e300;
  if (a == 0) return x > 0 ? (upper ? 0 : 1) : __builtin_nan("");
  if (infinite_a) return infinite_x ? __builtin_nan("") : (upper ? 1 : 0);
  if (x == 0) return upper ? 1 : 0;
  if (infinite_x) return upper ? 0 : 1;
  if (a >= kTemmeFrom) {
    const Pair d = Pair::sum(x, -a) / Pair(a);
    if (__builtin_fabs(d.hi) < 0.5) {
      const Pair tail = temme_tail(a, x, d);
      return double(upper == (d.hi >= 0) ? tail : Pair(1) - tail);
    }
  }
  if (x < a + 1) {
    if (upper && a < 1) return small_upper_gamma(a, x);
    const Pair p = gamma_prefix(a, x) * gamma_series<R>(a, x);
    return double(upper ? Pair(1) - p : p);
  }
  const Pair q = gamma_prefix(a, x) * Pair(a) * gamma_fraction<R>(a, x);
  return double(upper ? q : Pair(1) - q);
}

}  // namespace
}  // namespace lt
#endif
