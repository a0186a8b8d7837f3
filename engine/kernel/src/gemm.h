// Matrix products of every dtype over any strides: b is copied to packed panels, and a few rows of
// a at a time are multiplied with a packed panel in registers. Every element of c is summed in the
// order of k, whatever part of the matrix contains it.
#ifndef LIBTENSOR_KERNEL_SRC_GEMM_H
#define LIBTENSOR_KERNEL_SRC_GEMM_H

#include "../gemm.h"
#include "gemm_panel.h"
#include "rows.h"

namespace lt {
namespace {

// Rows that share a packed panel, and the bytes of a that more rows may take where k is one part.
constexpr int64_t kRowBlock = 256, kLeftBytes = 1 << 18;

// Packed panels that one part of k of the rows is multiplied with before the next part is read, if
// the sums of all of them are stored in c.
constexpr int64_t kStrip = 8;

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

// The memory to be packed next: byte ranges with a stride of step, which are prefetched into the L2
// cache. Tiles prefetch a line every few steps of k, because the CPU waits for room in its buffers
// after a dozen at once.
struct Ahead {
  const char *at = nullptr;
  int64_t step = 0, bytes = 0, left = 0, each = 0;  // each: lines per tile
  int64_t line = 0;                                 // bytes of the present range that are fetched

  LT_INLINE void fetch() {
    __builtin_prefetch(at + line, 0, 2);
    line += 64;
    if (line < bytes) return;
    line = 0, at += step, left--;
  }
};

// Where the products of one part of k go: the first part sets sums, the others add to them, and the
// last one writes the elements.
template <class P, class Out>
struct Target {
  using Sum = typename P::Sum;
  static constexpr int W = kPanel<typename P::Unit>;
  const Out &out;
  Sum *sums;           // W for each row, or for all where one part is the first and the last
  int64_t s, i, j, w;  // of the matrix in the batch, its row, its column, and w columns
  bool first, last;
  mutable Ahead ahead = {};
  int64_t step = W;  // from the sums of a row to those of the next

  // Writes the elements of rows, for any number of rows.
  __attribute__((noinline)) void write(int rows) const {
    for (int r = 0; r < rows; r++) out.row(sums + r * W, s, i + r, j, w);
  }
  void pass(int64_t rows) {
    if (!first || !last) sums += rows * step;
    i += rows;
  }
};

// The final step of a sum: c = alpha * sums + beta * d.
template <class P, class T>
struct Scaled {
  using Sum = typename P::Sum;
  static constexpr bool kWhole = __is_same(Sum, T);  // whether it takes sums from registers
  static constexpr bool kFromZero = true;            // initial value of sums
  static constexpr int kHead = 0;                    // rows before the units of a packed panel
  const lt_gemm *g;
  Sum alpha, beta;

