// Factorizations of small matrices, one per vector lane. Lanes are independent, and no products are
// fused, so that the results for a matrix are bitwise identical in any batch and in every tier.
#include "../../small.h"
#include "../numbers.h"
#include "../rows.h"

namespace lt {
namespace {

// One matrix of T per lane; the remaining lanes repeat the last one.
template <class T>
struct Lanes {
  using R = PartOf<T>;
  static constexpr int N = Vec<R>::N;
  static constexpr int64_t kParts = sizeof(T) / sizeof(R);
  Number<T> v[LT_SMALL * LT_SMALL];
  int64_t rows;

  LT_INLINE Number<T> &operator()(int64_t i, int64_t j) { return v[i + j * rows]; }

  LT_INLINE void load(const T *from, int64_t m, int64_t n, int64_t begin, int count) {
    rows = m;
    for (int lane = 0; lane < N; lane++)
      put(v, lane, from + (begin + (lane < count ? lane : count - 1)) * m * n, m * n);
  }
  LT_INLINE void store(T *to, int64_t m, int64_t n, int64_t begin, int count) const {
    for (int lane = 0; lane < count; lane++) get(v, lane, to + (begin + lane) * m * n, m * n);
  }

  // n numbers of one lane.
  static LT_INLINE void put(Number<T> *v, int lane, const T *from, int64_t n) {
    for (int64_t e = 0; e < n * kParts; e++) ((R *)v)[e * N + lane] = ((const R *)from)[e];
  }
  static LT_INLINE void get(const Number<T> *v, int lane, T *to, int64_t n) {
    for (int64_t e = 0; e < n * kParts; e++) ((R *)to)[e] = ((const R *)v)[e * N + lane];
  }
};

// Calls f with the first matrix of each group of lanes, and the number of matrices in it.
template <class T, class F>
LT_INLINE void each_group(const lt_small *s, F f) {
  constexpr int N = Lanes<T>::N;
  for (int64_t i = s->begin; i < s->end; i += N) {
    const int64_t left = s->end - i;
    f(i, left < N ? (int)left : N);
  }
}

// A lane's numbers as int32, for the matrices that there are.
template <class T>
LT_INLINE void put_integers(int32_t *to, int64_t step, Vec<T> v, int count) {
  for (int lane = 0; lane < count; lane++) to[lane * step] = (int32_t)v[lane];
}

template <class V, class R>
LT_INLINE void exchange(V &a, V &b, Mask<R> where) {
  const V t = a;
  a = select(where, b, a);
  b = select(where, t, b);
}

// Factors with partial pivoting; if the largest magnitude is NaN, the pivot is the first one that
// is not zero; pivot[k] is the row that row k was exchanged with.
template <class T, class R = PartOf<T>>
LT_INLINE Vec<R> factor_lanes(Lanes<T> &a, int64_t m, int64_t n, Vec<R> *pivot) {
  const Vec<R> none(R(0));
  Vec<R> info = none;
  for (int64_t k = 0; k < (m < n ? m : n); k++) {
    Vec<R> best = size(a(k, k)), row = Vec<R>(R(k));
    for (int64_t i = k + 1; i < m; i++) {
      const Vec<R> other = size(a(i, k));
      const Mask<R> larger = (other > best) | ((best == none) & (other != none));
      best = select(larger, other, best);
      row = select(larger, Vec<R>(R(i)), row);
    }
    pivot[k] = row;
    for (int64_t i = k + 1; i < m; i++) {
      const Mask<R> here = row == Vec<R>(R(i));
      if (any(here))
        for (int64_t j = 0; j < n; j++) exchange(a(k, j), a(i, j), here);
    }
    const Mask<R> zero = size(a(k, k)) == none;
    info = select(zero & (info == none), Vec<R>(R(k + 1)), info);
    const auto divided = divider(select(zero, Number<T>(R(1)), a(k, k)));
    for (int64_t i = k + 1; i < m; i++) a(i, k) = divided(a(i, k));
    for (int64_t j = k + 1; j < n; j++)
      for (int64_t i = k + 1; i < m; i++) a(i, j) = a(i, j) - a(i, k) * a(k, j);
  }
  return info;
}

// Solves with the factors for one column.
template <class T, class R = PartOf<T>>
LT_INLINE void solve_column(Lanes<T> &a, int64_t n, const Vec<R> *pivot, Number<T> *x) {
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = k + 1; i < n; i++) exchange(x[k], x[i], pivot[k] == Vec<R>(R(i)));
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = k + 1; i < n; i++) x[i] = x[i] - a(i, k) * x[k];
  for (int64_t k = n - 1; k >= 0; k--) {
    x[k] = divider(a(k, k))(x[k]);
    for (int64_t i = 0; i < k; i++) x[i] = x[i] - a(i, k) * x[k];
  }
}

