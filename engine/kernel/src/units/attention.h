// Attention: values weighted by softmax of the products of queries and keys, and its gradients. A
// tile of weights is computed at a time, for some queries and some keys: the weights of a query are
// relative to the largest product so far, and the sums are rescaled when a larger one occurs.
#include "../../gemm.h"
#include "../attention_few.h"
#include "../gemm_panel.h"
#include "../rows.h"
#include "../vmath_exp.h"
#include "../vmath_log.h"

namespace lt {
namespace {

// Matrices of one head, with adjacent elements in a row and the given strides between rows. A mask
// has elements of the kernel's dtype, which are added to products, or bytes that select them.
// Without gradients the call writes `result` and `lse`, the base-2 logarithms of sums of
// exponentials, for the queries from `row` to `last_row`; with them it adds, for these and the keys
// from `key` to `last_key`, to those that are not NULL. `tiles` and `dots` are product kernels;
// `room` has a tile, with gradients two, and after them, if `packs`, packed panels of a block of
// keys and values. With many queries, keys and values of bfloat16 are multiplied by the kernel
// `rounded`, after they are packed by `rounded_pack`.
struct attention_args {
  uintptr_t query, key, value, mask, result, lse;
  uintptr_t given, along, of_query, of_key, of_value, of_mask;
  uintptr_t tiles, dots, rounded, rounded_pack, room;
  int64_t rows, keys, width, value_width;
  int64_t first_row, last_row, first_key, last_key, row_block, key_block, stride;
  int64_t query_step, key_step, value_step, mask_step, mask_column, result_step, given_step;
  double scale;
  int32_t causal, packs;
};

// A matrix in memory, and the address of one of its elements.
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

constexpr int64_t kSkinny =
    8;  // number of rows up to which products read a second operand in place

// c = a b, or c + a b with `more`; c has m rows, n columns and sums of k products.
template <class T>
lt_gemm product_of(Matrix<T> a, Matrix<T> b, Matrix<T> c, int64_t m, int64_t n, int64_t k,
                   bool more) {
  lt_gemm p = {};
  p.a = (uintptr_t)a.at, p.b = (uintptr_t)b.at, p.c = p.d = (uintptr_t)c.at;
  p.batch = 1, p.m = m, p.n = n, p.k = k;
  p.a_row = a.row, p.a_col = a.column, p.b_row = b.row, p.b_col = b.column;
  p.c_row = p.d_row = c.row, p.c_col = p.d_col = c.column;
  const T factors[2] = {T(1), T(more)};
  memcpy(p.alpha, &factors[0], sizeof(T));
  memcpy(p.beta, &factors[1], sizeof(T));
  return p;
}
template <class T>
__attribute__((noinline)) void multiply(const attention_args *g, Matrix<T> a, Matrix<T> b,
                                        Matrix<T> c, int64_t m, int64_t n, int64_t k, bool more) {
  const lt_gemm p = product_of(a, b, c, m, n, k, more);
  const bool along = m <= kSkinny && a.column == 1 && b.row == 1 && k >= 2 * Vec<T>::N;
  ((void (*)(const lt_gemm *))(along ? g->dots : g->tiles))(&p);
}

// A second operand that many products share, in packed panels, each with all rows.
template <class T>
struct Panels {
  Matrix<T> from;
  T *at;  // NULL without packed panels
  int64_t rows;
};

// The n columns of a matrix of k rows, packed if at least some rows are multiplied with them.
template <class T>
__attribute__((noinline)) Panels<T> packed(const attention_args *g, Matrix<T> b, int64_t k,
                                           int64_t n, int64_t rows, T *&room) {
  constexpr int64_t W = kPanel<T>;
  if (!g->packs || rows <= kSkinny) return {b, nullptr, k};
  const Panels<T> panels = {b, room, k};
  for (int64_t j = 0; j < n; j += W, room += W * k)
    pack<Each<T>>(b.at + j * b.column, b.row, b.column, k, n - j < W ? n - j : W, room);
  return panels;
}

// multiply with the packed panels of b, if there are any; products of few rows do not use them.
template <class T>
void multiply_panels(const attention_args *g, Matrix<T> a, const Panels<T> &b, Matrix<T> c,
                     int64_t m, int64_t n, int64_t k, bool more) {
  constexpr int64_t W = kPanel<T>;
  if (!b.at || m <= kSkinny) return multiply(g, a, b.from, c, m, n, k, more);
  for (int64_t j = 0; j < n; j += W)
    multiply<T>(g, a, {b.at + j * b.rows, W, 1}, {c.at + j, c.row, 1}, m, n - j < W ? n - j : W, k,
                more);
}

// A second operand of bfloat16 in packed panels, with k rows.
struct RoundedPanels {
  uintptr_t at;
  int64_t k;
};

__attribute__((noinline)) inline RoundedPanels packed(const attention_args *g,
                                                      Matrix<const BFloat16> b, int64_t k,
                                                      int64_t n, int64_t, float *&room) {
  lt_gemm_packing p = {(uintptr_t)b.at, (uintptr_t)room, n, k, b.row, b.column, 0};
  ((void (*)(lt_gemm_packing *))g->rounded_pack)(&p);
  const RoundedPanels panels = {p.packed, k};
  room += p.bytes / int64_t(sizeof(float));
  return panels;
}

inline void multiply_panels(const attention_args *g, Matrix<float> a, const RoundedPanels &b,
                            Matrix<float> c, int64_t m, int64_t n, int64_t k, bool more) {
  lt_gemm_rounded r = {};
  r.g = product_of<float>(a, Matrix<float>{}, c, m, n, k, more);
  r.packed = b.at, r.packed_k = b.k;
  ((void (*)(const lt_gemm_rounded *))g->rounded)(&r);
}

// 2^x for x up to 0, with 0 for results below 2^-126; NaN stays NaN.
template <class T>
LT_INLINE Vec<T> decline(Vec<T> x) {
  constexpr T lowest = sizeof(T) == 4 ? -126 : -1022;
  const Integer<T> n = nearest(x);
  const Vec<T> r = (x - n.value) * T(1 / Ln2<double>::inverse), one = T(1);
  const Vec<T> power = fma(fma(r, exp_tail(r), one), r, one);
  const auto up = n.bits << Format<T>::fraction_bits;
  const Vec<T> none = max(Vec<T>(T(0)), x);
  return select(x >= Vec<T>(lowest), bit_cast<T>(bit_cast<IntOf<T>>(power) + up), none);
}

// The lanes of x, interleaved at a distance of h.
template <int h, class T, size_t... I>
LT_INLINE Vec<T> exchanged(Vec<T> x, std::index_sequence<I...>) {
  return __builtin_shufflevector(x.v, x.v, int(I ^ h)...);
}
// The reduction of all lanes by a binary function.
template <class T, class F, int h = Vec<T>::N / 2>
LT_INLINE T together(Vec<T> x, F f) {
  x = f(x, exchanged<h>(x, std::make_index_sequence<Vec<T>::N>()));
  if constexpr (h > 1)
    return together<T, F, h / 2>(x, f);
  else
    return x[0];
}

// x[i] = x[i] * by
template <class T>
__attribute__((noinline)) void times(T *x, int64_t n, T by) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; k++) x[k] *= by;
}

