// The regularised incomplete gamma functions for vectors, by the formulas of incomplete_gamma.h.
#ifndef LIBTENSOR_KERNEL_VMATH_IGAMMA_H
#define LIBTENSOR_KERNEL_VMATH_IGAMMA_H

#include "incomplete_gamma.h"
#include "vmath_zeta.h"

namespace lt {
namespace {

// The logarithm of x^a e^-x / Gamma(a + 1), without the terms that are applied separately from a =
// 10 on.
LT_OUTLINE Long gamma_exponent_of(Doubles a, Doubles x) {
  const Mask<double> low = a < 10.0, tiny = a < 1.0;
  Long y = 0.0;
  if (any(low)) {
    const Doubles some = select(low, a, Doubles(1.0));
    const Long gamma(log_gamma_fit(select(tiny, Long(two_sum(some, Doubles(1.0))), Long(some))));
    const Long less =
        select(tiny, Long(x), Long(x) + log_fine(Long(select(tiny, Doubles(1.0), some))));
    y = log_fine(Long(x)) * some - (less + gamma);
  }
  if (all(low)) return y;
  const Doubles large = select(low, Doubles(10.0), a);
  const Long d = Long(two_sum(x, -large)) / Long(large);
  const Mask<double> near = (d.hi >= -0.5) & (d.hi <= 1.0);
  const Long close = select(near, d, Long(0.0));
  Long power = -(close * close * Long(gamma_exponent(close)) * large);
  if (!all(near)) power = select(near, power, (log_fine(Long(x) / Long(large)) - d) * large);
  const Doubles inverse = Doubles(1.0) / large;
  const Doubles rest =
      inverse * poly(inverse * inverse, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188,
                     -691.0 / 360360, 1.0 / 156, -3617.0 / 122400);
  return select(low, y, power - Long(rest));
}

// gamma_series for 0 < x < a + 1 in the numbers of R: Long, or Doubles for results in float.
template <class R>
LT_INLINE R gamma_sum(Doubles a, Doubles x) {
  R term = 1.0, sum = 1.0;
  Mask<double> more = a == a;
  constexpr double least = std::is_same_v<R, Long> ? 0x1p-60 : 0x1p-40;
  for (int k = 1; any(more); k++) {
    if constexpr (std::is_same_v<R, Long>)
      term = term * (Long(x) / Long(two_sum(a, Doubles(double(k)))));
    else
      term = term * (x / (a + double(k)));
    sum = select(more, sum + term, sum);
    more = more & (leading(term) > leading(sum) * least);
  }
  return sum;
}

// gamma_fraction for x >= a + 1.
template <class R>
LT_INLINE R gamma_quotient(Doubles a, Doubles x) {
  constexpr bool shortly = std::is_same_v<R, Doubles>;
  const Doubles first = x + 1.0 - a;
  Doubles b = first, c = 1e300, d = Doubles(1.0) / b, whole = d, terms = 1.0;
  Mask<double> more = a == a;
  for (int k = 1; any(more) && k < 100000; k++) {
    const Doubles an = (a - double(k)) * double(k);
    b = b + 2.0;
    d = fma(an, d, b);
    d = Doubles(1.0) / select(d == 0.0, Doubles(1e-300), d);
    c = b + an / c;
    c = select(c == 0.0, Doubles(1e-300), c);
    const Doubles step = c * d;
    whole = select(more, whole * step, whole);
    terms = select(more, terms + 1.0, terms);
    more = more & (abs(step - 1.0) > (shortly ? 0x1p-40 : kEpsilon));
  }
  if constexpr (shortly) {
    return whole;
  } else {
    terms = floor(terms * 1.5);
    Doubles most = terms, deep = first + terms * 2.0;
    double k = most[0];
    for (int i = 1; i < Doubles::N; i++) k = most[i] > k ? most[i] : k;
    for (; k > 24; k--) {
      const Doubles next = (first + 2 * (k - 1)) - (Doubles(k) - a) * k / deep;
      deep = select(terms >= k, next, deep);
    }
    Long y = deep;
    const Long start = Long(two_sum(x, Doubles(1.0))) - Long(a);
    for (; k > 0; k--) {
      const Long product = Long(two_sum(Doubles(k), -a)) * Doubles(k);
      y = select(terms >= k, start + Long(2 * (k - 1)) - product / y, y);
    }
    return Long(1.0) / y;
  }
}

// P, or Q with `upper`.
template <class R, bool upper>
LT_INLINE Doubles vincomplete_gamma(Doubles a, Doubles x) {
  const Mask<double> below = x < a + 1.0, far = (abs(x - a) >= a * 0.5) | (a < kTemmeFrom);
  Mask<double> fit = (a > 0x1p-200) & (a < 1e5) & (x > 0x1p-200) & (x < 1e6) & far;
  if (upper) fit = fit & ((a >= 1.0) | !below);
  const Doubles p = select(fit, a, Doubles(1.0)), q = select(fit, x, Doubles(1.0));
  const Long exponent = gamma_exponent_of(p, q);
  const Mask<double> within = (exponent.hi > -600.0) & (exponent.hi < 600.0);
  Long prefix = exp_long(select(within, exponent, Long(0.0)));
  if (any(p >= 10.0)) prefix = select(p >= 10.0, prefix / sqrt(Long(kTwoPi) * p), prefix);
  const Mask<double> series = fit & below;
  Long y = 0.0;
  if (any(series)) {
    const R sum = gamma_sum<R>(select(series, p, Doubles(1.0)), select(series, q, Doubles(0.5)));
    y = prefix * sum;
    if (upper) y = Long(1.0) - y;
  }
  if (!all(series | !fit)) {
    const R part =
        gamma_quotient<R>(select(series, Doubles(1.0), p), select(series, Doubles(9.0), q));
    const Long rest = prefix * p * part;
    y = select(series, y, upper ? rest : Long(1.0) - rest);
  }
  using One = std::conditional_t<std::is_same_v<R, Long>, Pair, double>;
  return where_fit(fit & within, number(y),
                   [&](int i) { return incomplete_gamma<One>(a[i], x[i], upper); });
}

}  // namespace
}  // namespace lt
#endif