  T *at(int64_t s, int64_t i, int64_t j) const {
    return (T *)g->c + s * g->c_batch + i * g->c_row + j * g->c_col;
  }
  const T *added(int64_t s, int64_t i, int64_t j) const {
    return (const T *)g->d + s * g->d_batch + i * g->d_row + j * g->d_col;
  }
  // The source of the columns of b, from row p on: the packed panel, once they are packed.
  Packed<P> source(const T *b, int64_t, int64_t depth, const Target<P, Scaled> &to,
                   typename P::Unit *panel) const {
    pack<P>(b, g->b_row, g->b_col, depth, to.w, panel);
    return panel;
  }
  // Returns where in c the sums from row i and column j on can be stored until the last part of k
  // is added; nullptr if c cannot hold them.
  Sum *partial_sums(int64_t s, int64_t i, int64_t j) const {
    if constexpr (kWhole && kind_of<Sum> != kComplex)
      if (beta == Sum(0) && direct(kPanel<typename P::Unit>)) return at(s, i, j);
    return nullptr;
  }
  // Whether elements form whole vectors and products with the factors are exact, so that vector
  // code returns the same as finish.
  bool direct(int64_t w) const {
    return (alpha == Sum(1) || alpha == Sum(-1)) &&
           (beta == Sum(0) || (beta == Sum(1) && g->d_col == 1)) && g->c_col == 1 &&
           w == kPanel<typename P::Unit>;
  }
  // Fetches the lines that whole will write.
  template <int kRows>
  LT_INLINE void soon(int64_t s, int64_t i, int64_t j) const {
    const T *const c = at(s, i, j);
    unrolled<kRows * 2>([&](int t) __attribute__((always_inline)) {
      __builtin_prefetch(c + t / 2 * g->c_row + t % 2 * Vec<Sum>::N, 1);
    });
  }
  // Writes the columns of a packed panel for rows from i on from registers.
  template <int kRows>
  LT_INLINE void whole(const Vec<Sum> (&sums)[kRows][2], int64_t s, int64_t i, int64_t j) const {
    T *const c = at(s, i, j);
    const T *const d = added(s, i, j);
    const Vec<Sum> factor(alpha);
    const auto write = [&](auto &&sum) __attribute__((always_inline)) {
      unrolled<kRows * 2>([&](int t) __attribute__((always_inline)) {
        const int64_t r = t / 2, at = t % 2 * Vec<Sum>::N;
        store(c + r * g->c_row + at, sum(factor * sums[t / 2][t % 2], d + r * g->d_row + at));
      });
    };
    if (beta == Sum(0))
      write([](const Vec<Sum> &x, const T *) __attribute__((always_inline)) { return x; });
    else
      write([](const Vec<Sum> &x, const T *y)
                __attribute__((always_inline)) { return x + load(y); });
  }
  // Writes w columns of row i from column j on; the sums are changed.
  void row(Sum *sums, int64_t s, int64_t i, int64_t j, int64_t w) const {
    constexpr int64_t W = kPanel<typename P::Unit>;
    if constexpr (!kWhole)
      if (w == W && alpha == Sum(1) && beta == Sum(0) && g->c_col == 1)
        return cast_run(sums, at(s, i, j), W);
    finish(sums, alpha, beta, added(s, i, j), g->d_col, at(s, i, j), g->c_col, w);
  }
};

// Where a tile finds the values of a: in rows and columns of one distance each.
template <class P>
struct Strided {
  const typename P::Left *at;
  int64_t row, col;
  LT_INLINE typename P::Unit unit(int i, int64_t values) const {
    return unit_at<P>(at + i * row, values);
  }
  LT_INLINE void next() { at += P::kSteps * col; }
  LT_INLINE Strided from(int64_t rows) const { return {at + rows * row, row, col}; }
};

// The products of kRows rows of a and depth rows of b, of which the first kVectors vectors are
// used. Operands are passed by reference: copies on the stack are read with wider loads than they
// were stored with, which stalls the CPU until the stores of the preceding tile have retired.
template <class P, int kRows, int kVectors, class Out, class Left, class Source>
void tile(const Left &left, const Source &source, int64_t depth, const Target<P, Out> &to) {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  constexpr int W = kPanel<Unit>;
  Left a = left;
  Source b = source;
  if constexpr (kind_of<Unit> == kComplex) {
    Sum acc[kRows][W];
    for (int i = 0; i < kRows; i++)
      for (int j = 0; j < W; j++) acc[i][j] = Sum(0);
    for (int64_t p = 0; p < depth; p++, a.next(), b.next()) {
      for (int i = 0; i < kRows; i++) {
        const Unit x = a.unit(i, 1);
        for (int j = 0; j < W; j++) acc[i][j] = acc[i][j] + x * b.at[j];
      }
    }
    for (int i = 0; i < kRows; i++)
      for (int j = 0; j < W; j++)
        to.sums[i * W + j] = to.first ? acc[i][j] : to.sums[i * W + j] + acc[i][j];
  } else {
    Sum *const sums = to.sums;
    if constexpr (Out::kWhole && kVectors == 2) {
      if (to.last && to.out.direct(to.w))
        to.out.template soon<kRows>(to.s, to.i, to.j);
      else
        unrolled<kRows * 2>([&](int t) __attribute__((always_inline)) {
          __builtin_prefetch(sums + t / 2 * to.step + t % 2 * Vec<Sum>::N, 1);
        });
    }
    // Arrays are kept in registers if their indices are constants.
    Vec<Sum> acc[kRows][kVectors];
    const auto each = [&](auto &&f) __attribute__((always_inline)) {
      unrolled<kRows * kVectors>([&](int t) __attribute__((always_inline)) {
        f(t / kVectors, t % kVectors, acc[t / kVectors][t % kVectors]);
      });
    };
    each([&](int, int v, Vec<Sum> &x) __attribute__((always_inline)) { x = b.start(v); });
    const auto step = [&](int64_t values) __attribute__((always_inline)) {
      Vec<Unit> y[kVectors];
      unrolled<kVectors>([&](int v) __attribute__((always_inline)) { y[v] = b.units(v, values); });
      unrolled<kRows>([&](int i) __attribute__((always_inline)) {
        const Vec<Unit> x = a.unit(i, values);
        unrolled<kVectors>(
            [&](int v) __attribute__((always_inline)) { acc[i][v] = P::add(acc[i][v], x, y[v]); });
      });
      a.next();
      b.next();
    };
    int64_t p = 0;
    // Four steps an iteration, in the tiles that take most of the time.
    if constexpr (__is_same(Source, Packed<P>) && kRows == kTileRows<Unit> && kVectors == 2) {
      Ahead ahead = to.ahead;
      for (int64_t lines = ahead.each; p + 4 * P::kSteps <= depth; p += 4 * P::kSteps) {
        if (lines-- > 0 && ahead.left > 0) ahead.fetch();
        unrolled<4>([&](int) __attribute__((always_inline)) { step(P::kSteps); });
      }
      to.ahead = ahead;
    }
    for (; p + P::kSteps <= depth; p += P::kSteps) step(P::kSteps);
    if (depth % P::kSteps != 0) step(depth % P::kSteps);
    constexpr int N = Vec<Sum>::N;
    if (!to.first)
      each([&](int i, int v, Vec<Sum> &x)
               __attribute__((always_inline)) { x = load(sums + i * to.step + v * N) + x; });
    if constexpr (Out::kWhole && kVectors == 2) {
      if (to.last && to.out.direct(to.w)) return to.out.whole(acc, to.s, to.i, to.j);
    }
    each([&](int i, int v, Vec<Sum> &x)
             __attribute__((always_inline)) { store(sums + i * to.step + v * N, x); });
  }
  if (to.last) to.write(kRows);
}

// tile for any number of rows.
template <class P, int kRows, int kVectors, class Out, class Left, class Source>
void tiles(Left a, const Source &b, int64_t depth, Target<P, Out> to, int64_t rows) {
  for (; rows >= kRows; rows -= kRows, a = a.from(kRows), to.pass(kRows))
    tile<P, kRows, kVectors>(a, b, depth, to);
  if constexpr (kRows > 1) {
    if (rows > 0) tiles<P, kRows / 2, kVectors>(a, b, depth, to, rows);
  }
}

// The products of rows of a and the columns of b in a packed panel, from row p on; room is memory
// for it.
template <class P, class T, class Out>
void panel_tiles(const lt_gemm *g, const Strided<P> &a, const T *b, int64_t p, int64_t depth,
                 typename P::Unit *panel, Target<P, Out> to, int64_t rows) {
  using Unit = typename P::Unit;
  constexpr int W = kPanel<Unit>, R = kTileRows<Unit>;
  if constexpr (Out::kFromZero && kind_of<Unit> == kFloating) {
    if (g->b_col == 1 && to.w == W) {
      if (rows <= R) return tiles<P, R, 2>(a, InPlace<P, T>(b, g->b_row), depth, to, rows);
      const bool lies = __is_same(T, Unit) && g->b_row == W;  // already laid out as a packed panel
      if (!lies) tile<P, R, 2>(a, Packing<P, T>(b, g->b_row, panel), depth, to);
      const int64_t done = lies ? 0 : R;
      to.pass(done);
      return tiles<P, R, 2>(a.from(done), Packed<P>(lies ? (const Unit *)b : panel), depth, to,
                            rows - done);
    }
  }
  const auto source = to.out.source(b, p, depth, to, panel);
  if constexpr (kind_of<Unit> != kComplex) {
    if (to.w <= W / 2) return tiles<P, R, 1>(a, source, depth, to, rows);
  }
  tiles<P, R, 2>(a, source, depth, to, rows);
}

// Rows of b that are read at once, and the bytes of b and of its rows from which on that takes less
// time than reading the columns of one tile after those of the other.
constexpr int kStreams = LT_VECTOR_BYTES == 64 ? 8 : 4;
constexpr int64_t kStreamedBytes = 1 << 18, kStreamedRow = 1 << 11;

// The source of sums that are complete.
template <class P>
struct Accumulated {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  const Sum *sums;
  LT_INLINE Vec<Sum> start(int v) const { return load(sums + v * Vec<Sum>::N); }
  LT_INLINE Vec<Unit> units(int, int64_t) const { return Unit(0); }
  LT_INLINE void next() {}
};

// Adds the products of S steps of a few rows of a with rows of b to sums, W for each row of each
// tile of columns. Steps have `values` values along k.
template <class P, int S, class T>
void stream_steps(const lt_gemm *g, const Strided<P> &a, const T *b, int64_t values,
                  typename P::Sum *sums, int64_t rows, int64_t columns, bool first) {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  constexpr int W = kPanel<Unit>, N = Vec<Sum>::N;
  Unit x[kTileRows<Unit> * S];
  Strided<P> left = a;
  for (int s = 0; s < S; s++, left.next())
    for (int64_t r = 0; r < rows; r++) x[r * S + s] = left.unit(int(r), values);
  for (int64_t j = 0; j < columns; j += W) {
    Vec<Unit> y[S][2];
    unrolled<S * 2>([&](int t) __attribute__((always_inline)) {
      const T *const at = b + t / 2 * P::kSteps * g->b_row + j + t % 2 * N;
      y[t / 2][t % 2] = across<P>(at, g->b_row, values);
    });
    for (int64_t r = 0; r < rows; r++, sums += W) {
      Vec<Sum> sum[2] = {Sum(0), Sum(0)};
      if (!first) sum[0] = load(sums), sum[1] = load(sums + N);
      unrolled<S * 2>([&](int t) __attribute__((always_inline)) {
        sum[t % 2] = P::add(sum[t % 2], Vec<Unit>(x[r * S + t / 2]), y[t / 2][t % 2]);
      });
      store(sums, sum[0]), store(sums + N, sum[1]);
    }
  }
}

// The products of a few rows of a and whole tiles of columns of b, which is read a few rows at a
// time: memory delivers long rows faster than the short parts of rows in a tile.
template <class P, class T, class Out>
void stream_rows(const lt_gemm *g, const Strided<P> &a, const T *b, int64_t depth,
                 typename P::Sum *sums, Target<P, Out> to, int64_t rows, int64_t columns) {
  constexpr int W = kPanel<typename P::Unit>;
  Strided<P> left = a;
  const auto step = [&](auto steps, int64_t p, int64_t values) {
    constexpr int S = decltype(steps)::value;
    stream_steps<P, S>(g, left, b + p * g->b_row, values, sums, rows, columns, p == 0);
    for (int s = 0; s < S; s++) left.next();
  };
  constexpr int64_t kMany = kStreams * P::kSteps;
  int64_t p = 0;
  for (; p + kMany <= depth; p += kMany)
    step(std::integral_constant<int, kStreams>(), p, P::kSteps);
  for (; p < depth; p += P::kSteps)
    step(std::integral_constant<int, 1>(), p, depth - p < P::kSteps ? depth - p : P::kSteps);
  for (int64_t j = 0; j < columns; j += W, to.j += W) {
    Target<P, Out> down = to;
    if (!to.first || !to.last) down.sums += j * rows;
    for (int64_t r = 0; r < rows; r++, sums += W, down.pass(1))
      tile<P, 1, 2>(a, Accumulated<P>{sums}, 0, down);
  }
}

// The memory for the packed panel of matrix b at row p and column j, to be packed for a number of
// rows of a; few rows leave no time for a prefetch.
template <class P, class T>
Ahead ahead_of(const lt_gemm *g, const T *b, int64_t p, int64_t depth, int64_t j, int64_t rows) {
  constexpr int64_t W = kPanel<typename P::Unit>, R = kTileRows<typename P::Unit>;
  const int64_t w = g->n - j < W ? g->n - j : W;
  if (w <= 0 || rows < 4 * R) return {};
  Ahead ahead{(const char *)(b + p * g->b_row + j * g->b_col)};
  if (g->b_row == 1)
    ahead.step = g->b_col, ahead.bytes = depth, ahead.left = w;
  else if (g->b_col == 1)
    ahead.step = g->b_row, ahead.bytes = w, ahead.left = depth;
  ahead.step *= sizeof(T), ahead.bytes *= sizeof(T);
  ahead.each = ((ahead.bytes + 63) / 64 * ahead.left * R + rows - 1) / rows;
  return ahead;
}

template <class P, class T, class Out>
void multiply(const lt_gemm *g, const Out &out) {
  using Unit = typename P::Unit;
  using Sum = typename P::Sum;
  constexpr int W = kPanel<Unit>;
  alignas(64) Unit panel[(Out::kHead + kUnits) * W];
  alignas(64) Sum sums[kRowBlock * W];
  const int64_t parts = parts_of<P>(g->k), part = part_of<P>(g->k);
  int64_t most = kRowBlock;
  if (parts == 1 && part * kRowBlock < kLeftBytes / int64_t(sizeof(typename P::Left)))
    most = kLeftBytes / int64_t(sizeof(typename P::Left)) / (part > 0 ? part : 1);
  if (most > g->m) most = g->m;
  // Columns per strip, with memory for their sums.
  const int64_t strip = most > 0 && most < kRowBlock ? kRowBlock / most * W : W;
  // Few CPUs use 16-byte vectors, and few programs multiply integers: their code would be larger.
  constexpr bool kMayStream = Out::kFromZero && kind_of<Sum> == kFloating && LT_VECTOR_BYTES > 16;
  const bool streams = kMayStream && g->b_col == 1 && g->m <= kTileRows<Unit> &&
                       g->n * int64_t(sizeof(T)) >= kStreamedRow &&
                       g->k * g->n * int64_t(sizeof(T)) > kStreamedBytes;
  const bool in_c = !streams && parts > 1 && out.partial_sums(0, 0, 0) != nullptr;
  for (int64_t s = 0; s < g->batch; s++) {
    for (int64_t i = 0; i < g->m; i += most) {
      const int64_t rows = g->m - i < most ? g->m - i : most;
      const auto *a = (const typename P::Left *)g->a + s * g->a_batch + i * g->a_row;
      for (int64_t left = 0, right; left < g->n; left = right) {
        const bool keeps = in_c && g->n - left >= W;  // sums of whole packed panels, in c
        const int64_t most_columns = keeps ? kStrip * W : strip;
        right = g->n - left < most_columns ? g->n : left + most_columns;
        if (keeps) right -= (right - left) % W;
        for (int64_t k = 0; k < parts; k++) {
          const int64_t p = k * part, depth = g->k - p < part ? g->k - p : part;
          const bool last = k == parts - 1;
          int64_t j = left;
          if constexpr (kMayStream) {
            if (streams) {
              const int64_t columns = (right - left) / W * W;
              stream_rows<P>(g, {a + p * g->a_col, g->a_row, g->a_col},
                             (const T *)g->b + s * g->b_batch + p * g->b_row + j, depth,
                             (Sum *)panel, Target<P, Out>{out, sums, s, i, j, W, k == 0, last},
                             rows, columns);
              j += columns;
            }
          }
          for (; j < right; j += W) {
            const int64_t w = right - j < W ? right - j : W;
            int64_t next_p = p, next_j = j + W;
            if (next_j >= right && last)
              next_p = 0;
            else if (next_j >= right)
              next_p += part, next_j = left;
            const T *b = (const T *)g->b + s * g->b_batch;
            const Ahead ahead = ahead_of<P>(g, b, next_p, part, next_j, rows);
            Target<P, Out> to{out, sums + (j - left) * rows, s, i, j, w, k == 0, last, ahead};
            if (keeps) to.sums = out.partial_sums(s, i, j), to.step = g->c_row;
            panel_tiles<P>(g, {a + p * g->a_col, g->a_row, g->a_col},
                           b + p * g->b_row + j * g->b_col, p, depth, panel, to, rows);
          }
        }
      }
    }
  }
}

template <class P, class T>
void multiply(const lt_gemm *g) {
  using Sum = typename P::Sum;
  multiply<P, T>(g, Scaled<P, T>{g, factor<Sum, T>(g->alpha), factor<Sum, T>(g->beta)});
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