constexpr double kLog2e = Ln2<double>::inverse;

// Whether the largest product has the largest weight, so that they are scaled on the way.
LT_INLINE bool unmasked(const attention_args *g) { return !g->mask && g->scale > 0; }

// The factor that converts masked products to exponents of 2.
template <class T>
LT_INLINE T exponent(const attention_args *g) {
  return T(unmasked(g) ? g->scale * kLog2e : kLog2e);
}

// Scales, if necessary, and masks the products of m queries from i on with w keys from j on, padded
// to a whole vector. Returns the largest product of each query.
template <class T>
__attribute__((noinline)) void masked(const attention_args *g, T *x, int64_t i, int64_t j,
                                      int64_t m, int64_t w, T *tops) {
  constexpr int64_t N = Vec<T>::N;
  const T never = -__builtin_inf();
  for (const int64_t end = i + m; i < end; i++, x += g->stride) {
    int64_t count = w;
    if (g->causal && i - j + 1 < w) count = i < j ? 0 : i - j + 1;
    if (!unmasked(g)) times(x, count, T(g->scale));
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
    Vec<T> most[2] = {never, never};
    int64_t k = 0;
    for (; k + N < w; k += 2 * N)
      for (int u = 0; u < 2; u++) most[u] = max(most[u], load(x + k + u * N));
    if (k < w) most[0] = max(most[0], load(x + k));
    *tops++ = together(max(most[0], most[1]), [](Vec<T> a, Vec<T> b) { return max(a, b); });
  }
}

