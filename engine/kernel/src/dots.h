// Products that sum along contiguous memory: of matrices that are contiguous along k, and of two
// vectors.
#ifndef LIBTENSOR_KERNEL_SRC_DOTS_H
#define LIBTENSOR_KERNEL_SRC_DOTS_H

#include "../gemm.h"
#include "gemm_steps.h"
#include "rows.h"

namespace lt {
namespace {

// The n values at p, fewer than a vector holds, and zeros.
template <class P, class T>
LT_INLINE Vec<typename P::Unit> along(const T *p, int64_t n) {
  T values[Vec<typename P::Unit>::N * P::kSteps];
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const uint64_t bytes = (uint64_t(1) << (uint64_t(n) * sizeof(T))) - 1;
  if constexpr (sizeof(values) == 64)
    _mm512_storeu_si512(values, _mm512_maskz_loadu_epi8(bytes, p));
  else
    _mm256_storeu_si256((__m256i *)values, _mm256_maskz_loadu_epi8(__mmask32(bytes), p));
#else
  memset((void *)values, 0, sizeof values);
  memcpy((void *)values, p, size_t(n) * sizeof(T));
#endif
  return along<P>(values);
}

// The lanes of a and b, in groups of 2h, with the halves of each group added to each other.
template <int h, class T, size_t... I>
LT_INLINE Vec<T> halves_added(Vec<T> a, Vec<T> b, std::index_sequence<I...>) {
  constexpr int N = Vec<T>::N, M = N / 2;
  const Vec<T> low =
      __builtin_shufflevector(a.v, b.v, int(I % M / h * 2 * h + I % h + I / M * N)...);
  const Vec<T> high =
      __builtin_shufflevector(a.v, b.v, int(I % M / h * 2 * h + I % h + I / M * N + h)...);
  return low + high;
}

// The horizontal sums of n vectors, from v on; h is 1 or half the remaining lanes of each.
template <int n, int h, class T>
LT_INLINE void add_lanes(Vec<T> *v) {
  constexpr int left = (n + 1) / 2;
  for (int i = 0; i < left; i++)
    v[i] = halves_added<h>(v[2 * i], v[2 * i + 1 < n ? 2 * i + 1 : 2 * i],
                           std::make_index_sequence<Vec<T>::N>());
  if constexpr (h > 1) add_lanes<left, h / 2>(v);
}

// Where a part of a product finds its operands.
template <class P, class T>
struct Part {
  const typename P::Left *a;
  const T *b, *d;
  T *c;
  LT_INLINE Part row(const lt_gemm *g, int64_t i) const {
    return {a + i * g->a_row, b, d + i * g->d_row, c + i * g->c_row};
  }
  LT_INLINE Part column(const lt_gemm *g, int64_t j) const {
    return {a, b + j * g->b_col, d + j * g->d_col, c + j * g->c_col};
  }
};

// finish, in one place for all numbers of rows.
template <class Sum, class T>
__attribute__((noinline)) void finish_dots(Sum *sums, const lt_gemm *g, const T *d, T *c,
                                           int64_t w) {
  finish(sums, factor<Sum, T>(g->alpha), factor<Sum, T>(g->beta), d, g->d_col, c, g->c_col, w);
}

// So many columns are multiplied with all rows before the next.
constexpr int kDotColumns = LT_VECTOR_BYTES / 8 < 4 ? 4 : LT_VECTOR_BYTES / 8;

// The columns to prefetch while others are multiplied: the next ones, or those kFar bytes further
// on, to hide the latency of memory. They are fetched into the L2 cache in the order of their
// addresses: as one stream they arrive up to twice as fast as many columns at a time.
struct NextColumns {
  static constexpr uint32_t kFar = 8192;
  const char *at, *end;
  int64_t column, gap;

