// The parts of a large LU factorization other than matrix products: blocks of a few columns,
// triangles of a few rows, exchanges of rows.
#include "../../lu.h"

#include "../fft/pair.h"
#include "../numbers.h"
#include "../rows.h"

namespace lt {
namespace {

// Loads and stores of the elements in lanes.
template <class T>
struct LanesOf {
  using type = Vec<T>;
  static constexpr int N = Vec<T>::N;
  static LT_INLINE type all(T v) { return Vec<T>(v); }
  static LT_INLINE type load(const T *p) { return lt::load(p); }
  static LT_INLINE void store(T *p, const type &v) { lt::store(p, v); }
  static LT_INLINE type load_some(const T *p, int n) { return load_partial(p, n); }
  static LT_INLINE void store_some(T *p, const type &v, int n) {
    store_partial(p, v, n < N ? n : N);
  }
  static LT_INLINE type minus_product(const type &x, const type &a, const type &b) {
    return fma(-a, b, x);
  }
  static LT_INLINE void turn(type *rows) { lt::turn(rows); }
};
template <class R>
struct LanesOf<Complex<R>> {
  using type = Parts<R>;
  static constexpr int N = Vec<R>::N;
  static LT_INLINE type all(Complex<R> v) { return {Vec<R>(v.re), Vec<R>(v.im)}; }
  static LT_INLINE type load(const Complex<R> *p) {
    const Pair<R> z = load_complex((const R *)p);
    return {z.re, z.im};
  }
  static LT_INLINE void store(Complex<R> *p, const type &v) {
    store_complex((R *)p, Pair<R>{v.re, v.im});
  }
  static LT_INLINE type load_some(const Complex<R> *p, int n) {
    Complex<R> some[N] = {};
    memcpy((void *)some, p, n * sizeof *p);
    return load(some);
  }
  static LT_INLINE void store_some(Complex<R> *p, const type &v, int n) {
    Complex<R> some[N];
    store(some, v);
    memcpy((void *)p, some, n * sizeof *p);
  }
  static LT_INLINE type minus_product(const type &x, const type &a, const type &b) {
    return {fma(a.im, b.im, fma(-a.re, b.re, x.re)), fma(-a.im, b.re, fma(-a.re, b.im, x.im))};
  }
  static LT_INLINE void turn(type *rows) {
    Vec<R> parts[N];
    for (int i = 0; i < N; i++) parts[i] = rows[i].re;
    lt::turn(parts);
    for (int i = 0; i < N; i++) rows[i].re = parts[i], parts[i] = rows[i].im;
    lt::turn(parts);
    for (int i = 0; i < N; i++) rows[i].im = parts[i];
  }
};

// The magnitude for the choice of pivots, as in LAPACK.
template <class R>
LT_INLINE R size_of(R v) {
  return __builtin_fabs(v);
}
template <class R>
LT_INLINE R size_of(Complex<R> v) {
  return R(__builtin_fabs(v.re)) + R(__builtin_fabs(v.im));
}

// Divides by the elements of lanes: multiplies by their inverses, unless that loses digits.
template <class T>
struct Divisor {
  using L = LanesOf<T>;
  using R = PartOf<T>;
  static constexpr R kMost = R(sizeof(R) == 4 ? 0x1p100 : 0x1p1000);
  Number<T> by, inverse;
  Mask<R> far;
  Divisor() = default;
  LT_INLINE explicit Divisor(const Number<T> &d)
      : by(d),
        inverse(divider(d)(Number<T>(R(1)))),
        far(!((size(d) > Vec<R>(1 / kMost)) & (size(d) < Vec<R>(kMost)))) {}
  LT_INLINE Number<T> operator()(const Number<T> &a) const {
    if (any(far)) return select(far, divider(by)(a), a * inverse);
    return a * inverse;
  }
};

// The first row with the largest magnitude; if that is NaN, the first one that is not zero.
template <class T>
int64_t find_pivot(const T *column, int64_t m) {
  using L = LanesOf<T>;
  using R = PartOf<T>;
  constexpr int N = L::N;
  int64_t at = 0;
  while (at < m && column[at] == T(0)) at++;
  if (at == m) return 0;
  if (size_of(column[at]) != size_of(column[at])) return at;
  const int64_t whole = m - m % N;
  Vec<R> sizes = R(0);
  for (int64_t i = 0; i < whole; i += N) sizes = max(size(L::load(column + i)), sizes);
  R most = 0;
  for (int lane = 0; lane < N; lane++) most = sizes[lane] > most ? sizes[lane] : most;
  for (int64_t i = whole; i < m; i++) most = size_of(column[i]) > most ? size_of(column[i]) : most;
  int64_t i = 0;
  while (i < whole && !any(size(L::load(column + i)) == Vec<R>(most))) i += N;
  while (size_of(column[i]) != most) i++;
  return i;
}

// f(i, load, store) for the rows from i to m, several at a time in lanes.
template <class T, class F>
LT_INLINE void for_rows(int64_t i, int64_t m, F f) {
  using L = LanesOf<T>;
  for (; i + L::N <= m; i += L::N) f(i, L::load, L::store);
  const int left = int(m - i);
  if (left > 0)
    f(
        i, [=](const T *from) __attribute__((always_inline)) { return L::load_some(from, left); },
        [=](T *to, const typename L::type &v)
            __attribute__((always_inline)) { L::store_some(to, v, left); });
}

// Columns are factored a few at a time: the updates from all preceding columns are accumulated in
// registers, so that an element is read and written once for all of them. The elements of a row are
// read before one is written, since columns often have a power of two as stride, for which a CPU
// mistakes reads for dependent on recent writes (4K aliasing).
struct LUPanel {
  static constexpr int kGroup = 4;

