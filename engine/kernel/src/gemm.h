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

// Sets or adds to sums, of kRows rows and a panel's columns, the products of rows of a and depth
// rows of b.
template <class P, int kRows, class Source>
void tile(const typename P::Left *a, int64_t row, int64_t col, Source b, int64_t depth, bool add,
          typename P::Sum *sums) {
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
      for (int j = 0; j < W; j++) sums[i * W + j] = add ? sums[i * W + j] + acc[i][j] : acc[i][j];
  } else {
    Vec<Sum> acc[kRows][2];
    for (int i = 0; i < kRows; i++) acc[i][0] = acc[i][1] = Sum(0);
    const auto step = [&](bool half) __attribute__((always_inline)) {
      const Vec<Unit> low = b.units(0, half), high = b.units(1, half);
      for (int i = 0; i < kRows; i++) {
        const Vec<Unit> x = unit_at<P>(a + i * row, half);
        acc[i][0] = P::add(acc[i][0], x, low);
        acc[i][1] = P::add(acc[i][1], x, high);
      }
      b.next();
      a += P::kSteps * col;
    };
    for (int64_t p = 0; p + P::kSteps <= depth; p += P::kSteps) step(false);
    if (depth % P::kSteps != 0) step(true);
    for (int i = 0; i < kRows; i++) {
      for (int v = 0; v < 2; v++) {
        Sum *to = sums + i * W + v * Vec<Sum>::N;
        store(to, add ? load(to) + acc[i][v] : acc[i][v]);
      }
    }
  }
}

// tile for any number of rows.
template <class P, int kRows, class Source>
void tiles(const typename P::Left *a, int64_t row, int64_t col, Source b, int64_t depth, bool add,
           typename P::Sum *sums, int64_t rows) {
  for (; rows >= kRows; rows -= kRows, a += kRows * row, sums += kRows * kPanel<typename P::Unit>)
    tile<P, kRows>(a, row, col, b, depth, add, sums);
  if constexpr (kRows > 1) {
    if (rows > 0) tiles<P, kRows / 2>(a, row, col, b, depth, add, sums, rows);
  }
}

template <class P, class T>
void multiply(const lt_gemm *g) {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  constexpr int W = kPanel<Unit>;
  constexpr int64_t step = kUnits * P::kSteps;
  alignas(64) Unit panel[kUnits * W];
  alignas(64) Sum sums[kRowBlock * W];
  const Sum alpha = factor<Sum, T>(g->alpha), beta = factor<Sum, T>(g->beta);
  const int64_t most = g->m < kRowBlock ? g->m : kRowBlock;
  const int64_t strip = most > 0 ? kRowBlock / most * W : W;  // columns with room for their sums
  for (int64_t s = 0; s < g->batch; s++) {
    const T *b = (const T *)g->b + s * g->b_batch;
    for (int64_t i = 0; i < g->m; i += most) {
      const auto *a = (const typename P::Left *)g->a + s * g->a_batch + i * g->a_row;
      const int64_t rows = g->m - i < most ? g->m - i : most;
      for (int64_t left = 0; left < g->n; left += strip) {
        const int64_t right = g->n - left < strip ? g->n : left + strip;
        const auto each_panel = [&](auto &&f) __attribute__((always_inline)) {
          for (int64_t j = left; j < right; j += W)
            f(j, right - j < W ? right - j : W, sums + (j - left) * rows);
        };
        for (int64_t p = 0; p < g->k || p == 0; p += step) {
          const int64_t depth = g->k - p < step ? g->k - p : step;
          each_panel([&](int64_t j, int64_t w, Sum *to) {
            const T *at = b + p * g->b_row + j * g->b_col;
            const auto multiply_by = [&](auto source) {
              tiles<P, kTileRows<Unit>>(a + p * g->a_col, g->a_row, g->a_col, source, depth, p > 0,
                                        to, rows);
            };
            if constexpr (kind_of<Unit> != kComplex) {
              if (g->b_col == 1 && w == W && most <= kTileRows<Unit>)
                return multiply_by(InPlace<P, T>{at, g->b_row});
            }
            pack<P>(at, g->b_row, g->b_col, depth, w, panel);
            multiply_by(Packed<P>{panel});
          });
        }
        each_panel([&](int64_t j, int64_t w, Sum *from) {
          T *c = (T *)g->c + s * g->c_batch + i * g->c_row + j * g->c_col;
          for (int64_t r = 0; r < rows; r++)
            finish(from + r * W, alpha, beta, c + r * g->c_row, g->c_col, w);
        });
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