struct SmallLU {
  template <class T>
  static void row(lt_small *s) {
    const int64_t k = s->m < s->n ? s->m : s->n;
    each_group<T>(s, [=](int64_t at, int count) {
      using R = PartOf<T>;
      Lanes<T> a;
      Vec<R> pivot[LT_SMALL];
      a.load((const T *)s->a, s->m, s->n, at, count);
      put_integers((int32_t *)s->info + at, 1, factor_lanes(a, s->m, s->n, pivot), count);
      a.store((T *)s->a, s->m, s->n, at, count);
      for (int64_t i = 0; i < k; i++)
        put_integers((int32_t *)s->pivots + at * k + i, k, pivot[i] + Vec<R>(R(1)), count);
    });
  }
};

// Factors, and solves for the columns of b; without b it inverts a in place.
struct SmallSolve {
  template <class T>
  static void row(lt_small *s) {
    const int64_t n = s->n;
    each_group<T>(s, [=](int64_t at, int count) {
      using R = PartOf<T>;
      Lanes<T> a, inverse;
      Vec<R> pivot[LT_SMALL];
      Number<T> x[LT_SMALL];
      a.load((const T *)s->a, n, n, at, count);
      const Vec<R> info = factor_lanes(a, n, n, pivot);
      put_integers((int32_t *)s->info + at, 1, info, count);
      if (!s->b) {
        inverse.rows = n;
        for (int64_t j = 0; j < n; j++) {
          for (int64_t i = 0; i < n; i++) x[i] = Number<T>(R(i == j));
          solve_column(a, n, pivot, x);
          for (int64_t i = 0; i < n; i++) inverse(i, j) = x[i];
        }
        return inverse.store((T *)s->a, n, n, at, count);
      }
      a.store((T *)s->a, n, n, at, count);
      for (int64_t j = 0; j < s->right; j++) {
        auto column = [&](int lane) { return (T *)s->b + ((at + lane) * s->right + j) * n; };
        for (int lane = 0; lane < Lanes<T>::N; lane++)
          Lanes<T>::put(x, lane, column(lane < count ? lane : count - 1), n);
        solve_column(a, n, pivot, x);
        for (int lane = 0; lane < count; lane++) Lanes<T>::get(x, lane, column(lane), n);
      }
    });
  }
};

struct SmallCholesky {
  template <class T>
  static void row(lt_small *s) {
    const int64_t n = s->n;
    each_group<T>(s, [=](int64_t at, int count) {
      using R = PartOf<T>;
      const Vec<R> none(R(0));
      Lanes<T> a;
      a.load((const T *)s->a, n, n, at, count);
      Vec<R> info = none;
      auto lower = [&](int64_t i, int64_t j) -> Number<T> & {
        return s->upper ? a(j, i) : a(i, j);
      };
      for (int64_t j = 0; j < n; j++) {
        Vec<R> d = real(lower(j, j));
        for (int64_t k = 0; k < j; k++) d = d - square(lower(j, k));
        const Mask<R> good = d > none;
        info = select((!good) & (info == none), Vec<R>(R(j + 1)), info);
        d = select(good, sqrt(d), d);
        lower(j, j) = Number<T>(d);
        for (int64_t i = j + 1; i < n; i++) {
          Number<T> x = lower(i, j);
          for (int64_t k = 0; k < j; k++) x = x - lower(i, k) * conj(lower(j, k));
          lower(i, j) = x / d;
        }
      }
      put_integers((int32_t *)s->info + at, 1, info, count);
      a.store((T *)s->a, n, n, at, count);
    });
  }
};

