// Attention: values weighted by softmax of the products of queries and keys, and its gradients. A
// tile of weights is at hand at a time, of some queries and some keys: the weights of a query are
// relative to the largest product so far, and what is summed is scaled when a larger one comes.
#include "../../gemm.h"
#include "../rows.h"
#include "../vmath_exp.h"
#include "../vmath_log.h"

namespace lt {
namespace {

// Matrices of one head, of which elements of a row are adjacent and rows are so many elements
// apart. A mask has elements of the kernel's dtype, which are added to products, or bytes that tell
// which of them count. Without gradients the call makes `result` and `lse`, the logarithms of sums
// of exponentials, for the queries from `row` to `last_row`; with them it adds, for these and the
// keys from `key` to `last_key`, to those that are not NULL. `tiles` and `dots` are kernels of
// products.
struct attention_args {
  uintptr_t query, key, value, mask, result, lse;
  uintptr_t given, along, of_query, of_key, of_value, of_mask;
  uintptr_t tiles, dots, room;
  int64_t rows, keys, width, value_width;
  int64_t first_row, last_row, first_key, last_key, row_block, key_block, stride;
  int64_t query_step, key_step, value_step, mask_step, mask_column, result_step, given_step;
  double scale;
  int32_t causal;
};

// A matrix in memory, and what lies in it from an element on.
template <class T>
struct Matrix {
  T *at;
  int64_t row, column;
  Matrix turned() const { return {at, column, row}; }
};
template <class T>
Matrix<T> rows_of(uintptr_t at, int64_t step, int64_t i) {
  return {(T *)at + i * step, step, 1};
}

constexpr int64_t kSkinny = 8;  // rows that products read a second operand where it lies for

// c = a b, or c + a b with `more`; c has m rows, n columns and sums of k products.
template <class T>
__attribute__((noinline)) void multiply(const attention_args *g, Matrix<T> a, Matrix<T> b,
                                        Matrix<T> c, int64_t m, int64_t n, int64_t k, bool more) {
  lt_gemm p = {};
  p.a = (uintptr_t)a.at, p.b = (uintptr_t)b.at, p.c = p.d = (uintptr_t)c.at;
  p.batch = 1, p.m = m, p.n = n, p.k = k;
  p.a_row = a.row, p.a_col = a.column, p.b_row = b.row, p.b_col = b.column;
  p.c_row = p.d_row = c.row, p.c_col = p.d_col = c.column;
  const T factors[2] = {T(1), T(more)};
  memcpy(p.alpha, &factors[0], sizeof(T));
  memcpy(p.beta, &factors[1], sizeof(T));
  const bool along = m <= kSkinny && a.column == 1 && b.row == 1 && k >= 2 * Vec<T>::N;
  ((void (*)(const lt_gemm *))(along ? g->dots : g->tiles))(&p);
}

// e^x for x up to 0; NaN stays NaN.
template <class T>
LT_INLINE Vec<T> decline(Vec<T> x) {
  x = max(Vec<T>(T(sizeof(T) == 4 ? -105 : -746)), x);
  const Integer<T> n = nearest(x * Ln2<T>::inverse);
  const Vec<T> r = fma(n.value, Vec<T>(-Ln2<T>::lo), fma(n.value, Vec<T>(-Ln2<T>::hi), x));
  return scale(fma(fma(r, exp_tail(r), Vec<T>(T(1))), r, Vec<T>(T(1))), n);
}

// The products of queries i and more with keys j and more, m by w.
template <class T>
void scores(const attention_args *g, T *tile, int64_t i, int64_t j, int64_t m, int64_t w) {
  multiply<T>(g, rows_of<T>(g->query, g->query_step, i),
              rows_of<T>(g->key, g->key_step, j).turned(), {tile, g->stride, 1}, m, w, g->width,
              false);
}

// x[i] = x[i] * by
template <class T>
__attribute__((noinline)) void times(T *x, int64_t n, T by) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; k++) x[k] *= by;
}

// Scales and masks the products of query i with w keys from j on; others follow up to a whole
// vector, and do not count. Gives the largest.
template <class T>
__attribute__((noinline)) T masked(const attention_args *g, T *x, int64_t i, int64_t j, int64_t w) {
  constexpr int64_t N = Vec<T>::N;
  const T never = -__builtin_inf();
  int64_t count = w;
  if (g->causal && i - j + 1 < w) count = i < j ? 0 : i - j + 1;
  times(x, count, T(g->scale));
  if (g->mask) {
    const int64_t step = g->mask_column;
    const T *more = (const T *)g->mask + i * g->mask_step + j * step;
    if (step == 1)
#pragma GCC ivdep
      for (int64_t k = 0; k < count; k++) x[k] += more[k];
    else
      for (int64_t k = 0; k < count; k++) x[k] += more[k * step];
  }
  for (int64_t k = count; k < (w + N - 1) / N * N; k++) x[k] = never;
  Vec<T> most(never);
  for (int64_t k = 0; k < w; k += N) most = max(most, load(x + k));
  T top = never;
  for (int l = 0; l < N; l++) top = most[l] > top ? most[l] : top;
  return top;
}