// 2^(x by - off) for w elements, up to a whole vector, of m rows, and the sum of each.
template <class T>
__attribute__((noinline)) void exponentials(T *x, int64_t stride, int64_t m, int64_t w, T by,
                                            const T *offs, T *sums) {
  constexpr int64_t N = Vec<T>::N;
  for (int64_t r = 0; r < m; r++, x += stride) {
    const Vec<T> off = -offs[r];
    Vec<T> sum[2] = {T(0), T(0)};
    const auto step = [&](T *at, Vec<T> &sum) __attribute__((always_inline)) {
      const Vec<T> y = decline(fma(load(at), Vec<T>(by), off));
      store(at, y);
      sum = sum + y;
    };
    int64_t k = 0;
    for (; k + N < w; k += 2 * N)
      for (int u = 0; u < 2; u++) step(x + k + u * N, sum[u]);
    if (k < w) step(x + k, sum[0]);
    sums[r] = together(sum[0] + sum[1], [](Vec<T> a, Vec<T> b) { return a + b; });
  }
}

// The end of the keys that queries up to i, which is not one of them, have weights for.
LT_INLINE int64_t reach(const attention_args *g, int64_t i, int64_t keys) {
  return g->causal && i < keys ? i : keys;
}

constexpr int64_t kBlock = 256;  // queries that a tile has weights of, at most

// The softmax of a head over the blocks of keys so far: for each query the exponent that its
// weights are relative to, and their sum.
template <class T, int64_t M>
struct RunningSoftmax {
  static constexpr T never = -__builtin_inf();
  const attention_args *g;
  int64_t first;
  T offs[M], sums[M];

  RunningSoftmax(const attention_args *g, int64_t first, int64_t last) : g(g), first(first) {
    for (int64_t r = 0; r < last - first; r++) offs[r] = never, sums[r] = 0;
  }

  // Converts the products of m queries from i on with w keys from j on to weights, and rescales the
  // results of the keys before.
  void weigh(T *tile, int64_t i, int64_t j, int64_t m, int64_t w) {
    const T by = exponent<T>(g);
    const Matrix<T> to = rows_of<T>(g->result, g->result_step, i);
    T tops[kBlock], added[kBlock];
    masked(g, tile, i, j, m, w, tops);
    for (int64_t r = 0; r < m; r++) {
      T &off = offs[i - first + r];
      const T top = by * tops[r] > off ? by * tops[r] : off;
      tops[r] = top == never ? T(0) : top;
      if (j > 0 && top != off) {
        const T less = decline(Vec<T>(off - tops[r]))[0];
        sums[i - first + r] *= less;
        times(to.at + r * to.row, g->value_width, less);
      }
      off = top;
    }
    exponentials(tile, g->stride, m, w, by, tops, added);
    for (int64_t r = 0; r < m; r++) sums[i - first + r] += added[r];
  }

  // Divides the results of the queries up to `last` by the sums of their weights.
  void finish(int64_t last) {
    for (int64_t r = 0; r < last - first; r++) {
      T *of = rows_of<T>(g->result, g->result_step, first + r).at;
      const bool none = sums[r] == 0 && offs[r] == never;  // no key has a weight
      if (none)
        memset(of, 0, size_t(g->value_width) * sizeof(T));
      else
        times(of, g->value_width, T(1) / sums[r]);
      ((T *)g->lse)[first + r] = none ? T(0) : offs[r] + vlog2(Vec<T>(sums[r]))[0];
    }
  }
};

// S is the dtype of keys and values; all others are of the dtype that these are computed in.
struct Attention {
  static constexpr int64_t kRows = 1024;  // queries that a block of keys is packed for
  template <class S>
  static void row(const attention_args *g) {
    constexpr bool stored = !std::is_same<S, Computed<S>>::value;
    constexpr bool rounds = std::is_same<S, BFloat16>::value;
    if (g->rows <= kSkinny || (stored && !(rounds && g->rounded))) {
      for (int64_t i = g->first_row; i < g->last_row; i += kSkinny)
        few<S>(g, i, g->last_row - i < kSkinny ? g->last_row : i + kSkinny);
    } else if constexpr (!stored || rounds) {
      for (int64_t i = g->first_row; i < g->last_row; i += kRows)
        rows<S>(g, i, g->last_row - i < kRows ? g->last_row : i + kRows);
    }
  }