  // Subtracts the contributions of the first `done` columns from C columns.
  template <int C, class T>
  static void catch_up(T *a, int64_t lda, int64_t m, int64_t done, T *columns) {
    using L = LanesOf<T>;
    typename L::type by[LT_LU][C];
    for (int64_t k = 0; k < done; k++)
      for (int j = 0; j < C; j++) {
        T *column = columns + j * lda;
        const T u = a[k + k * lda] == T(0) ? T(0) : column[k];
        by[k][j] = L::all(u);
        for (int64_t i = k + 1; i < done; i++) column[i] = column[i] - a[i + k * lda] * u;
      }
    for_rows<T>(done, m, [&](int64_t i, auto load, auto store) __attribute__((always_inline)) {
      typename L::type x[C];
      for (int j = 0; j < C; j++) x[j] = load(columns + i + j * lda);
      for (int64_t k = 0; k < done; k++) {
        const typename L::type l = load(a + i + k * lda);
        for (int j = 0; j < C; j++) x[j] = L::minus_product(x[j], l, by[k][j]);
      }
      for (int j = 0; j < C; j++) store(columns + i + j * lda, x[j]);
    });
  }

  // Divides a column by its pivot, in row k, and subtracts its contribution from the next C
  // columns.
  template <int C, class T>
  static void eliminate(T *column, int64_t lda, int64_t m, int64_t k) {
    using L = LanesOf<T>;
    const Divisor<T> divided(L::all(column[k]));
    typename L::type by[C + 1];
    for (int j = 1; j <= C; j++) by[j] = L::all(column[k + j * lda]);
    for_rows<T>(k + 1, m, [&](int64_t i, auto load, auto store) __attribute__((always_inline)) {
      typename L::type x[C + 1];
      for (int j = 0; j <= C; j++) x[j] = load(column + i + j * lda);
      x[0] = divided(x[0]);
      for (int j = 1; j <= C; j++) x[j] = L::minus_product(x[j], x[0], by[j]);
      for (int j = 0; j <= C; j++) store(column + i + j * lda, x[j]);
    });
  }

