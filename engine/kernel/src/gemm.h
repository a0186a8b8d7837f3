// Matrix products of every dtype over any strides: panels of b are packed, and a few rows of a at a
// time are multiplied with a panel in registers. Every element of c is summed in the order of k,
// whatever part of the matrix it lies in.
#ifndef LIBTENSOR_KERNEL_SRC_GEMM_H
#define LIBTENSOR_KERNEL_SRC_GEMM_H

#include "../gemm.h"
#include "gemm_panel.h"
#include "rows.h"

namespace lt {
namespace {

constexpr int64_t kRowBlock = 256;  // rows that share a packed panel

// Rows whose sums fill the registers.
template <class Unit>
constexpr int kTileRows = kind_of<Unit> == kComplex ? 4
                          : LT_VECTOR_BYTES == 64   ? 8
                          : LT_VECTOR_BYTES == 32   ? 6
                                                    : 4;

template <class F, int... I>
LT_INLINE void unrolled_over(F &&f, std::integer_sequence<int, I...>) {
  (f(I), ...);
}

// f(0) to f(n-1).
template <int n, class F>
LT_INLINE void unrolled(F &&f) {
  unrolled_over(f, std::make_integer_sequence<int, n>());
}

// Where the products of one part of k go: the first part sets sums, the others add to them, and the
// last one writes c.
template <class P, class T>
struct Target {
  using Sum = typename P::Sum;
  static constexpr int W = kPanel<typename P::Unit>;
  const lt_gemm *g;
  Sum alpha, beta;
  Sum *sums;  // W for each row
  T *c;
  int64_t w;  // columns of c
  bool first, last;

