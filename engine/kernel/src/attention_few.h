// Products of few rows with the rows of a matrix that is stored in a dtype S, and sums of such rows
// with weights: the matrix is read once, and converted in registers to the dtype that both are
// computed in.
#ifndef LIBTENSOR_KERNEL_SRC_ATTENTION_FEW_H
#define LIBTENSOR_KERNEL_SRC_ATTENTION_FEW_H

#include "dots.h"

namespace lt {
namespace {

// The dtype that values of S are computed in.
template <class S>
using Computed = typename StepsOf<S>::type::Left;

// So many rows are processed at once, with kFewSums sums in registers.
constexpr int kFewRows = LT_VECTOR_BYTES == 64 ? 4 : 2;
constexpr int kFewSums = LT_VECTOR_BYTES == 64 ? 16 : 8;

// The number of rows by which rows that are not adjacent are prefetched before their use.
constexpr int64_t kRowsAhead = 32;

template <class S>
LT_INLINE void prefetch_row(const S *row, int64_t n) {
  for (int64_t p = 0; p < n; p += 64 / sizeof(S)) __builtin_prefetch(row + p, 0, 2);
}

// x[i, j] = the sum over p < k of a[i, p] b[j, p], for I rows of a and J of b. Adjacent
// rows of b are multiplied with a single row of a one after the other, which reads them as one
// stream.
template <int I, int J, class S>
LT_INLINE void few_products_of(const Computed<S> *a, int64_t a_row, const S *b, int64_t b_row,
                               Computed<S> *x, int64_t x_row, int64_t k) {
  using T = Computed<S>;
  constexpr int N = Vec<T>::N;
  Vec<T> sums[I * J];
  for (int t = 0; t < I * J; t++) sums[t] = T(0);
  NextColumns next(b, J, b_row, k);
  const auto step = [&](int64_t p, auto... n) __attribute__((always_inline)) {
    next.template fetch<J * N * sizeof(S)>();
    Vec<T> u[I];
    for (int i = 0; i < I; i++) u[i] = along<Each<T>>(a + i * a_row + p, n...);
    for (int j = 0; j < J; j++) {
      const Vec<T> y = along<Each<T>>(b + j * b_row + p, n...);
      for (int i = 0; i < I; i++) sums[i * J + j] = fma(u[i], y, sums[i * J + j]);
    }
  };
  const auto add = [&](int j, int64_t p, auto... n) __attribute__((always_inline)) {
    sums[j] = fma(along<Each<T>>(a + p, n...), along<Each<T>>(b + j * b_row + p, n...), sums[j]);
  };
  const int64_t whole = k / N * N;
  if (I == 1 && b_row == k) {
    for (int j = 0; j < J; j++) {
      for (int64_t p = 0; p < whole; p += N) add(j, p);
      if (whole < k) add(j, whole, k - whole);
    }
  } else {
    for (int64_t p = 0; p < whole; p += N) step(p);
    if (whole < k) step(whole, k - whole);
  }
  add_lanes<I * J, N / 2>(sums);
  constexpr int kVectors = (I * J + N - 1) / N;
  T each[kVectors * N];
  for (int v = 0; v < kVectors; v++) store(each + v * N, sums[v]);
  for (int i = 0; i < I; i++) memcpy(x + i * x_row, each + i * J, J * sizeof(T));
}

// The same for I rows of a and w of b: the last J rows of b may overlap those before.
template <int I, class S>
__attribute__((noinline)) void few_products_of(const Computed<S> *a, int64_t a_row, const S *b,
                                               int64_t b_row, Computed<S> *x, int64_t x_row,
                                               int64_t w, int64_t k) {
  constexpr int J = I == 1 ? 4 : kFewSums / I;
  for (int64_t j = 0; w >= J && j < w; j += J) {
    const int64_t at = j < w - J ? j : w - J;
    few_products_of<I, J>(a, a_row, b + at * b_row, b_row, x + at, x_row, k);
  }
  for (int64_t j = 0; w < J && j < w; j++)
    few_products_of<I, 1>(a, a_row, b + j * b_row, b_row, x + j, x_row, k);
}

// x[i, j] = the sum over p < k of a[i, p] b[j, p], for m rows of a and w of b.
template <int I = kFewRows, class S>
void few_products(const Computed<S> *a, int64_t a_row, const S *b, int64_t b_row, Computed<S> *x,
                  int64_t x_row, int64_t m, int64_t w, int64_t k) {
  for (; m >= I; m -= I, a += I * a_row, x += I * x_row)
    few_products_of<I>(a, a_row, b, b_row, x, x_row, w, k);
  if constexpr (I > 1)
    if (m > 0) few_products<I / 2>(a, a_row, b, b_row, x, x_row, m, w, k);
}

// c[i, :] = the sum over j < w of x[i, j] v[j, :], with `more` added to c[i, :], for I rows and C
// vectors of columns, the last of which has n elements if those are passed. With
// `prefetches`, rows are prefetched.
template <int I, int C, class S, class... Part>
__attribute__((noinline)) void few_sums_of(const Computed<S> *x, int64_t x_row, const S *v,
                                           int64_t v_row, Computed<S> *c, int64_t c_row, int64_t w,
                                           bool prefetches, bool more, Part... n) {
  using T = Computed<S>;
  constexpr int N = Vec<T>::N;
  constexpr int U = kFewSums / 2 / (I * C) < 1 ? 1 : kFewSums / 2 / (I * C);  // rows of v at once
  Vec<T> sums[U][I * C];
  for (int u = 0; u < U; u++)
    for (int t = 0; t < I * C; t++) sums[u][t] = T(0);
  const auto add = [&](Vec<T> *sum, int64_t j) __attribute__((always_inline)) {
    Vec<T> y[C];
    for (int t = 0; t < C; t++) y[t] = along<Each<T>>(v + j * v_row + t * N, n...);
    for (int i = 0; i < I; i++) {
      const Vec<T> by = x[i * x_row + j];
      for (int t = 0; t < C; t++) sum[i * C + t] = fma(by, y[t], sum[i * C + t]);
    }
  };
  int64_t j = 0;
  for (; j + U <= w; j += U)
    for (int u = 0; u < U; u++) {
      if (prefetches) prefetch_row(v + (j + u + kRowsAhead) * v_row, C * N);
      add(sums[u], j + u);
    }
  for (; j < w; j++) add(sums[0], j);
  for (int h = U / 2; h > 0; h /= 2)
    for (int u = 0; u < h; u++)
      for (int t = 0; t < I * C; t++) sums[u][t] = sums[u][t] + sums[u + h][t];
  for (int i = 0; i < I; i++)
    for (int t = 0; t < C; t++) {
      T *to = c + i * c_row + t * N;
      const Vec<T> sum = sums[0][i * C + t];
      if constexpr (sizeof...(n) > 0)
        store_partial(to, more ? load_partial(to, int(n)...) + sum : sum, int(n)...);
      else
        store(to, more ? load(to) + sum : sum);
    }
}

// c[i, :] = the sum over j < w of x[i, j] v[j, :], with `more` added to c[i, :], for m rows and n
// columns.
template <int I = kFewRows, class S>
void few_sums(const Computed<S> *x, int64_t x_row, const S *v, int64_t v_row, Computed<S> *c,
              int64_t c_row, int64_t m, int64_t w, int64_t n, bool more) {
  constexpr int N = Vec<Computed<S>>::N, C = I == 1 ? 8 : 4;  // vectors of columns at once
  const bool prefetches = v_row != n;  // the CPU itself prefetches adjacent rows
  for (; m >= I; m -= I, x += I * x_row, c += I * c_row) {
    int64_t t = 0;
    for (; t + C * N <= n; t += C * N)
      few_sums_of<I, C>(x, x_row, v + t, v_row, c + t, c_row, w, prefetches, more);
    for (; t + 4 * N <= n; t += 4 * N)
      few_sums_of<I, 4>(x, x_row, v + t, v_row, c + t, c_row, w, prefetches, more);
    for (; t + N <= n; t += N)
      few_sums_of<I, 1>(x, x_row, v + t, v_row, c + t, c_row, w, prefetches, more);
    if (t < n) few_sums_of<I, 1>(x, x_row, v + t, v_row, c + t, c_row, w, prefetches, more, n - t);
  }
  if constexpr (I > 1)
    if (m > 0) few_sums<I / 2>(x, x_row, v, v_row, c, c_row, m, w, n, more);
}

}  // namespace
}  // namespace lt
#endif