  template <class T>
  static void row(lt_lu *p) {
    const int64_t m = p->m, n = p->n, lda = p->a_col, most = m < n ? m : n;
    T *a = (T *)p->a;
    p->info = 0;
    for (int64_t first = 0; first < n; first += kGroup) {
      const int count = n - first < kGroup ? int(n - first) : kGroup;
      const int64_t done = first < most ? first : most;
      with_count(count,
                 [&](auto c) { catch_up<decltype(c)::value>(a, lda, m, done, a + first * lda); });
      for (int64_t k = first; k < first + count && k < most; k++) {
        T *column = a + k * lda;
        const int64_t row = k + find_pivot(column + k, m - k);
        ((int32_t *)p->pivots)[k] = int32_t(row + 1);
        if (row != k)
          for (int64_t j = 0; j < n; j++) std::swap(a[k + j * lda], a[row + j * lda]);
        if (column[k] == T(0)) {
          if (p->info == 0) p->info = k + 1;
          continue;
        }
        with_count(int(first + count - k - 1),
                   [&](auto c) { eliminate<decltype(c)::value>(column, lda, m, k); });
      }
    }
  }

 private:
  // f of a number up to kGroup, as a constant.
  template <class F>
  static LT_INLINE void with_count(int n, F f) {
    switch (n) {
      case 0:
        return f(std::integral_constant<int, 0>());
      case 1:
        return f(std::integral_constant<int, 1>());
      case 2:
        return f(std::integral_constant<int, 2>());
      case 3:
        return f(std::integral_constant<int, 3>());
      default:
        return f(std::integral_constant<int, kGroup>());
    }
  }
};

// Some columns of right-hand sides, a lane for each, on their way in and out. The rows are in the
// order in which they are solved for.
template <class T>
struct Columns {
  using L = LanesOf<T>;
  static constexpr int N = L::N;
  typename L::type x[LT_LU];

  static LT_INLINE int64_t nth(const lt_lu *p, int64_t i) { return p->upper ? p->m - 1 - i : i; }

  LT_INLINE void load(const lt_lu *p, const T *b, int count) {
    if (p->b_col == 1) {
      for (int64_t i = 0; i < p->m; i++) x[i] = L::load_some(b + nth(p, i) * p->b_row, count);
      return;
    }
    for (int64_t i = 0; i < p->m; i += N) {
      typename L::type rows[N];
      const int n = p->m - i < N ? int(p->m - i) : N;
      for (int lane = 0; lane < N; lane++)
        rows[lane] = L::load_some(b + i + (lane < count ? lane : 0) * p->b_col, n);
      L::turn(rows);
      for (int k = 0; k < n; k++) x[nth(p, i + k)] = rows[k];
    }
  }

  LT_INLINE void store(const lt_lu *p, T *b, int count) const {
    if (p->b_col == 1) {
      for (int64_t i = 0; i < p->m; i++) L::store_some(b + nth(p, i) * p->b_row, x[i], count);
      return;
    }
    for (int64_t i = 0; i < p->m; i += N) {
      typename L::type rows[N];
      const int n = p->m - i < N ? int(p->m - i) : N;
      for (int k = 0; k < N; k++) rows[k] = x[nth(p, i + (k < n ? k : 0))];
      L::turn(rows);
      for (int lane = 0; lane < count; lane++)
        L::store_some(b + i + lane * p->b_col, rows[lane], n);
    }
  }
};

// Solves for the columns in x with a triangle with elements at(k, i), i >= k.
template <class T, class At>
LT_INLINE void solve_lanes(const lt_lu *p, Number<T> *x, const Divisor<T> *divided, At at) {
  for (int64_t k = 0; k < p->m; k++) {
    if (!p->unit) x[k] = divided[k](x[k]);
    for (int64_t i = k + 1; i < p->m; i++) x[i] = LanesOf<T>::minus_product(x[i], at(k, i), x[k]);
  }
}

// A lane holds a column of a matrix, or a matrix if these have fewer columns than lanes. The
// operations are the same for both.
struct LUTriangle {
  template <class T>
  static void columns_of(const lt_lu *p, const T *a, T *b) {
    using L = LanesOf<T>;
    const int64_t m = p->m;
    T triangle[LT_LU][LT_LU];
    Divisor<T> divided[LT_LU];
    for (int64_t i = 0; i < m; i++) {
      for (int64_t k = 0; k <= i; k++)
        triangle[k][i] = a[Columns<T>::nth(p, i) * p->a_row + Columns<T>::nth(p, k) * p->a_col];
      if (!p->unit) divided[i] = Divisor<T>(L::all(triangle[i][i]));
    }
    for (int64_t j = 0; j < p->n; j += L::N, b += L::N * p->b_col) {
      const int count = p->n - j < L::N ? int(p->n - j) : L::N;
      Columns<T> c;
      c.load(p, b, count);
      solve_lanes(p, c.x, divided, [&](int64_t k, int64_t i) __attribute__((always_inline)) {
        return L::all(triangle[k][i]);
      });
      c.store(p, b, count);
    }
  }