  Target below(int64_t rows) const {
    Target t = *this;
    t.sums += rows * W;
    t.c += rows * g->c_row;
    return t;
  }
  // Whether sums are elements of c, in whole vectors.
  bool direct() const {
    return last && alpha == Sum(1) && beta == Sum(0) && g->c_col == 1 && w == W;
  }
  void finish_rows(int rows) const {
    for (int i = 0; i < rows; i++) finish(sums + i * W, alpha, beta, c + i * g->c_row, g->c_col, w);
  }
};

// The products of kRows rows of a and depth rows of b, of which the first kVectors vectors count.
template <class P, int kRows, int kVectors, class T, class Source>
void tile(const typename P::Left *a, int64_t row, int64_t col, Source b, int64_t depth,
          const Target<P, T> &to) {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  constexpr int W = kPanel<Unit>;
  if constexpr (kind_of<Unit> == kComplex) {
    Sum acc[kRows][W];
    for (int i = 0; i < kRows; i++)
      for (int j = 0; j < W; j++) acc[i][j] = Sum(0);
    for (int64_t p = 0; p < depth; p++, b.next()) {
      for (int i = 0; i < kRows; i++) {
        const Unit x = a[i * row + p * col];
        for (int j = 0; j < W; j++) acc[i][j] = acc[i][j] + x * b.at[j];
      }
    }
    for (int i = 0; i < kRows; i++)
      for (int j = 0; j < W; j++)
        to.sums[i * W + j] = to.first ? acc[i][j] : to.sums[i * W + j] + acc[i][j];
  } else {
    Vec<Sum> acc[kRows][kVectors];
    const auto each = [&](auto &&f) __attribute__((always_inline)) {
      unrolled<kRows * kVectors>([&](int t) __attribute__((always_inline)) {
        f(t / kVectors, t % kVectors, acc[t / kVectors][t % kVectors]);
      });
    };
    each([](int, int, Vec<Sum> &x) __attribute__((always_inline)) { x = Sum(0); });
    const auto step = [&](bool half) __attribute__((always_inline)) {
      Vec<Unit> y[kVectors];
      for (int v = 0; v < kVectors; v++) y[v] = b.units(v, half);
      for (int i = 0; i < kRows; i++) {
        const Vec<Unit> x = unit_at<P>(a + i * row, half);
        for (int v = 0; v < kVectors; v++) acc[i][v] = P::add(acc[i][v], x, y[v]);
      }
      b.next();
      a += P::kSteps * col;
    };
    for (int64_t p = 0; p + P::kSteps <= depth; p += P::kSteps) step(false);
    if (depth % P::kSteps != 0) step(true);
    constexpr int N = Vec<Sum>::N;
    Sum *const sums = to.sums;
    if (!to.first)
      each([&](int i, int v, Vec<Sum> &x)
               __attribute__((always_inline)) { x = load(sums + i * W + v * N) + x; });
    if constexpr (__is_same(Sum, T)) {
      T *const c = to.c;
      const int64_t c_row = to.g->c_row;
      if (to.direct())
        return each([&](int i, int v, Vec<Sum> &x)
                        __attribute__((always_inline)) { store(c + i * c_row + v * N, x); });
    }
    each([&](int i, int v, Vec<Sum> &x)
             __attribute__((always_inline)) { store(sums + i * W + v * N, x); });
  }
  if (to.last) to.finish_rows(kRows);
}

// tile for any number of rows.
template <class P, int kRows, int kVectors, class T, class Source>
void tiles(const typename P::Left *a, int64_t row, int64_t col, Source b, int64_t depth,
           Target<P, T> to, int64_t rows) {
  for (; rows >= kRows; rows -= kRows, a += kRows * row, to = to.below(kRows))
    tile<P, kRows, kVectors>(a, row, col, b, depth, to);
  if constexpr (kRows > 1) {
    if (rows > 0) tiles<P, kRows / 2, kVectors>(a, row, col, b, depth, to, rows);
  }
}

template <class P, class T>
void multiply(const lt_gemm *g) {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  constexpr int W = kPanel<Unit>, R = kTileRows<Unit>;
  constexpr int64_t step = kUnits * P::kSteps;
  alignas(64) Unit panel[kUnits * W];
  alignas(64) Sum sums[kRowBlock * W];
  const Sum alpha = factor<Sum, T>(g->alpha), beta = factor<Sum, T>(g->beta);
  const int64_t most = g->m < kRowBlock ? g->m : kRowBlock;
  const int64_t strip = most > 0 ? kRowBlock / most * W : W;  // columns with room for their sums
  // k is cut into parts of one size.
  const int64_t parts = g->k > 0 ? (g->k + step - 1) / step : 1;
  const int64_t part = (g->k + parts * P::kSteps - 1) / (parts * P::kSteps) * P::kSteps;
  for (int64_t s = 0; s < g->batch; s++) {
    for (int64_t i = 0; i < g->m; i += most) {
      const int64_t rows = g->m - i < most ? g->m - i : most;
      for (int64_t left = 0; left < g->n; left += strip) {
        const int64_t right = g->n - left < strip ? g->n : left + strip;
        for (int64_t p = 0, k = 0; k < parts; k++, p += part) {
          const int64_t depth = g->k - p < part ? g->k - p : part;
          const auto *a =
              (const typename P::Left *)g->a + s * g->a_batch + i * g->a_row + p * g->a_col;
          for (int64_t j = left; j < right; j += W) {
            const T *b = (const T *)g->b + s * g->b_batch + p * g->b_row + j * g->b_col;
            const int64_t w = right - j < W ? right - j : W;
            Target<P, T> to{g,
                            alpha,
                            beta,
                            sums + (j - left) * rows,
                            (T *)g->c + s * g->c_batch + i * g->c_row + j * g->c_col,
                            w,
                            k == 0,
                            k == parts - 1};
            if constexpr (kind_of<Unit> == kComplex) {
              pack<P>(b, g->b_row, g->b_col, depth, w, panel);
              tiles<P, R, 2>(a, g->a_row, g->a_col, Packed<P>{panel}, depth, to, rows);
            } else if (g->b_col == 1 && w == W && rows <= R) {
              tiles<P, R, 2>(a, g->a_row, g->a_col, InPlace<P, T>{b, g->b_row}, depth, to, rows);
            } else if (g->b_col == 1 && w == W) {
              tile<P, R, 2>(a, g->a_row, g->a_col, Packing<P, T>{{b, g->b_row}, panel}, depth, to);
              tiles<P, R, 2>(a + R * g->a_row, g->a_row, g->a_col, Packed<P>{panel}, depth,
                             to.below(R), rows - R);
            } else {
              pack<P>(b, g->b_row, g->b_col, depth, w, panel);
              if (w <= W / 2)
                tiles<P, R, 1>(a, g->a_row, g->a_col, Packed<P>{panel}, depth, to, rows);
              else
                tiles<P, R, 2>(a, g->a_row, g->a_col, Packed<P>{panel}, depth, to, rows);
            }
          }
        }
      }
    }
  }
}

struct Gemm {
  template <class T>
  static void row(const lt_gemm *g) {
    multiply<typename StepsOf<T>::type, T>(g);
  }
};

}  // namespace
}  // namespace lt
#endif
