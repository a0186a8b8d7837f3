// Poisson, binomial and gamma numbers, each from as many uniform numbers as it takes: the elements
// of discrete.go, binomial.go and gamma.go of engine/random, where the methods have their sources.
#ifndef LIBTENSOR_CUDA_COUNTING_DRAWS_H
#define LIBTENSOR_CUDA_COUNTING_DRAWS_H

#include "philox.h"
#include "../../engine/random/cephes.h"
#include "../../engine/random/elementary.h"

namespace lt {
namespace {

// Uniform numbers of an element, which has a block for each round.
struct Rounds {
  Philox at;
  uint32_t words[4];
  int used = 4;
  LT_INLINE Rounds(uint64_t seed, uint64_t block) : at{seed, block, 0} {}
  LT_INLINE double next() {
    if (used == 4) {
      at.block_to(words);
      at.round++;
      used = 0;
    }
    const uint64_t word = uint64_t(words[used]) << 32 | words[used + 1];
    used += 2;
    return double(int64_t(word & 0x1fffffffffffff)) * 0x1p-53;
  }
};

inline double poisson_rejected(Rounds &r, double lambda) {
  const double b = 0.931 + 2.53 * ::sqrt(lambda), log_lambda = ::log(lambda);
  const double a = -0.059 + 0.02483 * b, inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double vr = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = r.next() - 0.5, v = r.next(), us = 0.5 - ::fabs(u);
    const double k = ::floor((2 * a / us + b) * u + lambda + 0.43);
    if (us >= 0.07 && v <= vr) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (::log(v) + ::log(inverse_alpha) - ::log(a / (us * us) + b) <=
        k * log_lambda - lambda - ::lgamma(k + 1))
      return k;
  }
}

inline double poisson_count(Rounds &r, double lambda) {
  if (lambda == 0 || lambda == INFINITY) return lambda;
  if (lambda >= 10) return poisson_rejected(r, lambda);
  const double limit = ::exp(-lambda);
  double count = 0;
  for (double product = r.next(); product > limit; count++) product *= r.next();
  return count;
}

inline double stirling_tail(double k) {
  const double tails[] = {0.08106146679532726,  0.0413406959554093,   0.02767792568499834,
                          0.020790672103765093, 0.016644691189821193, 0.013876128823070748,
                          0.01189670994589177,  0.010411265261972096, 0.009255462182712733,
                          0.00833056343336287};
  if (k < 10) return tails[int(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Binomial draws with parameters, and values derived from them alone, of type T.
template <class T>
struct Trials {
  Rounds &r;
  static LT_INLINE double rounded(double v) { return double(T(v)); }

  inline double rejected(double count, double p) {
    const double mean = rounded(count * p), q = rounded(1 - p);
    const double spread = rounded(::sqrt(rounded(mean * q)));
    const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
    const double squeeze = 0.92 - 4.2 / b, odds = rounded(p / q);
    const double alpha = (2.83 + 5.1 / b) * spread, mode = ::floor(rounded(rounded(count + 1) * p));
    for (;;) {
      const double u = r.next() - 0.5, v = r.next(), us = 0.5 - ::fabs(u);
      const double k = rounded(::floor((2 * a / us + b) * u + (mean + 0.5)));
      if (k < 0 || k > count) continue;
      if (us >= 0.07 && v <= squeeze) return k;
      const double more = rounded(k + 1), less = rounded(rounded(count - k) + 1);
      const double ratio = (mode + 0.5) * ::log((mode + 1) / (odds * (count - mode + 1))) +
                           rounded(count + 1) * ::log((count - mode + 1) / less) +
                           (k + 0.5) * ::log(odds * less / more) + stirling_tail(mode) +
                           stirling_tail(count - mode) - stirling_tail(k) -
                           stirling_tail(count - k);
      if (::log(v * alpha / (a / (us * us) + b)) <= ratio) return k;
    }
  }

  inline double rare(double count, double p) {
    if (rounded(count * p) >= 10) return rejected(count, p);
    const double scale = rounded(::log1p(-p));
    double done = 0, successes = 0;
    for (;; successes++) {
      done += ::ceil(::log(r.next()) / scale);
      if (done > count) return successes;
    }
  }

  inline double successes(double count, double p) {
    if (count != count || p != p) return NAN;
    if (count <= 0 || p <= 0) return 0;
    if (p >= 1 || count == INFINITY) return count;
    return p > 0.5 ? count - rare(count, rounded(1 - p)) : rare(count, p);
  }
};

// A gamma number of rate 1. Values derived from alpha alone are of type T.
template <class T>
LT_INLINE double gamma_number(Rounds &r, double alpha) {
  if (alpha == 0) return 0;
  double scale = 1;
  if (alpha < 1) {
    scale = ::pow(1 - r.next(), double(T(1 / alpha)));
    alpha = double(T(alpha + 1));
  }
  const double shift = double(T(alpha - 0x1.555556p-2)), c = 1 / ::sqrt(9 * shift);
  for (;;) {
    double x = 0, y = 0;
    while (y <= 0) {
      // Normal numbers are drawn in blocks of 8 radii and 8 angles, of which the first are used.
      double radius = 0, angle = 0;
      for (int i = 0; i < 16; i++) {
        const double u = r.next();
        radius = i == 0 ? u : radius, angle = i == 8 ? u : angle;
      }
      double s, cosine;
      sin_cos_turns(angle, &s, &cosine);
      x = ::sqrt(-2.0 * logarithm(1.0 - radius)) * cosine;
      y = 1 + c * x;
      if (y != y) return y;
    }
    const double v = y * y * y, u = 1 - r.next(), square = x * x;
    if (u < 1 - 0.0331 * square * square ||
        logarithm(u) < 0.5 * square + shift * (1 - v + logarithm(v)))
      return scale * shift * v;
  }
}

}  // namespace
}  // namespace lt
#endif