  // The first `count` matrices, one per lane; the remaining lanes repeat the last one.
  template <class T>
  static void matrices(const lt_lu *p, const T *a, T *b, int count) {
    using R = PartOf<T>;
    constexpr int N = LanesOf<T>::N, parts = sizeof(T) / sizeof(R);
    const int64_t m = p->m;
    Number<T> triangle[LT_LU][LT_LU], x[LT_LU];
    Divisor<T> divided[LT_LU];
    auto put = [](Number<T> &to, int lane, const T *from) __attribute__((always_inline)) {
      for (int k = 0; k < parts; k++) ((R *)&to)[k * N + lane] = ((const R *)from)[k];
    };
    for (int lane = 0; lane < N; lane++) {
      const T *of = a + (lane < count ? lane : count - 1) * p->a_step;
      for (int64_t k = 0; k < m; k++) {
        const T *column = of + Columns<T>::nth(p, k) * p->a_col;
        for (int64_t i = k; i < m; i++)
          put(triangle[k][i], lane, column + Columns<T>::nth(p, i) * p->a_row);
      }
    }
    if (!p->unit)
      for (int64_t k = 0; k < m; k++) divided[k] = Divisor<T>(triangle[k][k]);
    for (int64_t j = 0; j < p->n; j++, b += p->b_col) {
      for (int lane = 0; lane < N; lane++) {
        const T *column = b + (lane < count ? lane : count - 1) * p->b_step;
        for (int64_t i = 0; i < m; i++) put(x[i], lane, column + Columns<T>::nth(p, i) * p->b_row);
      }
      solve_lanes(p, x, divided, [&](int64_t k, int64_t i) __attribute__((always_inline)) {
        return triangle[k][i];
      });
      for (int lane = 0; lane < count; lane++)
        for (int64_t i = 0; i < m; i++) {
          T *to = b + lane * p->b_step + Columns<T>::nth(p, i) * p->b_row;
          for (int k = 0; k < parts; k++) ((R *)to)[k] = ((const R *)&x[i])[k * N + lane];
        }
    }
  }

  template <class T>
  static void row(lt_lu *p) {
    constexpr int64_t N = LanesOf<T>::N;
    const T *a = (const T *)p->a;
    T *b = (T *)p->b;
    const bool wide = p->n >= N || p->batch == 1;
    for (int64_t i = 0; i < p->batch; i += wide ? 1 : N) {
      if (wide)
        columns_of(p, a + i * p->a_step, b + i * p->b_step);
      else
        matrices(p, a + i * p->a_step, b + i * p->b_step, p->batch - i < N ? p->batch - i : N);
    }
  }
};

struct LUExchange {
  template <class T>
  static void row(lt_lu *p) {
    const int32_t *pivots = (const int32_t *)p->pivots;
    T *b = (T *)p->b;
    for (int64_t j = 0; j < p->n; j++, b += p->b_col)
      for (int64_t i = 0; i < p->m; i++) std::swap(b[i], b[pivots[i] - 1]);
  }
};

}  // namespace
}  // namespace lt

// clang-format off
LT_UNIT(lu){
    {"lu_panel", "", LT_FLOATING_COMPLEX(LUPanel)},
    {"lu_triangle", "", LT_FLOATING_COMPLEX(LUTriangle)},
    {"lu_exchange", "", LT_FLOATING_COMPLEX(LUExchange)},
    LT_END,
};