  template <class S>
  static void few(const attention_args *g, int64_t first, int64_t last) {
    using T = Computed<S>;
    const int64_t m = last - first;
    const Matrix<T> x = {(T *)g->room, g->stride, 1};
    const Matrix<T> queries = rows_of<T>(g->query, g->query_step, first);
    const Matrix<T> to = rows_of<T>(g->result, g->result_step, first);
    RunningSoftmax<T, kSkinny> softmax(g, first, last);
    for (int64_t j = 0; j < reach(g, last, g->keys); j += g->key_block) {
      const int64_t left = g->keys - j < g->key_block ? g->keys - j : g->key_block;
      const int64_t w = reach(g, last - j, left);
      few_products(queries.at, queries.row, rows_of<const S>(g->key, g->key_step, j).at,
                   g->key_step, x.at, x.row, m, w, g->width);
      softmax.weigh(x.at, first, j, m, w);
      few_sums(x.at, x.row, rows_of<const S>(g->value, g->value_step, j).at, g->value_step, to.at,
               to.row, m, w, g->value_width, j > 0);
    }
    softmax.finish(last);
  }

  template <class S>
  static void rows(const attention_args *g, int64_t first, int64_t last) {
    using T = Computed<S>;
    using Key = std::conditional_t<std::is_same<S, T>::value, T, const S>;
    T *const tile = (T *)g->room;
    RunningSoftmax<T, kRows> softmax(g, first, last);
    for (int64_t j = 0; j < reach(g, last, g->keys); j += g->key_block) {
      const int64_t left = g->keys - j < g->key_block ? g->keys - j : g->key_block;
      T *room = tile + g->row_block * g->stride;
      const auto keys = packed(g, rows_of<Key>(g->key, g->key_step, j).turned(), g->width, left,
                               last - first, room);
      const auto values = packed(g, rows_of<Key>(g->value, g->value_step, j), left, g->value_width,
                                 last - first, room);
      for (int64_t i = first; i < last; i += g->row_block) {
        const int64_t m = last - i < g->row_block ? last - i : g->row_block;
        const int64_t w = reach(g, i + m - j, left);
        if (w <= 0) continue;
        const Matrix<T> x = {tile, g->stride, 1};
        multiply_panels(g, rows_of<T>(g->query, g->query_step, i), keys, x, m, w, g->width, false);
        softmax.weigh(tile, i, j, m, w);
        multiply_panels(g, x, values, rows_of<T>(g->result, g->result_step, i), m, g->value_width,
                        w, j > 0);
      }
    }
    softmax.finish(last);
  }
};

struct AttentionGradient {
  template <class T>
  static void row(const attention_args *g) {
    T *const weights = (T *)g->room, *const slopes = weights + g->row_block * g->stride;
    const bool sloped = g->of_query || g->of_key || g->of_mask;
    const int64_t rows = g->last_row - g->first_row;
    for (int64_t j = g->first_key; j < g->last_key; j += g->key_block) {
      const int64_t left = g->last_key - j < g->key_block ? g->last_key - j : g->key_block;
      T *room = slopes + g->row_block * g->stride;
      const Matrix<T> lying = rows_of<T>(g->key, g->key_step, j);
      const auto turned = packed(g, lying.turned(), g->width, left, rows, room);
      const auto keys = packed(g, lying, left, g->width, g->of_query ? rows : 0, room);
      const auto values = packed(g, rows_of<T>(g->value, g->value_step, j).turned(), g->value_width,
                                 left, sloped ? rows : 0, room);
      for (int64_t i = g->first_row; i < g->last_row; i += g->row_block) {
        const int64_t m = g->last_row - i < g->row_block ? g->last_row - i : g->row_block;
        const int64_t w = reach(g, i + m - j, left);
        if (w <= 0) continue;
        const Matrix<T> query = rows_of<T>(g->query, g->query_step, i);
        const Matrix<T> given = rows_of<T>(g->given, g->given_step, i);
        const Matrix<T> p = {weights, g->stride, 1}, s = {slopes, g->stride, 1};
        multiply_panels(g, query, turned, p, m, w, g->width, false);
        T tops[kBlock], sums[kBlock];
        masked(g, weights, i, j, m, w, tops);
        exponentials(weights, g->stride, m, w, exponent<T>(g), (const T *)g->lse + i, sums);
        if (g->of_value)
          multiply(g, p.turned(), given, rows_of<T>(g->of_value, g->value_width, j), w,
                   g->value_width, m, true);
        if (!sloped) continue;
        multiply_panels(g, given, values, s, m, w, g->value_width, false);
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
          multiply_panels(g, s, keys, rows_of<T>(g->of_query, g->width, i), m, g->width, w, true);
        if (g->of_key)
          multiply(g, s.turned(), query, rows_of<T>(g->of_key, g->width, j), w, g->width, m, true);
      }
    }
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(attention){
    {"attention", "", LT_STORED_FLOATING(Attention)},
    {"attention_gradient", "", LT_FLOATING(AttentionGradient)},
    LT_END,
};