  // Each column has k elements, and the next one begins `step` elements later.
  template <class T>
  LT_INLINE NextColumns(const T *present, int64_t columns, int64_t step, int64_t k)
      : column(step * int64_t(sizeof(T))), gap((step - k) * int64_t(sizeof(T))) {
    const int64_t bytes = k * int64_t(sizeof(T));
    if (bytes > 0 && columns * bytes < kFar) columns = kFar / uint32_t(bytes);
    at = (const char *)(present + columns * step);
    end = gap == 0 ? (const char *)UINTPTR_MAX : at + bytes;
  }
  template <int64_t kBytes>
  LT_INLINE void fetch() {
    constexpr int64_t kLines = kBytes < 64 ? 1 : kBytes / 64;
    for (int64_t i = 0; i < kLines; i++, at += 64) __builtin_prefetch(at, 0, 2);
    if (at >= end) at += gap, end += column;
  }
};

// c = alpha * a b + beta * d for I rows of a and J columns of b. With the first rows, the next J
// columns are prefetched.
template <class P, int I, int J, class T>
void dots(const lt_gemm *g, const Part<P, T> &part, bool first) {
  using Sum = typename P::Sum;
  constexpr int N = Vec<Sum>::N;
  constexpr int64_t kWhole = N * P::kSteps;
  Vec<Sum> sums[I * J];
  for (int t = 0; t < I * J; t++) sums[t] = Sum(0);
  NextColumns next(part.b, J, g->b_col, g->k);
  const auto step = [&](int64_t p, auto... n) __attribute__((always_inline)) {
    Vec<typename P::Unit> y[J];
    for (int j = 0; j < J; j++) y[j] = along<P>(part.b + j * g->b_col + p, n...);
    if (first) next.template fetch<J * kWhole * sizeof(T)>();
    for (int i = 0; i < I; i++) {
      const auto x = along<P>(part.a + i * g->a_row + p, n...);
      for (int j = 0; j < J; j++) sums[i * J + j] = P::add(sums[i * J + j], x, y[j]);
    }
  };
  int64_t p = 0;
  for (; p + kWhole <= g->k; p += kWhole) step(p);
  if (p < g->k) step(p, g->k - p);
  add_lanes<I * J, N / 2>(sums);
  constexpr int kVectors = (I * J + N - 1) / N;
  Sum each[kVectors * N];
  for (int v = 0; v < kVectors; v++) store(each + v * N, sums[v]);
  for (int i = 0; i < I; i++) {
    const Part<P, T> to = part.row(g, i);
    finish_dots(each + i * J, g, to.d, to.c, J);
  }
}

// Dot products of several columns, J at a time and then one by one, and of any number of rows.
template <class P, int I, int J, class T>
void dots_of(const lt_gemm *g, Part<P, T> part, int64_t rows, int64_t columns) {
  for (; columns >= J; columns -= J, part = part.column(g, J)) {
    Part<P, T> down = part;
    for (int64_t i = rows; i >= I; i -= I, down = down.row(g, I)) dots<P, I, J>(g, down, i == rows);
  }
  if constexpr (J > 1) {
    if (columns > 0) dots_of<P, I, 1>(g, part, rows, columns);
  }
}

// Processes I rows at a time, and the remaining ones in halves. A single row has sums for more
// columns, but not for so many that columns at a distance of a power of two would map to the same
// few cache lines.
template <class P, int I, class T>
void dots_of_rows(const lt_gemm *g, const Part<P, T> &part, int64_t rows, int64_t columns) {
  dots_of<P, I, I == 1 ? kDotColumns : 4>(g, part, rows, columns);
  if constexpr (I > 1) {
    if (rows % I > 0) dots_of_rows<P, I / 2>(g, part.row(g, rows / I * I), rows % I, columns);
  }
}

template <class P, class T>
void multiply_dots(const lt_gemm *g) {
  constexpr int I = LT_VECTOR_BYTES == 64 ? 4 : 2;
  for (int64_t s = 0; s < g->batch; s++) {
    Part<P, T> part{(const typename P::Left *)g->a + s * g->a_batch,
                    (const T *)g->b + s * g->b_batch, (const T *)g->d + s * g->d_batch,
                    (T *)g->c + s * g->c_batch};
    for (int64_t columns = g->n; columns > 0; columns -= kDotColumns) {
      dots_of_rows<P, I>(g, part, g->m, columns < kDotColumns ? columns : kDotColumns);
      part = part.column(g, kDotColumns);
    }
  }
}

struct GemmDots {
  template <class T>
  static void row(const lt_gemm *g) {
    multiply_dots<typename StepsOf<T>::type, T>(g);
  }
};

// The dtype that products of T are made in, and the one that they are summed in.
template <class T>
struct DotOf {
  using Product = T;
  using Total = T;
};
template <>
struct DotOf<float> {
  using Product = float;
  using Total = double;
};
template <>
struct DotOf<Float16> : DotOf<float> {};
template <>
struct DotOf<BFloat16> : DotOf<float> {};
template <>
struct DotOf<Complex64> {
  using Product = Complex64;
  using Total = Complex128;
};

// One total for n elements. Partial sums of float32 have few terms before they are added to the
// float64 total.
struct Dot {
  template <class T>
  static LT_INLINE T product(T x, T y, bool conjugate) {
    if constexpr (kind_of<T> == kComplex) {
      if (conjugate) x.im = -x.im;
    }
    return T(x * y);
  }
  template <class T>
  static void row(const lt_dot *d) {
    using Product = typename DotOf<T>::Product;
    using Total = typename DotOf<T>::Total;
    constexpr int L = 256 / sizeof(Product);
    const T *a = (const T *)d->a, *b = (const T *)d->b;
    const bool conjugate = d->conjugate;
    Total t(0);
    int64_t i = 0;
    if (d->a_step == 1 && d->b_step == 1) {
      while (i + L <= d->n) {
        int64_t blocks = (d->n - i) / L;
        if (blocks > 64) blocks = 64;
        Product lane[L];
        if constexpr (__is_same(T, Product) && kind_of<T> == kFloating) {
          constexpr int N = Vec<T>::N;
          Vec<T> sums[L / N];
          for (Vec<T> &sum : sums) sum = T(0);
          for (int64_t s = 0; s < blocks; s++, i += L)
            for (int k = 0; k < L / N; k++)
              sums[k] = sums[k] + load(a + i + k * N) * load(b + i + k * N);
          for (int k = 0; k < L / N; k++) store(lane + k * N, sums[k]);
        } else {
          for (int k = 0; k < L; k++) lane[k] = Product(0);
          for (int64_t s = 0; s < blocks; s++, i += L) {
            Product x[L], y[L];
            cast_row<T, Product>((const char *)(a + i), sizeof(T), (char *)x, sizeof(Product), L);
            cast_row<T, Product>((const char *)(b + i), sizeof(T), (char *)y, sizeof(Product), L);
            for (int k = 0; k < L; k++) lane[k] = Product(lane[k] + product(x[k], y[k], conjugate));
          }
        }
        for (int h = L / 2; h > 0; h /= 2)
          for (int k = 0; k < h; k++) lane[k] = Product(lane[k] + lane[k + h]);
        t = Total(t + convert<Total>(lane[0]));
      }
    }
    for (; i < d->n; i++)
      t = Total(t + convert<Total>(product(convert<Product>(a[i * d->a_step]),
                                           convert<Product>(b[i * d->b_step]), conjugate)));
    memcpy((void *)d->out, &t, sizeof(t));
  }
};

}  // namespace
}  // namespace lt
#endif
