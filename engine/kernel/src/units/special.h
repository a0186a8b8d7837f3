// Gamma and error functions.
#include "../chunks.h"
#include "../incomplete_gamma.h"
#include "../vmath_erfinv.h"
#include "../vmath_log.h"
#include "../vmath_zeta.h"

namespace lt {
namespace {

// vector(x) of the elements that are positive and finite, and scalar(x) of the others: an element's
// result does not depend on its neighbours.
template <class T, class F, class G>
LT_INLINE Vec<T> if_positive(Vec<T> x, F vector, G scalar) {
  const Mask<T> fit = (x > T(0)) & (x < Format<T>::infinity);
  if (all(fit)) return vector(x);
  Vec<T> y = vector(select(fit, x, Vec<T>(T(1))));
  for (int i = 0; i < Vec<T>::N; i++)
    if (!(x[i] > T(0) && x[i] < Format<T>::infinity)) y.v[i] = T(scalar(x[i]));
  return y;
}

// log Gamma of positive floats: Stirling's series (DLMF 5.11.1) at x, or at x + 8 less the
// logarithm of what lies between; near the zeros 1 and 2 its power series (DLMF 5.7.3).
LT_INLINE Doubles log_gamma_short(Doubles x) {
  const Mask<double> low = x < 8.0;
  Doubles product = x;
  for (int k = 1; k < 8; k++) product = product * (x + double(k));
  const Doubles z = select(low, x + 8.0, x), inverse = Doubles(1.0) / z;
  const Doubles series = poly(inverse * inverse, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680,
                              1.0 / 1188, -691.0 / 360360, 1.0 / 156);
  const Doubles half_log_tau = 0.91893853320467274178;
  const Doubles stirling = fma(z - 0.5, vlog(z), half_log_tau - z) + series * inverse;
  const Doubles y = select(low, stirling - vlog(product), stirling);
  const Doubles e = x - 1.0, d = x - 2.0;
  const Doubles one =  // + 0: log Gamma of 1 is not -0
      0.0 + e * poly(e, -0x1.2788cfc6fb619p-1, 0x1.a51a6625307d3p-1, -0x1.9a4d55beab2d7p-2,
                     0x1.151322ac7d848p-2, -0x1.a8b9c17aa6149p-3, 0x1.5b40cb100c306p-3);
  const Doubles two = d * poly(d, 0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a557607p-4,
                               0x1.51322ac7d8483p-6, -0x1.e404fc218f5f2p-8, 0x1.7add6eadb6c30p-9);
  return select(abs(e) < 0x1p-6, one, select(abs(d) < 0x1p-6, two, y));
}
LT_INLINE Floats vlgamma(Floats x) {
  return if_positive(
      x, [](Floats v) { return in_double(v, [](Doubles d) { return log_gamma_short(d); }); },
      [](float v) { return log_gamma(v); });
}
// log Gamma of positive doubles in double length, as log_gamma_positive has it.
LT_INLINE Two<double> log_gamma_long(Doubles x) {
  const Mask<double> low = x < 1.0, far = x >= 10.0;
  const Two<double> l = log_two(Two<double>{x, 0.0});
  const Two<double> near = log_gamma_fit(two_sum(x, select(low, Doubles(1.0), Doubles(0.0))));
  const Two<double> less = two_sum(near.hi, -l.hi);
  const Doubles hi = select(low, less.hi, near.hi);
  const Doubles lo = select(low, less.lo + (near.lo - l.lo), near.lo);
  if (!any(far)) return {hi, lo};
  const Doubles inverse = Doubles(1.0) / x;
  const Doubles series =
      inverse * poly(inverse * inverse, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188,
                     -691.0 / 360360, 1.0 / 156, -3617.0 / 122400);
  const Two<double> product = multiply(two_sum(x, Doubles(-0.5)), l);
  const Two<double> part = two_sum(product.hi, -x);
  const Two<double> sum = two_sum(part.hi, Doubles(kHalfLogTau.hi));
  return {select(far, sum.hi, hi), select(far, sum.lo + (part.lo + (product.lo + series)), lo)};
}
// log |pi / (m sin(pi m))|, which log Gamma(m) is less than log |Gamma(-m)| by.
LT_INLINE Two<double> log_reflection(Doubles m) {
  const Doubles f = abs(m - round_even(m));
  const Mask<double> swap = f > 0.25;
  const Two<double> r = multiply(Two<double>{select(swap, 0.5 - f, f), 0.0}, Two<double>(kPiPair));
  const Two<double> s = sin_parts(r), c = cos_parts(r);
  const Two<double> sine = fast_two_sum(select(swap, c.hi, s.hi), select(swap, c.lo, s.lo));
  const Two<double> l = log_two(multiply(sine, Two<double>{m, 0.0}));
  const Two<double> y = two_sum(Doubles(kLogPi.hi), -l.hi);
  return {y.hi, y.lo + (kLogPi.lo - l.lo)};
}
LT_INLINE Doubles vlgamma(Doubles x) {
  const Doubles m = abs(x);
  const Mask<double> negative = x < 0.0;
  const Mask<double> fit =
      (m > 0x1p-400) & (m < kMostStirling) & ((!negative) | ((m < 0x1p52) & (m != round_even(m))));
  const Doubles some = select(fit, m, Doubles(1.5));
  const Two<double> above = log_gamma_long(some);
  Doubles y = above.hi + above.lo;
  if (any(negative)) {
    const Two<double> both = log_reflection(some), rest = two_sum(both.hi, -above.hi);
    y = select(negative, rest.hi + (rest.lo + (both.lo - above.lo)), y);
  }
  if (all(fit)) return y;
  const Doubles alone = select(fit, Doubles(0.0), Doubles(1.0));
  for (int i = 0; i < Doubles::N; i++)
    if (alone[i] != 0) y.v[i] = log_gamma(x[i]);
  return y;
}

// psi of positive floats: the recurrence up to 10, then the asymptotic series.
LT_INLINE Doubles digamma_short(Doubles x) {
  const Mask<double> shifted = x < 10.0;
  const Doubles first = select(shifted, Doubles(1.0) / x, Doubles(0.0));
  x = select(shifted, x + 1.0, x);
  Doubles above = 0.0, below = 1.0;
  for (int k = 0; k < 9; k++) {
    const Mask<double> low = x < 10.0;
    above = select(low, above * x + below, above);
    below = select(low, below * x, below);
    x = select(low, x + 1.0, x);
  }
  const Doubles inverse = Doubles(1.0) / x, z = inverse * inverse;
  const Doubles series =
      z * poly(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
  return vlog(x) - above / below - 0.5 * inverse - series - first;
}
LT_INLINE Floats vdigamma(Floats x) {
  return if_positive(
      x, [](Floats v) { return in_double(v, [](Doubles d) { return digamma_short(d); }); },
      [](float v) { return digamma(v); });
}
// psi of positive doubles: a table from 1 to 10, one step of the recurrence below.
LT_INLINE Doubles digamma_long(Doubles x) {
  const Mask<double> low = x < 1.0, far = x >= 10.0;
  const Two<double> near = digamma_fit(two_sum(x, select(low, Doubles(1.0), Doubles(0.0))));
  const Two<double> step = divide(Two<double>{1.0, 0.0}, Two<double>{x, 0.0});
  const Two<double> stepped = two_sum(near.hi, -step.hi);
  const Doubles below = stepped.hi + (stepped.lo + (near.lo - step.lo));
  const Doubles y = select(x < 0x1p-60, -step.hi, select(low, below, near.hi + near.lo));
  if (!any(far)) return y;
  const Doubles inverse = Doubles(1.0) / x, z = inverse * inverse;
  const Doubles series =
      z * poly(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
  const Two<double> l = log_two(Two<double>{x, 0.0}), above = fast_two_sum(l.hi, inverse * -0.5);
  return select(far, above.hi + (above.lo + (l.lo - series)), y);
}
LT_INLINE Doubles vdigamma(Doubles x) {
  return if_positive(
      x, [](Doubles v) { return digamma_long(v); }, [](double v) { return digamma(v); });
}

LT_VECTOR(Erf, verf(a))
LT_VECTOR(Erfc, verfc(a))
LT_VECTOR(Erfinv, verfinv(a))

LT_VECTOR(Lgamma, vlgamma(a))
LT_VECTOR(Digamma, vdigamma(a))
LT_BINARY(Igamma, T(incomplete_gamma<Wider<T>>(a, b, false)))
LT_BINARY(Igammac, T(incomplete_gamma<Wider<T>>(a, b, true)))
LT_INLINE Doubles vzeta(Doubles a, Doubles b) { return vhurwitz(a, b, {1, 0}); }
LT_INLINE Floats vzeta(Floats a, Floats b) {
  return in_double(a, b, [](Doubles x, Doubles y) { return vzeta(x, y); });
}
struct Zeta {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    vector_binary<T>(data, strides, n, [](Vec<T> a, Vec<T> b) { return vzeta(a, b); });
  }
};

// psi', but for float32 of negative numbers what PyTorch has.
LT_INLINE Doubles vtrigamma(Doubles x, bool reflected) {
  const Mask<double> fit = (abs(x) > 0x1p-500) & (x > -0x1p52) & (x < 0x1p500) &
                           ((x > 0.0) | ((x != round_even(x)) & (reflected ? x == x : x != x)));
  return where_fit(fit, trigamma_long(select(fit, x, Doubles(1.0))), [&](int i) {
    return reflected ? polygamma(1, x[i], {1, 0}) : double(polygamma(1, float(x[i]), {1, 0}));
  });
}

// The order of the derivative is the first parameter.
struct Polygamma {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const int64_t order = *(const int64_t *)params;
    const Power scale = factorial(order < 1000000 ? order : 0);
    const auto f = [=](Doubles x) __attribute__((always_inline)) {
      if (order == 1) return vtrigamma(x, sizeof(T) == 8);
      const Doubles sign = order % 2 ? 1.0 : -1.0;
      return vhurwitz(Doubles(double(order) + 1), x, scale) * sign;
    };
    if (order == 0 || order >= 1000000)
      return unary_row<T, T>(data, strides, n, [=](T a) { return polygamma(order, a, scale); });
    vector_unary<T>(data, strides, n, [&](Vec<T> a) {
      if constexpr (sizeof(T) == 4)
        return in_double(a, f);
      else
        return f(a);
    });
  }
};

// The sum of log_gamma(a - i/2) for i < p, and p (p - 1) / 4 log pi (DLMF 35.3.4).
struct Mvlgamma {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const int64_t p = *(const int64_t *)params;
    unary_row<T, T>(data, strides, n, [p](T a) {
      Pair sum = kLogPi * Pair(double(p) * double(p - 1) / 4);
      for (int64_t i = 0; i < p; i++) {
        const Pair term = log_gamma_pair(a - 0.5 * double(i));
        if (!(__builtin_fabs(term.hi) < 0x1p1000)) return T(double(p - i) * term.hi);
        sum = sum + term;
      }
      return T(double(sum));
    });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(special){
    {"erf", "T>T", LT_FLOATING(Erf)},
    {"erfc", "T>T", LT_FLOATING(Erfc)},
    {"erfinv", "T>T", LT_FLOATING(Erfinv)},
    {"lgamma", "T>T", LT_FLOATING(Lgamma)},
    {"digamma", "T>T", LT_FLOATING(Digamma)},
    {"igamma", "T>TT", LT_FLOATING(Igamma)},
    {"igammac", "T>TT", LT_FLOATING(Igammac)},
    {"zeta", "T>TT", LT_FLOATING(Zeta)},
    {"polygamma", "T>T", LT_FLOATING(Polygamma)},
    {"mvlgamma", "T>T", LT_FLOATING(Mvlgamma)},
    LT_END,
};
