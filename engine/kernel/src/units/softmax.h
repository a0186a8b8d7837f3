// Softmax, its logarithm, and logarithms of sums of exponentials, all relative to the largest
// element.
#include "../../scan.h"

#include "../chunks.h"
#include "../runs.h"
#include "../vmath_exp.h"
#include "../vmath_log.h"

namespace lt {
namespace {

enum SoftKind { kSoftmax, kLogSoftmax, kLogSumExp };

// The largest of n adjacent elements and of best; NaN wins.
template <class T>
T largest(const T *x, int64_t n, T best) {
  constexpr int N = Vec<T>::N;
  Vec<T> tops[2] = {best, best};
  auto bad = tops[0] != tops[0];
  int64_t i = 0;
  for (; i + 2 * N <= n; i += 2 * N)
    for (int k = 0; k < 2; k++) {
      const Vec<T> v = load(x + i + k * N);
      bad = bad | (v != v);
      tops[k] = max(v, tops[k]);
    }
  tops[0] = max(tops[0], tops[1]);
  for (int k = 0; k < N; k++) best = tops[0][k] > best ? tops[0][k] : best;
  bool nan = any(bad);
  for (; i < n; i++) {
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

// Rows of n elements, one after the other: their maximum, the sum of exponentials, the results.
// Exponentials are stored in out if it has their dtype, otherwise recomputed.
template <SoftKind kKind, class M>
void soft_rows(const lt_scan *s) {
  using T = Wider<M>;
  constexpr bool kKept = kKind == kSoftmax && __is_same(T, M);
  alignas(64) T from[kRun], to[kRun];
  const M *in = (const M *)s->in;
  M *out = (M *)s->out[0];
  for (int64_t o = 0; o < s->outer; o++, in += s->n) {
    T top = -INFINITY;
    for (int64_t i = 0; i < s->n; i += kRun) {
      const int64_t m = s->n - i < kRun ? s->n - i : kRun;
      top = largest<T>(read_run(in + i, m, from), m, top);
    }
    const bool again = s->n > kRun;  // from holds the last run only
    const auto run = [&](int64_t i, int64_t m) {
      return again || __is_same(T, M) ? read_run(in + i, m, from) : from;
    };
    double sum = 0;
    for (int64_t i = 0; i < s->n; i += kRun) {
      const int64_t m = s->n - i < kRun ? s->n - i : kRun;
      if constexpr (kKept)
        sum += exponentials<T>(run(i, m), m, top, out + i);
      else
        sum += exponentials<T>(run(i, m), m, top, nullptr);
    }
    if constexpr (kKind == kLogSumExp) {
      out[o] = isinf(top) || s->n == 0 ? top : T(top + log(sum));
      continue;
    }
    const T scale = kKind == kSoftmax ? T(1 / sum) : T(log(sum));
    for (int64_t i = 0; i < s->n; i += kRun) {
      const int64_t m = s->n - i < kRun ? s->n - i : kRun;
      const T *x;
      if constexpr (kKept) {
        x = out + i;
      } else {
        x = run(i, m);
        if (kKind == kSoftmax) {
          exponentials<T>(x, m, top, to);
          x = to;
        }
      }
      write_run<T>(out + i, m, to, [&](int64_t k) {
        return kKind == kSoftmax ? x[k] * scale : x[k] - top - scale;
      });
    }
    out += s->n;
  }
}

// The same along a dimension other than the last, for strips of adjacent positions.
template <SoftKind kKind, class M>
void soft_columns(const lt_scan *s) {
  using T = Wider<M>;
  constexpr bool kKept = kKind == kSoftmax && __is_same(T, M);
  constexpr int64_t W = 128;
  const int64_t step = s->inner;
  for (int64_t o = 0; o < s->outer; o++) {
    for (int64_t j = 0; j < s->width; j += W) {
      const int64_t w = s->width - j < W ? s->width - j : W;
      const M *in = (const M *)s->in + o * s->n * step + j;
      M *out = (M *)s->out[0] + o * s->n * step + j;
      alignas(64) T top[W], row[W], from[W];
      double sum[W];
      for (int64_t k = 0; k < W; k++) top[k] = -INFINITY, sum[k] = 0, row[k] = 0;
      for (int64_t i = 0; i < s->n; i++) {
        const T *x = read_run(in + i * step, w, from);
        for (int64_t k = 0; k < w; k++) top[k] = x[k] > top[k] || x[k] != x[k] ? x[k] : top[k];
      }
      const auto exponentiate = [&](int64_t i) {
        const T *x = read_run(in + i * step, w, from);
        for (int64_t k = 0; k < w; k++) row[k] = x[k] - top[k];
        for (int64_t k = 0; k < w; k += Vec<T>::N) store(row + k, vexp(load(row + k)));
      };
      for (int64_t i = 0; i < s->n; i++) {
        exponentiate(i);
        for (int64_t k = 0; k < w; k++) sum[k] += (double)row[k];
        if constexpr (kKept) memcpy(out + i * step, row, (size_t)w * sizeof(T));
      }
      T scale[W];
      for (int64_t k = 0; k < w; k++) scale[k] = kKind == kSoftmax ? T(1 / sum[k]) : T(log(sum[k]));
      for (int64_t i = 0; i < s->n; i++) {
        const T *x = row;
        if constexpr (kKept)
          x = out + i * step;
        else if constexpr (kKind == kSoftmax)
          exponentiate(i);
        else
          x = read_run(in + i * step, w, from);
        write_run<T>(out + i * step, w, row, [&](int64_t k) {
          return kKind == kSoftmax ? x[k] * scale[k] : x[k] - top[k] - scale[k];
        });
      }
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

// e^x of n elements.
template <class T>
LT_INLINE const T *exponentiated(const T *x, int64_t n, T *to) {
  constexpr int N = Vec<T>::N;
  int64_t i = 0;
  for (; i + N <= n; i += N) store(to + i, vexp(load(x + i)));
  if (i < n) store_partial(to + i, vexp(load_partial(x + i, (int)(n - i))), (int)(n - i));
  return to;
}

// Gradients from those given and the result y, whose sums over a row are taken first: y (given -
// sum of given y), of the logarithm given - e^y (sum of given).
template <bool kLog, class M>
void soft_gradient_rows(const lt_scan *s) {
  using T = Wider<M>;
  alignas(64) T from[kRun], passed[kRun], to[kRun];
  const M *in = (const M *)s->in, *with = (const M *)s->with;
  M *out = (M *)s->out[0];
  for (int64_t o = 0; o < s->outer; o++, in += s->n, with += s->n, out += s->n) {
    double sum = 0;
    for (int64_t i = 0; i < s->n; i += kRun) {
      const int64_t m = s->n - i < kRun ? s->n - i : kRun;
      const T *g = read_run(with + i, m, passed), *y = kLog ? g : read_run(in + i, m, from);
      sums_of<T, 1>(m, &sum, [=](int64_t k, int lanes, Vec<T> *sums) {
        const Vec<T> v = load_or(g + k, lanes, T(0));
        *sums = *sums + (kLog ? v : v * load_or(y + k, lanes, T(0)));
      });
    }
    const T total = T(sum);
    for (int64_t i = 0; i < s->n; i += kRun) {
      const int64_t m = s->n - i < kRun ? s->n - i : kRun;
      const T *y = read_run(in + i, m, from), *g = read_run(with + i, m, passed);
      if (kLog) y = exponentiated(y, m, to);
      write_run<T>(out + i, m, to,
                   [=](int64_t k) { return kLog ? g[k] - y[k] * total : y[k] * (g[k] - total); });
    }
  }
}

// The same along a dimension other than the last, for strips of adjacent positions.
template <bool kLog, class M>
void soft_gradient_columns(const lt_scan *s) {
  using T = Wider<M>;
  constexpr int64_t W = 128;
  for (int64_t o = 0; o < s->outer; o++) {
    for (int64_t j = 0; j < s->width; j += W) {
      const int64_t w = s->width - j < W ? s->width - j : W, first = o * s->n * s->inner + j;
      alignas(64) T from[W], passed[W], to[W], total[W];
      double sum[W] = {};
      for (int64_t i = 0; i < s->n; i++) {
        const int64_t at = first + i * s->inner;
        const T *g = read_run((const M *)s->with + at, w, passed);
        const T *y = kLog ? g : read_run((const M *)s->in + at, w, from);
        if (kLog)  // prefetch for the next loop, which reads distant addresses
          for (int64_t k = 0; k < w; k += 64 / (int64_t)sizeof(M)) soon((const M *)s->in + at + k);
        for (int64_t k = 0; k < w; k++) sum[k] += (double)(kLog ? g[k] : g[k] * y[k]);
      }
      for (int64_t k = 0; k < w; k++) total[k] = T(sum[k]);
      for (int64_t i = 0; i < s->n; i++) {
        const int64_t at = first + i * s->inner;
        const T *g = read_run((const M *)s->with + at, w, passed);
        const T *y = read_run((const M *)s->in + at, w, from);
        if (kLog) y = exponentiated(y, w, to);
        write_run<T>((M *)s->out[0] + at, w, to, [&](int64_t k) {
          return kLog ? g[k] - y[k] * total[k] : y[k] * (g[k] - total[k]);
        });
      }
    }
  }
}

template <bool kLog>
struct SoftGradient {
  template <class T>
  static void row(const lt_scan *s) {
    if (s->inner == 1)
      soft_gradient_rows<kLog, T>(s);
    else
      soft_gradient_columns<kLog, T>(s);
  }
};
using SoftmaxGradient = SoftGradient<false>;
using LogSoftmaxGradient = SoftGradient<true>;

}  // namespace
}  // namespace lt

LT_UNIT(softmax){
    {"softmax", "scan", LT_STORED_FLOATING(Softmax)},
    {"log_softmax", "scan", LT_STORED_FLOATING(LogSoftmax)},
    {"logsumexp", "scan", LT_FLOATING(LogSumExp)},
    {"softmax_gradient", "scan", LT_STORED_FLOATING(SoftmaxGradient)},
    {"log_softmax_gradient", "scan", LT_STORED_FLOATING(LogSoftmaxGradient)},
    LT_END,
};