// Applies 1 - tau v v^H, with v below the diagonal of column k, to the columns after it.
template <class T>
LT_INLINE void reflect_lanes(Lanes<T> &a, int64_t m, int64_t n, int64_t k, Number<T> tau) {
  for (int64_t j = k + 1; j < n; j++) {
    Number<T> w = a(k, j);
    for (int64_t i = k + 1; i < m; i++) w = w + conj(a(i, k)) * a(i, j);
    w = w * tau;
    a(k, j) = a(k, j) - w;
    for (int64_t i = k + 1; i < m; i++) a(i, j) = a(i, j) - a(i, k) * w;
  }
}

struct SmallQR {
  template <class T>
  static void row(lt_small *s) {
    const int64_t m = s->m, n = s->n, most = m < n ? m : n;
    each_group<T>(s, [=](int64_t at, int count) {
      using R = PartOf<T>;
      const Vec<R> none(R(0)), one(R(1));
      Lanes<T> a;
      a.load((const T *)s->a, m, n, at, count);
      for (int64_t k = 0; k < most; k++) {
        // Numbers are divided by the largest, so that no square leaves the dtype.
        Vec<R> rest = size(imaginary(a(k, k))), scale = largest(a(k, k));
        for (int64_t i = k + 1; i < m; i++) {
          rest = rest + size(a(i, k));
          const Vec<R> other = largest(a(i, k));
          scale = select(other > scale, other, scale);
        }
        const Mask<R> done = rest == none;
        scale = select(scale == none, one, scale);
        const Number<T> first = a(k, k) / scale;
        Vec<R> sum = square(first);
        for (int64_t i = k + 1; i < m; i++) sum = sum + square(a(i, k) / scale);
        const Vec<R> norm = -copysign(sqrt(sum), real(first));
        const Number<T> tau = select(done, Number<T>(none), (Number<T>(norm) - first) / norm);
        const auto divided = divider(select(done, Number<T>(one), first - Number<T>(norm)));
        for (int64_t i = k + 1; i < m; i++) a(i, k) = divided(a(i, k) / scale);
        a(k, k) = select(done, a(k, k), Number<T>(norm * scale));
        for (int lane = 0; lane < count; lane++)
          Lanes<T>::get(&tau, lane, (T *)s->values + (at + lane) * most + k, 1);
        reflect_lanes(a, m, n, k, conj(tau));
      }
      a.store((T *)s->a, m, n, at, count);
    });
  }
};

// Makes the first columns of the product of reflections.
struct SmallQ {
  template <class T>
  static void row(lt_small *s) {
    const int64_t m = s->m, n = s->n, most = s->reflections;
    each_group<T>(s, [=](int64_t at, int count) {
      using R = PartOf<T>;
      const Number<T> zero(R(0)), one(R(1));
      Lanes<T> a;
      a.load((const T *)s->a, m, n, at, count);
      for (int64_t j = most; j < n; j++)
        for (int64_t i = 0; i < m; i++) a(i, j) = i == j ? one : zero;
      for (int64_t k = most - 1; k >= 0; k--) {
        Number<T> tau;
        for (int lane = 0; lane < Lanes<T>::N; lane++) {
          const int64_t matrix = at + (lane < count ? lane : count - 1);
          Lanes<T>::put(&tau, lane, (const T *)s->values + matrix * most + k, 1);
        }
        reflect_lanes(a, m, n, k, tau);
        for (int64_t i = 0; i < k; i++) a(i, k) = zero;
        a(k, k) = one - tau;
        for (int64_t i = k + 1; i < m; i++) a(i, k) = -(a(i, k) * tau);
      }
      a.store((T *)s->a, m, n, at, count);
    });
  }
};

}  // namespace
}  // namespace lt

// clang-format off
LT_UNIT(small){
    {"small_lu", "", LT_FLOATING_COMPLEX(SmallLU)},
    {"small_solve", "", LT_FLOATING_COMPLEX(SmallSolve)},
    {"small_cholesky", "", LT_FLOATING_COMPLEX(SmallCholesky)},
    {"small_qr", "", LT_FLOATING_COMPLEX(SmallQR)},
    {"small_q", "", LT_FLOATING_COMPLEX(SmallQ)},
    LT_END,
};
