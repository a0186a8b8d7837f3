// The parts of a large LU factorization that are no matrix products: panels of a few columns,
// triangles of a few rows, exchanges of rows.
#include "../../lu.h"

#include "../fft/pair.h"
#include "../rows.h"
#include "../vec.h"

namespace lt {
namespace {

// A number of dtype T for each lane.
template <class T>
struct LanesOf {
  using Real = T;
  using type = Vec<T>;
  static constexpr int N = Vec<T>::N;
  static LT_INLINE type all(T v) { return Vec<T>(v); }
  static LT_INLINE type load(const T *p) { return lt::load(p); }
  static LT_INLINE void store(T *p, const type &v) { lt::store(p, v); }
  static LT_INLINE type load_some(const T *p, int n) { return load_partial(p, n); }
  static LT_INLINE void store_some(T *p, const type &v, int n) {
    store_partial(p, v, n < N ? n : N);
  }
  static LT_INLINE type product(const type &a, const type &b) { return a * b; }
  static LT_INLINE type quotient(const type &a, const type &b) { return a / b; }
  static LT_INLINE type minus_product(const type &x, const type &a, const type &b) {
    return fma(-a, b, x);
  }
  static LT_INLINE void turn(type *rows) { lt::turn(rows); }
};
template <class R>
struct LanesOf<Complex<R>> {
  using Real = R;
  using type = Pair<R>;
  static constexpr int N = Vec<R>::N;
  static LT_INLINE type all(Complex<R> v) { return {Vec<R>(v.re), Vec<R>(v.im)}; }
  static LT_INLINE type load(const Complex<R> *p) { return load_complex((const R *)p); }
  static LT_INLINE void store(Complex<R> *p, const type &v) { store_complex((R *)p, v); }
  static LT_INLINE type load_some(const Complex<R> *p, int n) {
    R some[2 * N] = {};
    memcpy(some, p, 2 * n * sizeof(R));
    return load_complex(some);
  }
  static LT_INLINE void store_some(Complex<R> *p, const type &v, int n) {
    R some[2 * N];
    store_complex(some, v);
    memcpy((void *)p, some, 2 * n * sizeof(R));
  }
  static LT_INLINE type product(const type &a, const type &b) { return a * b; }
  static LT_INLINE type quotient(const type &a, const type &b) {
    Complex<R> x[N], y[N];
    store(x, a);
    store(y, b);
    for (int lane = 0; lane < N; lane++) x[lane] = x[lane] / y[lane];
    return load(x);
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

// What pivots are chosen by, as LAPACK does.
template <class R>
LT_INLINE R size_of(R v) {
  return __builtin_fabs(v);
}
template <class R>
LT_INLINE R size_of(Complex<R> v) {
  return R(__builtin_fabs(v.re)) + R(__builtin_fabs(v.im));
}

// Divides by one number: multiplies by its inverse, unless that loses digits.
template <class T>
struct Divisor {
  using L = LanesOf<T>;
  typename L::type by, inverse;
  bool far;
  explicit Divisor(T d) : by(L::all(d)), inverse(L::all(T(1) / d)) {
    constexpr int most = sizeof(typename L::Real) == 4 ? 100 : 1000;
    const int exponent = __builtin_ilogb(double(size_of(d)));
    far = exponent < -most || exponent > most;
  }
  LT_INLINE typename L::type operator()(const typename L::type &a) const {
    return far ? L::quotient(a, by) : L::product(a, inverse);
  }
};

// The first row with the largest size; the first one that is not zero where that is NaN.
template <class T>
int64_t find_pivot(const T *column, int64_t m) {
  using R = typename LanesOf<T>::Real;
  constexpr int kAtOnce = 64;
  int64_t at = 0;
  while (at < m && column[at] == T(0)) at++;
  if (at == m) return 0;
  R best = size_of(column[at]);
  for (int64_t i = at + 1; i < m && best == best; i += kAtOnce) {
    const int64_t n = m - i < kAtOnce ? m - i : kAtOnce;
    R sizes[kAtOnce], most = 0;
    for (int64_t k = 0; k < n; k++) sizes[k] = size_of(column[i + k]);
    for (int64_t k = 0; k < n; k++) most = sizes[k] > most ? sizes[k] : most;
    if (!(most > best)) continue;
    best = most;
    for (at = i; sizes[at - i] != most;) at++;
  }
  return at;
}

struct LUPanel {
  template <class T>
  static void row(lt_lu *p) {
    using L = LanesOf<T>;
    const int64_t m = p->m, n = p->n, lda = p->a_col, most = m < n ? m : n;
    T *a = (T *)p->a;
    p->info = 0;
    for (int64_t k = 0; k < most; k++) {
      T *column = a + k * lda;
      const int64_t row = k + find_pivot(column + k, m - k);
      ((int32_t *)p->pivots)[k] = int32_t(row + 1);
      if (row != k)
        for (int64_t j = 0; j < n; j++) std::swap(a[k + j * lda], a[row + j * lda]);
      const T pivot = column[k];
      if (pivot == T(0)) {
        if (p->info == 0) p->info = k + 1;
        continue;
      }
      const Divisor<T> divided(pivot);
      typename L::type by[LT_LU];
      for (int64_t j = k + 1; j < n; j++) by[j] = L::all(a[k + j * lda]);
      const auto eliminate = [&](int64_t i, auto load, auto store) __attribute__((always_inline)) {
        const auto l = divided(load(column + i));
        store(column + i, l);
        for (int64_t j = k + 1; j < n; j++) {
          T *at = a + i + j * lda;
          store(at, L::minus_product(load(at), l, by[j]));
        }
      };
      int64_t i = k + 1;
      for (; i + L::N <= m; i += L::N) eliminate(i, L::load, L::store);
      const int left = int(m - i);
      if (left > 0)
        eliminate(
            i, [=](const T *from) { return L::load_some(from, left); },
            [=](T *to, const typename L::type &v) { L::store_some(to, v, left); });
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

struct LUTriangle {
  template <class T>
  static void row(lt_lu *p) {
    using L = LanesOf<T>;
    const int64_t m = p->m;
    T triangle[LT_LU][LT_LU];
    for (int64_t i = 0; i < m; i++)
      for (int64_t k = 0; k <= i; k++)
        triangle[k][i] =
            ((const T *)p->a)[Columns<T>::nth(p, i) * p->a_row + Columns<T>::nth(p, k) * p->a_col];
    for (int64_t j = 0; j < p->n; j += L::N) {
      const int count = p->n - j < L::N ? int(p->n - j) : L::N;
      T *b = (T *)p->b + j * p->b_col;
      Columns<T> c;
      c.load(p, b, count);
      for (int64_t k = 0; k < m; k++) {
        if (!p->unit) c.x[k] = Divisor<T>(triangle[k][k])(c.x[k]);
        for (int64_t i = k + 1; i < m; i++)
          c.x[i] = L::minus_product(c.x[i], L::all(triangle[k][i]), c.x[k]);
      }
      c.store(p, b, count);
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
