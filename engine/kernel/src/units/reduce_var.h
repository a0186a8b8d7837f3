// Variances: count, mean and squared deviations, joined by the update of Chan, Golub and LeVeque,
// "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
#include "../reduce.h"

namespace lt {
namespace {

struct Moments {
  double n, mean, m2;
};

LT_INLINE void join(Moments *into, double n, double mean, double m2) {
  const double total = into->n + n;
  if (n == 0) return;
  const double delta = mean - into->mean;
  into->mean += delta * (n / total);
  into->m2 += m2 + delta * (delta * (into->n * n / total));  // also where a square is infinite
  into->n = total;
}

// params[0] is the correction; params[1] selects the standard deviation.
template <class T>
struct Var {
  using Element = T;
  using Total = Moments;
  static constexpr uint8_t results[2] = {Traits<T>::number, Traits<T>::number};
  static constexpr bool ordered = false;
  static double fold(double a, double b) { return a + b; }
  static Total start() { return {0, 0, 0}; }

  static void inner(const T *x, int64_t n, int64_t, Total *t, const lt_reduction *) {
    constexpr int L = 32;
    constexpr int64_t kPart = 32 * L;
    for (; n >= L; x += kPart, n -= kPart) {
      const int64_t part = n < kPart ? n / L * L : kPart;
      double lane[L] = {0};
      for (int64_t b = 0; b < part; b += L)
        for (int k = 0; k < L; k++) lane[k] += (double)x[b + k];
      fold_lanes<Var, L / 2>(lane);
      const double mean = lane[0] / (double)part;
      for (int k = 0; k < L; k++) lane[k] = 0;
      for (int64_t b = 0; b < part; b += L)
        for (int k = 0; k < L; k++) {
          const double d = (double)x[b + k] - mean;
          lane[k] += d * d;
        }
      fold_lanes<Var, L / 2>(lane);
      join(t, (double)part, mean, lane[0]);
      if (part < kPart) {
        x += part;
        n -= part;
        break;
      }
    }
    if (n <= 0) return;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i];
    const double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    join(t, (double)n, mean, squares);
  }

  static void outer(const char *x, int64_t rows, int64_t stride, int64_t m, int64_t, Total *t,
                    const lt_reduction *) {
    constexpr int64_t kWidth = 128,
                      kRows = 64;  // a part stays in the fastest cache between its two passes
    for (; rows > 0; rows -= kRows, x += kRows * stride) {
      const int64_t part = rows < kRows ? rows : kRows;
      for (int64_t j = 0; j < m; j += kWidth) {
        const int64_t w = m - j < kWidth ? m - j : kWidth;
        double mean[kWidth] = {0}, squares[kWidth] = {0};
        for (int64_t i = 0; i < part; i++) {
          const T *row = (const T *)(x + i * stride) + j;
          for (int64_t k = 0; k < w; k++) mean[k] += (double)row[k];
        }
        for (int64_t k = 0; k < w; k++) mean[k] /= (double)part;
        for (int64_t i = 0; i < part; i++) {
          const T *row = (const T *)(x + i * stride) + j;
          for (int64_t k = 0; k < w; k++) {
            const double d = (double)row[k] - mean[k];
            squares[k] += d * d;
          }
        }
        for (int64_t k = 0; k < w; k++) join(t + j + k, (double)part, mean[k], squares[k]);
      }
    }
  }

  static void merge(Total *into, Total from) { join(into, from.n, from.mean, from.m2); }
  static void finish(Total t, const lt_reduction *r, void *const *out, int64_t i) {
    const double free = t.n - r->params[0];
    const double var = t.m2 / (free > 0 ? free : 0);
    ((T *)out[0])[i] = (T)(r->params[1] != 0 ? sqrt(var) : var);
    ((T *)out[1])[i] = (T)(t.n == 0 ? NAN : t.mean);
  }
};

// The variance of complex numbers is that of their parts together.
template <class C>
struct ComplexVar {
  using Element = C;
  using R = RealOf<C>;
  struct Total {
    double n, re, im, m2;
  };
  static constexpr uint8_t results[2] = {Traits<R>::number, Traits<C>::number};
  static constexpr bool ordered = false;
  static Total start() { return {0, 0, 0, 0}; }
  static void merge(Total *into, Total from) {
    const double total = into->n + from.n, re = from.re - into->re, im = from.im - into->im;
    if (from.n == 0) return;
    into->re += re * (from.n / total);
    into->im += im * (from.n / total);
    const double both = into->n * from.n / total;
    into->m2 += from.m2 + (re * (re * both) + im * (im * both));
    into->n = total;
  }
  // Elements that share a mean and a sum of squares, and the number of interleaved parts.
  static constexpr int kBlock = 256, kParts = 16;
  static Total block(const C *x) {
    const R *parts = (const R *)x;
    double sum[kParts] = {}, squares[kParts] = {}, mean[kParts];
    for (int i = 0; i < 2 * kBlock; i += kParts)
      for (int k = 0; k < kParts; k++) sum[k] += parts[i + k];
    for (int h = kParts / 2; h >= 2; h /= 2)
      for (int k = 0; k < h; k++) sum[k] += sum[k + h];
    for (int k = 0; k < kParts; k++) mean[k] = sum[k & 1] / kBlock;
    for (int i = 0; i < 2 * kBlock; i += kParts)
      for (int k = 0; k < kParts; k++) {
        const double d = parts[i + k] - mean[k];
        squares[k] += d * d;
      }
    for (int h = kParts / 2; h >= 1; h /= 2)
      for (int k = 0; k < h; k++) squares[k] += squares[k + h];
    return {kBlock, mean[0], mean[1], squares[0]};
  }
  static void inner(const C *x, int64_t n, int64_t, Total *t, const lt_reduction *) {
    for (; n >= kBlock; n -= kBlock, x += kBlock) merge(t, block(x));
    for (int64_t i = 0; i < n; i++) merge(t, {1, (double)x[i].re, (double)x[i].im, 0});
  }
  static void outer(const char *x, int64_t rows, int64_t stride, int64_t m, int64_t, Total *t,
                    const lt_reduction *) {
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < m; j++) {
        const C v = ((const C *)(x + i * stride))[j];
        merge(t + j, {1, (double)v.re, (double)v.im, 0});
      }
  }
  static void finish(Total t, const lt_reduction *r, void *const *out, int64_t i) {
    const double free = t.n - r->params[0];
    const double var = t.m2 / (free > 0 ? free : 0);
    ((R *)out[0])[i] = (R)(r->params[1] != 0 ? sqrt(var) : var);
    ((C *)out[1])[i] = t.n == 0 ? C((R)NAN, (R)NAN) : C((R)t.re, (R)t.im);
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(reduce_var){
    {"var",
     "reduce",
     {LT_NONE, LT_NO_INTEGERS, LT_NONE, LT_NONE, LT_REDUCER(Var, float), LT_REDUCER(Var, double),
      LT_REDUCER(ComplexVar, lt::Complex64), LT_REDUCER(ComplexVar, lt::Complex128)}},
    LT_END,
};
