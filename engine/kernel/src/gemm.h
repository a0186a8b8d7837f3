// Matrix products of every dtype over any strides: panels of b are packed, and a few rows of a at a
// time are multiplied with a panel in registers. Every element of c is summed in the order of k,
// whatever part of the matrix it lies in.
#ifndef LIBTENSOR_KERNEL_SRC_GEMM_H
#define LIBTENSOR_KERNEL_SRC_GEMM_H

#include "../gemm.h"
#include "gemm_steps.h"
#include "rows.h"
#include "transpose.h"

namespace lt {
namespace {

constexpr int64_t kUnits = 64;      // units of k in one panel
constexpr int64_t kRowBlock = 256;  // rows that share a packed panel

template <class Unit>
constexpr int kPanel = 2 * LT_VECTOR_BYTES / sizeof(Unit);  // columns in one panel

// Rows whose sums fill the registers.
template <class Unit>
constexpr int kTileRows = kind_of<Unit> == kComplex ? 4
                          : LT_VECTOR_BYTES == 64   ? 12
                          : LT_VECTOR_BYTES == 32   ? 6
                                                    : 4;

// Sets or adds to sums, of kRows rows and a panel's columns, the products of rows of a and a panel
// of depth values of k.
template <class P, int kRows>
void tile(const typename P::Left *a, int64_t row, int64_t col, const typename P::Unit *panel,
          int64_t depth, bool add, typename P::Sum *sums) {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  constexpr int W = kPanel<Unit>;
  if constexpr (kind_of<Unit> == kComplex) {
    Sum acc[kRows][W];
    for (int i = 0; i < kRows; i++)
      for (int j = 0; j < W; j++) acc[i][j] = Sum(0);
    for (int64_t p = 0; p < depth; p++) {
      for (int i = 0; i < kRows; i++) {
        const Unit x = a[i * row + p * col];
        for (int j = 0; j < W; j++) acc[i][j] = acc[i][j] + x * panel[p * W + j];
      }
    }
    for (int i = 0; i < kRows; i++)
      for (int j = 0; j < W; j++) sums[i * W + j] = add ? sums[i * W + j] + acc[i][j] : acc[i][j];
  } else {
    constexpr int N = Vec<Unit>::N;
    Vec<Sum> acc[kRows][2];
    for (int i = 0; i < kRows; i++) acc[i][0] = acc[i][1] = Sum(0);
    const auto step = [&](bool half) __attribute__((always_inline)) {
      const Vec<Unit> low = load(panel), high = load(panel + N);
      for (int i = 0; i < kRows; i++) {
        const Vec<Unit> x = unit_at<P>(a + i * row, half);
        acc[i][0] = P::add(acc[i][0], x, low);
        acc[i][1] = P::add(acc[i][1], x, high);
      }
      panel += W;
      a += P::kSteps * col;
    };
    for (int64_t p = 0; p + P::kSteps <= depth; p += P::kSteps) step(false);
    if (depth % P::kSteps != 0) step(true);
    for (int i = 0; i < kRows; i++) {
      for (int v = 0; v < 2; v++) {
        Sum *to = sums + i * W + v * N;
        store(to, add ? load(to) + acc[i][v] : acc[i][v]);
      }
    }
  }
}

// tile for any number of rows.
template <class P, int kRows>
void tiles(const typename P::Left *a, int64_t row, int64_t col, const typename P::Unit *panel,
           int64_t depth, bool add, typename P::Sum *sums, int64_t rows) {
  for (; rows >= kRows; rows -= kRows, a += kRows * row, sums += kRows * kPanel<typename P::Unit>)
    tile<P, kRows>(a, row, col, panel, depth, add, sums);
  if constexpr (kRows > 1) {
    if (rows > 0) tiles<P, kRows / 2>(a, row, col, panel, depth, add, sums, rows);
  }
}

// Copies depth rows of w columns to a panel, filled up with zeros.
template <class P>
void pack(const typename P::Stored *b, int64_t row, int64_t col, int64_t depth, int64_t w,
          typename P::Unit *panel) {
  using Stored = typename P::Stored;
  using Left = typename P::Left;
  using Unit = typename P::Unit;
  constexpr int W = kPanel<Unit>;
  constexpr bool kTurns = __is_same(Stored, Left) && sizeof(Unit) <= 8;
  const int64_t whole = depth / P::kSteps, units = (depth + P::kSteps - 1) / P::kSteps;
  if (w < W) memset((void *)panel, 0, size_t(units * W) * sizeof(Unit));
  const bool turned = row == 1 && col != 1;
  if constexpr (kTurns) {
    if (turned)
      find_turn(sizeof(Unit))((char *)panel, W * sizeof(Unit), (const char *)b,
                              col * int64_t(sizeof(Stored)), w, whole);
  }
  if constexpr (P::kSteps == 1) {
    if (kTurns && turned) return;
    for (int64_t q = 0; q < depth; q++)
      cast_row<Stored, Unit>((const char *)(b + q * row), col * int64_t(sizeof(Stored)),
                             (char *)(panel + q * W), sizeof(Unit), w);
  } else {
    const auto unit = [](Stored first, Stored second) {
      return Unit(low_half<P>(first) | low_half<P>(second) << 16);
    };
    if (turned && !kTurns) {
      for (int64_t k = 0; k < w; k++)
        for (int64_t q = 0; q < whole; q++)
          panel[q * W + k] = unit(b[k * col + 2 * q], b[k * col + 2 * q + 1]);
    } else if (!turned) {
      for (int64_t q = 0; q < whole; q++) {
        const Stored *first = b + 2 * q * row, *second = first + row;
        Unit *to = panel + q * W;
        __builtin_prefetch(first + 16 * row), __builtin_prefetch(second + 16 * row);
        if (col == 1 && w == W) {
          for (int k = 0; k < W; k++) to[k] = unit(first[k], second[k]);
        } else {
          for (int64_t k = 0; k < w; k++) to[k] = unit(first[k * col], second[k * col]);
        }
      }
    }
    if (whole < units) {
      for (int64_t k = 0; k < w; k++)
        panel[whole * W + k] = unit(b[(depth - 1) * row + k * col], Stored{});
    }
  }
}

template <class P>
void multiply(const lt_gemm *g) {
  using Unit = typename P::Unit;
  constexpr int W = kPanel<Unit>;
  alignas(64) Unit panel[kUnits * W];
  alignas(64) typename P::Sum sums[kRowBlock * W];
  const auto alpha = factor<P>(g->alpha), beta = factor<P>(g->beta);
  const int64_t most = g->m < kRowBlock ? g->m : kRowBlock;
  const int64_t strip = most > 0 ? kRowBlock / most * W : W;  // columns with room for their sums
  constexpr int64_t step = kUnits * P::kSteps;
  for (int64_t s = 0; s < g->batch; s++) {
    const auto *b = (const typename P::Stored *)g->b + s * g->b_batch;
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
          each_panel([&](int64_t j, int64_t w, typename P::Sum *to) {
            pack<P>(b + p * g->b_row + j * g->b_col, g->b_row, g->b_col, depth, w, panel);
            tiles<P, kTileRows<Unit>>(a + p * g->a_col, g->a_row, g->a_col, panel, depth, p > 0, to,
                                      rows);
          });
        }
        each_panel([&](int64_t j, int64_t w, typename P::Sum *from) {
          auto *c = (typename P::Stored *)g->c + s * g->c_batch + i * g->c_row + j * g->c_col;
          for (int64_t r = 0; r < rows; r++)
            finish<P>(from + r * W, alpha, beta, c + r * g->c_row, g->c_col, w);
        });
      }
    }
  }
}

struct Gemm {
  template <class T>
  static void row(const lt_gemm *g) {
    multiply<typename StepsOf<T>::type>(g);
  }
};

}  // namespace
}  // namespace lt
#endif
