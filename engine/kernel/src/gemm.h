// Matrix products of every dtype over any strides: panels of b are packed, four rows of a are
// multiplied at a time. Every element of c is summed in the order of k, whatever part of the matrix
// it lies in.
#ifndef LIBTENSOR_KERNEL_SRC_GEMM_H
#define LIBTENSOR_KERNEL_SRC_GEMM_H

#include "../gemm.h"
#include "rows.h"
#include "vec.h"

namespace lt {
namespace {

constexpr int64_t kDepth = 256;  // elements of k in one panel
constexpr int kRowsAtOnce = 4;

template <class T>
constexpr int kPanel = 2 * LT_VECTOR_BYTES / sizeof(T);  // columns in one panel

// acc[i][j] += a[i][p] * panel[p][j] for `rows` rows.
template <class T, int kRows>
LT_INLINE void tile(const T *const *a, int64_t step, const T *panel, int64_t depth,
                    T (*out)[kPanel<T>]) {
  constexpr int W = kPanel<T>;
  if constexpr (kind_of<T> != kComplex) {
    constexpr int N = Vec<T>::N;
    Vec<T> sums[kRows][2];
    for (int i = 0; i < kRows; i++) sums[i][0] = sums[i][1] = T(0);
    for (int64_t p = 0; p < depth; p++) {
      const Vec<T> low = load(panel + p * W), high = load(panel + p * W + N);
      for (int i = 0; i < kRows; i++) {
        const Vec<T> x = a[i][p * step];
        sums[i][0] = sums[i][0] + x * low;
        sums[i][1] = sums[i][1] + x * high;
      }
    }
    for (int i = 0; i < kRows; i++)
      for (int v = 0; v < 2; v++) store(out[i] + v * N, sums[i][v]);
    return;
  }
  T acc[kRows][W];
  for (int i = 0; i < kRows; i++)
    for (int j = 0; j < W; j++) acc[i][j] = T(0);
  for (int64_t p = 0; p < depth; p++) {
    for (int i = 0; i < kRows; i++) {
      const T x = a[i][p * step];
      for (int j = 0; j < W; j++) acc[i][j] = T(acc[i][j] + T(x * panel[p * W + j]));
    }
  }
  for (int i = 0; i < kRows; i++)
    for (int j = 0; j < W; j++) out[i][j] = acc[i][j];
}

struct Gemm {
  template <class T>
  static void row(const lt_gemm *g) {
    constexpr int W = kPanel<T>;
    alignas(64) T panel[kDepth * W];
    T alpha, beta;
    memcpy(&alpha, g->alpha, sizeof(T));
    memcpy(&beta, g->beta, sizeof(T));
    for (int64_t s = 0; s < g->batch; s++) {
      const T *a = (const T *)g->a + s * g->a_batch, *b = (const T *)g->b + s * g->b_batch;
      T *c = (T *)g->c + s * g->c_batch;
      for (int64_t j = 0; j < g->n; j += W) {
        const int64_t w = g->n - j < W ? g->n - j : W;
        for (int64_t p = 0; p < g->k || p == 0; p += kDepth) {
          const int64_t depth = g->k - p < kDepth ? g->k - p : kDepth;
          for (int64_t q = 0; q < depth; q++) {
            const T *from = b + (p + q) * g->b_row + j * g->b_col;
            for (int64_t k = 0; k < w; k++) panel[q * W + k] = from[k * g->b_col];
            for (int64_t k = w; k < W; k++) panel[q * W + k] = T(0);
          }
          for (int64_t i = 0; i < g->m; i += kRowsAtOnce) {
            const int64_t rows = g->m - i < kRowsAtOnce ? g->m - i : kRowsAtOnce;
            const T *at[kRowsAtOnce];
            for (int r = 0; r < kRowsAtOnce; r++)
              at[r] = a + (i + (r < rows ? r : 0)) * g->a_row + p * g->a_col;
            T out[kRowsAtOnce][W];
            if (rows > 1) {
              tile<T, kRowsAtOnce>(at, g->a_col, panel, depth, out);
            } else {
              tile<T, 1>(at, g->a_col, panel, depth, out);
            }
            for (int64_t r = 0; r < rows; r++) {
              T *to = c + (i + r) * g->c_row + j * g->c_col;
              for (int64_t k = 0; k < w; k++) {
                T *e = to + k * g->c_col;
                const T v = alpha == T(1) ? out[r][k] : T(alpha * out[r][k]);
                *e = p > 0 ? T(*e + v) : beta == T(0) ? v : T(v + T(beta * *e));
              }
            }
          }
        }
      }
    }
  }
};

template <class T>
struct DotTotal {
  using type = T;
};
template <>
struct DotTotal<float> {
  using type = double;
};
template <>
struct DotTotal<Complex64> {
  using type = Complex128;
};

// One total for n elements. Lanes of float32 stay short before they are added to the float64 total.
struct Dot {
  template <class T>
  static T product(T x, T y, bool conjugate) {
    if constexpr (kind_of<T> == kComplex) {
      if (conjugate) x.im = -x.im;
    }
    return T(x * y);
  }
  template <class T>
  static void row(const lt_dot *d) {
    using Total = typename DotTotal<T>::type;
    constexpr int L = 256 / sizeof(T);
    const T *a = (const T *)d->a, *b = (const T *)d->b;
    const bool conjugate = d->conjugate;
    Total t(0);
    int64_t i = 0;
    if (d->a_step == 1 && d->b_step == 1) {
      while (i + L <= d->n) {
        int64_t blocks = (d->n - i) / L;
        if (blocks > 64) blocks = 64;
        T lane[L];
        for (int k = 0; k < L; k++) lane[k] = product(a[i + k], b[i + k], conjugate);
        for (int64_t s = 1; s < blocks; s++)
          for (int k = 0; k < L; k++)
            lane[k] = T(lane[k] + product(a[i + s * L + k], b[i + s * L + k], conjugate));
        for (int h = L / 2; h > 0; h /= 2)
          for (int k = 0; k < h; k++) lane[k] = T(lane[k] + lane[k + h]);
        t = Total(t + widen_total<Total>(lane[0]));
        i += blocks * L;
      }
    }
    for (; i < d->n; i++)
      t = Total(t + widen_total<Total>(product(a[i * d->a_step], b[i * d->b_step], conjugate)));
    memcpy((void *)d->out, &t, sizeof(t));
  }
  template <class Total, class T>
  static Total widen_total(T v) {
    if constexpr (kind_of<T> == kComplex)
      return Total(v.re, v.im);
    else
      return Total(v);
  }
};

}  // namespace
}  // namespace lt
#endif
