// Softmax, its logarithm, and logarithms of sums of exponentials, all relative to the largest
// element.
#include "../../scan.h"

#include "../chunks.h"
#include "../vmath_exp.h"
#include "../vmath_log.h"

namespace lt {
namespace {

enum SoftKind { kSoftmax, kLogSoftmax, kLogSumExp };

template <class T>
LT_INLINE T exp_of(T x) {
  return vexp(Vec<T>(x))[0];
}

// The largest of n adjacent elements; NaN wins.
template <class T>
T largest(const T *x, int64_t n) {
  T best = -INFINITY;
  bool nan = false;
  for (int64_t i = 0; i < n; i++) {
    best = x[i] > best ? x[i] : best;
    nan |= x[i] != x[i];
  }
  return nan ? T(NAN) : best;
}

// Writes e^(x - shift) where out is given and returns the sum, kept in short vector sums that are
// added in float64.
template <class T>
double exponentials(const T *x, int64_t n, T shift, T *out) {
  constexpr int N = Vec<T>::N;
  double total = 0;
  for (int64_t start = 0; start < n; start += 64 * N) {
    const int64_t end = n - start < 64 * N ? n : start + 64 * N;
    Vec<T> sum = T(0);
    int64_t i = start;
    for (; i + N <= end; i += N) {
      const Vec<T> e = vexp(load(x + i) - Vec<T>(shift));
      if (out) store(out + i, e);
      sum = sum + e;
    }
    for (int k = 0; k < N; k++) total += (double)sum[k];
    if (i < end) {
      const int k = (int)(end - i);
      const Vec<T> e = vexp(load_partial(x + i, k) - Vec<T>(shift));
      if (out) store_partial(out + i, e, k);
      for (int q = 0; q < k; q++) total += (double)e[q];
    }
  }
  return total;
}

template <SoftKind kKind, class T>
void soft_rows(const lt_scan *s) {
  const T *in = (const T *)s->in;
  T *out = (T *)s->out[0];
  for (int64_t o = 0; o < s->outer; o++, in += s->n) {
    const T top = largest(in, s->n);
    if constexpr (kKind == kLogSumExp) {
      out[o] =
          isinf(top) || s->n == 0 ? top : T(top + log(exponentials<T>(in, s->n, top, nullptr)));
    } else if constexpr (kKind == kSoftmax) {
      const T scale = T(1 / exponentials<T>(in, s->n, top, out));
      for (int64_t i = 0; i < s->n; i++) out[i] *= scale;
      out += s->n;
    } else {
      const T scale = T(log(exponentials<T>(in, s->n, top, nullptr)));
      for (int64_t i = 0; i < s->n; i++) out[i] = in[i] - top - scale;
      out += s->n;
    }
  }
}

// The same along a dimension that is not the last, for strips of neighbours.
template <SoftKind kKind, class T>
void soft_columns(const lt_scan *s) {
  constexpr int64_t W = 64;
  const int64_t step = s->inner;
  for (int64_t o = 0; o < s->outer; o++) {
    for (int64_t j = 0; j < s->width; j += W) {
      const int64_t w = s->width - j < W ? s->width - j : W;
      const T *in = (const T *)s->in + o * s->n * step + j;
      T *out = (T *)s->out[0] + o * s->n * step + j;
      T top[W], row[W];
      double sum[W];
      for (int64_t k = 0; k < W; k++) top[k] = -INFINITY, sum[k] = 0, row[k] = 0;
      for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = 0; k < w; k++) {
          const T x = in[i * step + k];
          top[k] = x > top[k] || x != x ? x : top[k];
        }
      for (int64_t i = 0; i < s->n; i++) {
        for (int64_t k = 0; k < w; k++) row[k] = in[i * step + k] - top[k];
        for (int64_t k = 0; k < w; k += Vec<T>::N) store(row + k, vexp(load(row + k)));
        for (int64_t k = 0; k < w; k++) sum[k] += (double)row[k];
        if (kKind == kSoftmax)
          for (int64_t k = 0; k < w; k++) out[i * step + k] = row[k];
      }
      for (int64_t k = 0; k < w; k++) row[k] = kKind == kSoftmax ? T(1 / sum[k]) : T(log(sum[k]));
      for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = 0; k < w; k++)
          out[i * step + k] =
              kKind == kSoftmax ? out[i * step + k] * row[k] : in[i * step + k] - top[k] - row[k];
    }
  }
}

template <SoftKind kKind>
struct Soft {
  template <class T>
  static void row(const lt_scan *s) {
    if (kKind == kLogSumExp || s->inner == 1)
      soft_rows<kKind, T>(s);
    else
      soft_columns<kKind, T>(s);
  }
};
using Softmax = Soft<kSoftmax>;
using LogSoftmax = Soft<kLogSoftmax>;
using LogSumExp = Soft<kLogSumExp>;

}  // namespace
}  // namespace lt

LT_UNIT(softmax){
    {"softmax", "", LT_FLOATING(Softmax)},
    {"log_softmax", "", LT_FLOATING(LogSoftmax)},
    {"logsumexp", "", LT_FLOATING(LogSumExp)},
    LT_END,
};
