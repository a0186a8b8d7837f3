// Products that sum along memory: those of matrices whose rows and columns lie along k, and that of
// two vectors.
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
  T values[Vec<typename P::Unit>::N * P::kSteps] = {};
  memcpy(values, p, size_t(n) * sizeof(T));
  return along<P>(values);
}

// c = alpha * a b + beta * c for I rows of a and J columns of b.
template <class P, int I, int J, class T>
void dots(const lt_gemm *g, const typename P::Left *a, const T *b, T *c) {
  using Sum = typename P::Sum;
  constexpr int N = Vec<Sum>::N;
  constexpr int64_t kWhole = N * P::kSteps;
  Vec<Sum> sums[I][J];
  for (int i = 0; i < I; i++)
    for (int j = 0; j < J; j++) sums[i][j] = Sum(0);
  const auto step = [&](int64_t p, auto... n) __attribute__((always_inline)) {
    Vec<typename P::Unit> y[J];
    for (int j = 0; j < J; j++) y[j] = along<P>(b + j * g->b_col + p, n...);
    for (int i = 0; i < I; i++) {
      const auto x = along<P>(a + i * g->a_row + p, n...);
      for (int j = 0; j < J; j++) sums[i][j] = P::add(sums[i][j], x, y[j]);
    }
  };
  int64_t p = 0;
  for (; p + kWhole <= g->k; p += kWhole) step(p);
  if (p < g->k) step(p, g->k - p);
  const Sum alpha = factor<Sum, T>(g->alpha), beta = factor<Sum, T>(g->beta);
  for (int i = 0; i < I; i++) {
    for (int j = 0; j < J; j++) {
      Sum lanes[N];
      store(lanes, sums[i][j]);
      for (int h = N / 2; h > 0; h /= 2)
        for (int l = 0; l < h; l++) lanes[l] = lanes[l] + lanes[l + h];
      finish(lanes, alpha, beta, c + i * g->c_row + j * g->c_col, 1, 1);
    }
  }
}

// dots of J columns and any number of rows.
template <class P, int I, int J, class T>
void dots_of_rows(const lt_gemm *g, const typename P::Left *a, const T *b, T *c, int64_t rows) {
  for (; rows >= I; rows -= I, a += I * g->a_row, c += I * g->c_row) dots<P, I, J>(g, a, b, c);
  if constexpr (I > 1) {
    if (rows > 0) dots_of_rows<P, I / 2, J>(g, a, b, c, rows);
  }
}

template <class P, class T>
void multiply_dots(const lt_gemm *g) {
  constexpr int I = LT_VECTOR_BYTES == 64 ? 4 : 2;
  for (int64_t s = 0; s < g->batch; s++) {
    const auto *a = (const typename P::Left *)g->a + s * g->a_batch;
    const T *b = (const T *)g->b + s * g->b_batch;
    T *c = (T *)g->c + s * g->c_batch;
    int64_t j = 0;
    for (; j + 4 <= g->n; j += 4)
      dots_of_rows<P, I, 4>(g, a, b + j * g->b_col, c + j * g->c_col, g->m);
    for (; j < g->n; j++) dots_of_rows<P, I, 1>(g, a, b + j * g->b_col, c + j * g->c_col, g->m);
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

// One total for n elements. Lanes of float32 stay short before they are added to the float64 total.
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
        for (int k = 0; k < L; k++) lane[k] = Product(0);
        for (int64_t s = 0; s < blocks; s++, i += L) {
          Product x[L], y[L];
          cast_row<T, Product>((const char *)(a + i), sizeof(T), (char *)x, sizeof(Product), L);
          cast_row<T, Product>((const char *)(b + i), sizeof(T), (char *)y, sizeof(Product), L);
          for (int k = 0; k < L; k++) lane[k] = Product(lane[k] + product(x[k], y[k], conjugate));
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