// Exponentials of w elements less `off`, up to a whole vector, and their sum.
template <class T>
__attribute__((noinline)) T exponentials(T *x, int64_t w, T off) {
  constexpr int64_t N = Vec<T>::N;
  Vec<T> sums[2] = {T(0), T(0)};
  int64_t k = 0;
  for (; k + N < w; k += 2 * N) {
    for (int u = 0; u < 2; u++) {
      const Vec<T> y = decline(load(x + k + u * N) - off);
      store(x + k + u * N, y);
      sums[u] = sums[u] + y;
    }
  }
  for (; k < w; k += N) {
    const Vec<T> y = decline(load(x + k) - off);
    store(x + k, y);
    sums[0] = sums[0] + y;
  }
  sums[0] = sums[0] + sums[1];
  T sum = 0;
  for (int l = 0; l < N; l++) sum += sums[0][l];
  return sum;
}

// The end of the keys that queries up to i, which is not one of them, have weights for.
LT_INLINE int64_t reach(const attention_args *g, int64_t i, int64_t keys) {
  return g->causal && i < keys ? i : keys;
}

struct Attention {
  static constexpr int64_t kRows = 256;
  template <class T>
  static void row(const attention_args *g) {
    T *tile = (T *)g->room;
    T tops[kRows], sums[kRows];
    for (int64_t i = g->first_row; i < g->last_row; i += g->row_block) {
      const int64_t m = g->last_row - i < g->row_block ? g->last_row - i : g->row_block;
      const int64_t end = reach(g, i + m, g->keys);
      const Matrix<T> to = rows_of<T>(g->result, g->result_step, i);
      for (int64_t r = 0; r < m; r++) tops[r] = -__builtin_inf(), sums[r] = 0;
      for (int64_t j = 0; j < end; j += g->key_block) {
        const int64_t w = end - j < g->key_block ? end - j : g->key_block;
        scores(g, tile, i, j, m, w);
        for (int64_t r = 0; r < m; r++) {
          T *x = tile + r * g->stride;
          T top = masked(g, x, i + r, j, w);
          if (!(top > tops[r])) top = tops[r];
          const T off = top == -__builtin_inf() ? T(0) : top;
          const T sum = exponentials(x, w, off);
          if (j > 0 && top != tops[r]) {
            const T by = decline(Vec<T>(tops[r] - off))[0];
            sums[r] *= by;
            times(to.at + r * to.row, g->value_width, by);
          }
          sums[r] += sum, tops[r] = top;
        }
        multiply<T>(g, {tile, g->stride, 1}, rows_of<T>(g->value, g->value_step, j), to, m,
                    g->value_width, w, j > 0);
      }
      for (int64_t r = 0; r < m; r++) {
        T *of = to.at + r * to.row;
        const bool none = sums[r] == 0;  // no key has a weight
        if (none)
          memset(of, 0, size_t(g->value_width) * sizeof(T));
        else
          times(of, g->value_width, T(1) / sums[r]);
        ((T *)g->lse)[i + r] = none ? T(0) : tops[r] + vlog(Vec<T>(sums[r]))[0];
      }
    }
  }
};

struct AttentionGradient {
  template <class T>
  static void row(const attention_args *g) {
    T *weights = (T *)g->room, *slopes = weights + g->row_block * g->stride;
    const bool sloped = g->of_query || g->of_key || g->of_mask;
    for (int64_t j = g->first_key; j < g->last_key; j += g->key_block) {
      const int64_t left = g->last_key - j < g->key_block ? g->last_key - j : g->key_block;
      for (int64_t i = g->first_row; i < g->last_row; i += g->row_block) {
        const int64_t m = g->last_row - i < g->row_block ? g->last_row - i : g->row_block;
        const int64_t w = reach(g, i + m - j, left);
        if (w <= 0) continue;
        scores(g, weights, i, j, m, w);
        for (int64_t r = 0; r < m; r++) {
          T *x = weights + r * g->stride;
          masked(g, x, i + r, j, w);
          exponentials(x, w, ((const T *)g->lse)[i + r]);
        }
        const Matrix<T> given = rows_of<T>(g->given, g->given_step, i);
        const Matrix<T> p = {weights, g->stride, 1}, s = {slopes, g->stride, 1};
        if (g->of_value)
          multiply<T>(g, p.turned(), given, rows_of<T>(g->of_value, g->value_width, j), w,
                      g->value_width, m, true);
        if (!sloped) continue;
        multiply<T>(g, given, rows_of<T>(g->value, g->value_step, j).turned(), s, m, w,
                    g->value_width, false);
        for (int64_t r = 0; r < m; r++) {
          T *x = slopes + r * g->stride;
          const T *y = weights + r * g->stride;
          const T along = ((const T *)g->along)[i + r], by = T(g->scale);
          T *of = g->of_mask ? (T *)g->of_mask + (i + r) * g->keys + j : nullptr;
#pragma GCC ivdep
          for (int64_t k = 0; k < w; k++) x[k] = y[k] * (x[k] - along);
          if (of) memcpy(of, x, size_t(w) * sizeof(T));
          times(x, w, by);
        }
        if (g->of_query)
          multiply<T>(g, s, rows_of<T>(g->key, g->key_step, j),
                      rows_of<T>(g->of_query, g->width, i), m, g->width, w, true);
        if (g->of_key)
          multiply<T>(g, s.turned(), rows_of<T>(g->query, g->query_step, i),
                      rows_of<T>(g->of_key, g->width, j), w, g->width, m, true);
      }
    }
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(attention){
    {"attention", "", LT_FLOATING(Attention)},
    {"attention_gradient", "", LT_FLOATING(AttentionGradient)},
    LT_END,
};
