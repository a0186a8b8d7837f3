// Gamma and error functions.
#include "../chunks.h"
#include "../vmath_erfinv.h"
#include "../vmath_igamma.h"
#include "../vmath_log.h"

namespace lt {
namespace {

// log Gamma of positive floats: from 3.5 on Stirling's series (DLMF 5.11.1); below it the
// recurrence to [1.5, 2.5), where it is (x - 2) times a Chebyshev interpolant, accurate to 6.2e-11.
// The argument of the logarithm depends on the branch.
LT_INLINE Doubles log_gamma_short(Doubles x) {
  const Mask<double> up = x < 1.5, twice = x < 0.5, down = x >= 2.5, far = x >= 3.5;
  const Doubles above = select(twice, x + 1.0, x), below = select(down, x - 1.0, x);
  const Doubles one = 1.0,
                factor = select(up, select(twice, x * above, x), select(down, below, one));
  const Doubles l = vlog(select(far, x, factor)), d = select(up, above + 1.0, below) - 2.0;
  const Doubles near =
      d * poly(d, 0x1.b0ee6072093cep-2, 0x1.4a34cc4eac480p-2, -0x1.13e001ad433ddp-4,
               0x1.5132155e09a75p-6, -0x1.e404d4a1b2af2p-8, 0x1.7aec51918c322p-9,
               -0x1.38ba16b3c5394p-10, 0x1.091dc75bb4395p-11, -0x1.d01f28d52f22cp-13,
               0x1.e2458007cf618p-14, -0x1.b4e37f8fecb99p-15) +
      select(up, -l, l);
  if (!any(far)) return near;
  const Doubles inverse = 1.0 / x, half_log_tau = 0.91893853320467274178;
  const Doubles series = poly(inverse * inverse, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680,
                              1.0 / 1188, -691.0 / 360360, 1.0 / 156);
  return select(far, fma(x - 0.5, l, half_log_tau - x) + series * inverse, near);
}
LT_INLINE Floats vlgamma(Floats x) {
  return in_double(x, [](Doubles v) {
    const Mask<double> fit = between_poles(v), negative = v < 0.0;
    const Doubles m = select(fit, abs(v), Doubles(1.5));
    Doubles y = log_gamma_short(m);
    if (any(negative)) y = select(negative, vlog(kPi / (m * waves_of(m).sine.hi)) - y, y);
    return where_fit(fit, y, [&](int i) { return log_gamma(v[i]); });
  });
}
// log Gamma of positive doubles in double length, as log_gamma_positive has it.
LT_OUTLINE Two<double> log_gamma_long(Doubles x) {
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
  const Two<double> l = log_two(waves_of(m).sine * m);
  const Two<double> y = two_sum(Doubles(kLogPi.hi), -l.hi);
  return {y.hi, y.lo + (kLogPi.lo - l.lo)};
}
LT_INLINE Doubles vlgamma(Doubles x) {
  const Doubles m = abs(x);
  const Mask<double> negative = x < 0.0;
  const Mask<double> fit = between_poles(x);
  const Doubles some = select(fit, m, Doubles(1.5));
  const Two<double> above = log_gamma_long(some);
  Doubles y = above.hi + above.lo;
  if (any(negative)) {
    const Two<double> both = log_reflection(some), rest = two_sum(both.hi, -above.hi);
    y = select(negative, rest.hi + (rest.lo + (both.lo - above.lo)), y);
  }
  return where_fit(fit, y, [&](int i) { return log_gamma(x[i]); });
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
  return in_double(x, [](Doubles v) {
    const Mask<double> fit = between_poles(v), negative = v < 0.0;
    const Doubles some = select(fit, v, Doubles(1.0));
    Doubles y = digamma_short(select(negative, 1.0 - some, some));
    if (any(negative)) {
      const Waves w = waves_of(some);
      const Doubles wave = copysign(w.cosine.hi / w.sine.hi, some - round_even(some)) * kPi;
      y = select(negative, y - wave, y);
    }
    return where_fit(fit, y, [&](int i) { return digamma(v[i]); });
  });
}
// psi of numbers from 1 on: a table up to 10.
LT_INLINE Long digamma_above(Long x) {
  const Mask<double> far = x.hi >= 10.0;
  const Long near(digamma_fit(select(far, Long(2.0), x)));
  if (!any(far)) return near;
  const Doubles inverse = Doubles(1.0) / x.hi, z = inverse * inverse;
  const Doubles series =
      z * poly(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
  // 1/(2x), with the contribution of x.lo to the logarithm.
  const Doubles half = inverse * 0.5, half_lo = minus_product(Doubles(0.5), half, x.hi) * inverse;
  const Two<double> l = log_two(x), above = two_sum(l.hi, -half);
  return select(far, Long(fast_two_sum(above.hi, above.lo + (l.lo - half_lo - series))), near);
}
// psi by one step of the recurrence below 1, and the reflection (DLMF 5.5.4, 5.5.2) below 0.
LT_OUTLINE Doubles digamma_long(Doubles x) {
  const Mask<double> low = x < 1.0, negative = x < 0.0;
  const Long above = digamma_above(select(low, Long(two_sum(Doubles(1.0), abs(x))), Long(x)));
  if (!any(low)) return number(above);
  Long less = Long(1.0) / Long(x);
  if (any(negative)) {
    const Waves w = waves_of(x);
    const Long wave = Long(kPiPair) * (w.cosine / w.sine);
    const Mask<double> left = x < round_even(x);
    less = select(negative, select(left, -wave, wave), less);
  }
  return number(select(low, above - less, above));
}
LT_INLINE Doubles vdigamma(Doubles x) {
  const Mask<double> fit = between_poles(x);
  return where_fit(fit, digamma_long(select(fit, x, Doubles(1.0))),
                   [&](int i) { return digamma(x[i]); });
}

LT_VECTOR(Erf, verf(a))
LT_VECTOR(Erfc, verfc(a))
LT_VECTOR(Erfinv, verfinv(a))

LT_VECTOR(Lgamma, vlgamma(a))
LT_VECTOR(Digamma, vdigamma(a))
template <bool upper>
struct IncompleteGamma {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    vector_binary<T>(data, strides, n, [](Vec<T> a, Vec<T> b) {
      if constexpr (sizeof(T) == 4)
        return in_double(
            a, b, [](Doubles x, Doubles y) { return vincomplete_gamma<Doubles, upper>(x, y); });
      else
        return vincomplete_gamma<Long, upper>(a, b);
    });
  }
};
using Igamma = IncompleteGamma<false>;
using Igammac = IncompleteGamma<true>;
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

// psi', with PyTorch's result for negative float32 numbers.
LT_OUTLINE Doubles vtrigamma(Doubles x, bool reflected) {
  const Mask<double> fit = between_poles(x) & (x > (reflected ? -Format<double>::infinity : 0.0));
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
    const Pair constant = kLogPi * Pair(double(p) * double(p - 1) / 4);
    const auto scalar = [=](double a) {
      Pair sum = constant;
      for (int64_t i = 0; i < p; i++) {
        const Pair term = log_gamma_pair(a - 0.5 * double(i));
        if (!(__builtin_fabs(term.hi) < 0x1p1000)) return double(p - i) * term.hi;
        sum = sum + term;
      }
      return double(sum);
    };
    const auto f = [=](Doubles a) __attribute__((always_inline)) {
      const Mask<double> fit = (a - 0.5 * double(p - 1) > 0x1p-400) & (a < kMostStirling);
      const Doubles x = select(fit, a, Doubles(double(p)));
      Long sum = constant;
      for (int64_t i = 0; i < p; i++) sum = sum + Long(log_gamma_long(x - 0.5 * double(i)));
      return where_fit(fit, number(sum), [&](int i) { return scalar(a[i]); });
    };
    vector_unary<T>(data, strides, n, [&](Vec<T> a) {
      if constexpr (sizeof(T) == 4)
        return in_double(a, f);
      else
        return f(a);
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
