// Factorizations of small matrices, as many at once as a vector has lanes. No lane knows of the
// others, and there are no fused products, so that a matrix gives the same bits in any batch and in
// every tier.
#include "../../small.h"
#include "../rows.h"
#include "../vec.h"

namespace lt {
namespace {

// One matrix for each lane; those that are left over repeat the last one.
template <class T>
struct Lanes {
  static constexpr int N = Vec<T>::N;
  Vec<T> v[LT_SMALL * LT_SMALL];
  int64_t rows;

  LT_INLINE Vec<T> &operator()(int64_t i, int64_t j) { return v[i + j * rows]; }

  LT_INLINE void load(const T *from, int64_t m, int64_t n, int64_t begin, int count) {
    rows = m;
    T *to = (T *)v;
    for (int lane = 0; lane < N; lane++) {
      const T *matrix = from + (begin + (lane < count ? lane : count - 1)) * m * n;
      for (int64_t e = 0; e < m * n; e++) to[e * N + lane] = matrix[e];
    }
  }

  LT_INLINE void store(T *to, int64_t m, int64_t n, int64_t begin, int count) const {
    const T *from = (const T *)v;
    for (int lane = 0; lane < count; lane++) {
      T *matrix = to + (begin + lane) * m * n;
      for (int64_t e = 0; e < m * n; e++) matrix[e] = from[e * N + lane];
    }
  }
};

// Calls f with the first matrix of each group of lanes, and how many there are.
template <class T, class F>
LT_INLINE void each_group(const lt_small *s, F f) {
  for (int64_t i = s->begin; i < s->end; i += Vec<T>::N) {
    const int64_t left = s->end - i;
    f(i, left < Vec<T>::N ? (int)left : (int)Vec<T>::N);
  }
}

// A lane's numbers as int32, for the matrices that there are.
template <class T>
LT_INLINE void put_integers(int32_t *to, int64_t step, Vec<T> v, int count) {
  for (int lane = 0; lane < count; lane++) to[lane * step] = (int32_t)v[lane];
}

template <class T>
LT_INLINE void exchange(Vec<T> &a, Vec<T> &b, Mask<T> where) {
  const Vec<T> t = a;
  a = select(where, b, a);
  b = select(where, t, b);
}

// Factors with the largest pivots first, or the first one that is not zero where that is NaN;
// pivot[k] is the row that row k was exchanged with.
template <class T>
LT_INLINE Vec<T> factor_lanes(Lanes<T> &a, int64_t m, int64_t n, Vec<T> *pivot) {
  Vec<T> info(T(0));
  for (int64_t k = 0; k < (m < n ? m : n); k++) {
    Vec<T> best = abs(a(k, k)), row = Vec<T>(T(k));
    for (int64_t i = k + 1; i < m; i++) {
      const Vec<T> size = abs(a(i, k));
      const Mask<T> larger = (size > best) | ((best == Vec<T>(T(0))) & (size != Vec<T>(T(0))));
      best = select(larger, size, best);
      row = select(larger, Vec<T>(T(i)), row);
    }
    pivot[k] = row;
    for (int64_t i = k + 1; i < m; i++) {
      const Mask<T> here = row == Vec<T>(T(i));
      if (any(here))
        for (int64_t j = 0; j < n; j++) exchange(a(k, j), a(i, j), here);
    }
    const Mask<T> zero = a(k, k) == Vec<T>(T(0));
    info = select(zero & (info == Vec<T>(T(0))), Vec<T>(T(k + 1)), info);
    const Vec<T> by = select(zero, Vec<T>(T(1)), a(k, k));
    for (int64_t i = k + 1; i < m; i++) a(i, k) = a(i, k) / by;
    for (int64_t j = k + 1; j < n; j++)
      for (int64_t i = k + 1; i < m; i++) a(i, j) = a(i, j) - a(i, k) * a(k, j);
  }
  return info;
}

// Solves with the factors for one column.
template <class T>
LT_INLINE void solve_column(Lanes<T> &a, int64_t n, const Vec<T> *pivot, Vec<T> *x) {
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = k + 1; i < n; i++) exchange(x[k], x[i], pivot[k] == Vec<T>(T(i)));
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = k + 1; i < n; i++) x[i] = x[i] - a(i, k) * x[k];
  for (int64_t k = n - 1; k >= 0; k--) {
    x[k] = x[k] / a(k, k);
    for (int64_t i = 0; i < k; i++) x[i] = x[i] - a(i, k) * x[k];
  }
}

struct SmallLU {
  template <class T>
  static void row(lt_small *s) {
    const int64_t k = s->m < s->n ? s->m : s->n;
    each_group<T>(s, [=](int64_t at, int count) {
      Lanes<T> a;
      Vec<T> pivot[LT_SMALL];
      a.load((const T *)s->a, s->m, s->n, at, count);
      put_integers((int32_t *)s->info + at, 1, factor_lanes(a, s->m, s->n, pivot), count);
      a.store((T *)s->a, s->m, s->n, at, count);
      for (int64_t i = 0; i < k; i++)
        put_integers((int32_t *)s->pivots + at * k + i, k, pivot[i] + Vec<T>(T(1)), count);
    });
  }
};

// Factors, and solves for the columns of b; a has the inverse instead where there is no b.
struct SmallSolve {
  template <class T>
  static void row(lt_small *s) {
    const int64_t n = s->n;
    each_group<T>(s, [=](int64_t at, int count) {
      Lanes<T> a, inverse;
      Vec<T> pivot[LT_SMALL], x[LT_SMALL];
      a.load((const T *)s->a, n, n, at, count);
      const Vec<T> info = factor_lanes(a, n, n, pivot);
      put_integers((int32_t *)s->info + at, 1, info, count);
      if (!s->b) {
        inverse.rows = n;
        for (int64_t j = 0; j < n; j++) {
          for (int64_t i = 0; i < n; i++) x[i] = Vec<T>(T(i == j));
          solve_column(a, n, pivot, x);
          for (int64_t i = 0; i < n; i++) inverse(i, j) = x[i];
        }
        return inverse.store((T *)s->a, n, n, at, count);
      }
      a.store((T *)s->a, n, n, at, count);
      T *lanes = (T *)x;
      for (int64_t j = 0; j < s->right; j++) {
        for (int lane = 0; lane < Lanes<T>::N; lane++) {
          const int64_t matrix = at + (lane < count ? lane : count - 1);
          const T *column = (const T *)s->b + (matrix * s->right + j) * n;
          for (int64_t i = 0; i < n; i++) lanes[i * Lanes<T>::N + lane] = column[i];
        }
        solve_column(a, n, pivot, x);
        for (int lane = 0; lane < count; lane++) {
          T *column = (T *)s->b + ((at + lane) * s->right + j) * n;
          for (int64_t i = 0; i < n; i++) column[i] = lanes[i * Lanes<T>::N + lane];
        }
      }
    });
  }
};

struct SmallCholesky {
  template <class T>
  static void row(lt_small *s) {
    const int64_t n = s->n;
    each_group<T>(s, [=](int64_t at, int count) {
      Lanes<T> a;
      a.load((const T *)s->a, n, n, at, count);
      Vec<T> info(T(0));
      auto lower = [&](int64_t i, int64_t j) -> Vec<T> & { return s->upper ? a(j, i) : a(i, j); };
      for (int64_t j = 0; j < n; j++) {
        Vec<T> d = lower(j, j);
        for (int64_t k = 0; k < j; k++) d = d - lower(j, k) * lower(j, k);
        const Mask<T> good = d > Vec<T>(T(0));
        info = select((!good) & (info == Vec<T>(T(0))), Vec<T>(T(j + 1)), info);
        lower(j, j) = d = select(good, sqrt(d), d);
        for (int64_t i = j + 1; i < n; i++) {
          Vec<T> x = lower(i, j);
          for (int64_t k = 0; k < j; k++) x = x - lower(i, k) * lower(j, k);
          lower(i, j) = x / d;
        }
      }
      put_integers((int32_t *)s->info + at, 1, info, count);
      a.store((T *)s->a, n, n, at, count);
    });
  }
};

// Applies 1 - tau v v^T, of which v stands below the diagonal of column k, to the columns behind.
template <class T>
LT_INLINE void reflect_lanes(Lanes<T> &a, int64_t m, int64_t n, int64_t k, Vec<T> tau) {
  for (int64_t j = k + 1; j < n; j++) {
    Vec<T> w = a(k, j);
    for (int64_t i = k + 1; i < m; i++) w = w + a(i, k) * a(i, j);
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
      const Vec<T> zero(T(0)), one(T(1));
      Lanes<T> a;
      a.load((const T *)s->a, m, n, at, count);
      for (int64_t k = 0; k < most; k++) {
        // Numbers are divided by the largest, so that no square leaves the dtype.
        Vec<T> below(T(0)), scale = abs(a(k, k));
        for (int64_t i = k + 1; i < m; i++) {
          const Vec<T> size = abs(a(i, k));
          below = below + size;
          scale = select(size > scale, size, scale);
        }
        const Mask<T> none = below == zero;
        scale = select(scale == zero, one, scale);
        const Vec<T> first = a(k, k) / scale;
        Vec<T> square = first * first;
        for (int64_t i = k + 1; i < m; i++) {
          const Vec<T> x = a(i, k) / scale;
          square = square + x * x;
        }
        const Vec<T> norm = -copysign(sqrt(square), first);
        const Vec<T> tau = select(none, zero, (norm - first) / norm);
        const Vec<T> by = select(none, one, first - norm);
        for (int64_t i = k + 1; i < m; i++) a(i, k) = (a(i, k) / scale) / by;
        a(k, k) = select(none, a(k, k), norm * scale);
        for (int lane = 0; lane < count; lane++)
          ((T *)s->values)[(at + lane) * most + k] = tau[lane];
        reflect_lanes(a, m, n, k, tau);
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
      Lanes<T> a;
      a.load((const T *)s->a, m, n, at, count);
      for (int64_t j = most; j < n; j++)
        for (int64_t i = 0; i < m; i++) a(i, j) = Vec<T>(T(i == j));
      for (int64_t k = most - 1; k >= 0; k--) {
        T lanes[Lanes<T>::N];
        for (int lane = 0; lane < Lanes<T>::N; lane++)
          lanes[lane] = ((const T *)s->values)[(at + (lane < count ? lane : count - 1)) * most + k];
        const Vec<T> tau = load(lanes);
        reflect_lanes(a, m, n, k, tau);
        for (int64_t i = 0; i < k; i++) a(i, k) = Vec<T>(T(0));
        a(k, k) = Vec<T>(T(1)) - tau;
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
    {"small_lu", "", LT_FLOATING(SmallLU)},
    {"small_solve", "", LT_FLOATING(SmallSolve)},
    {"small_cholesky", "", LT_FLOATING(SmallCholesky)},
    {"small_qr", "", LT_FLOATING(SmallQR)},
    {"small_q", "", LT_FLOATING(SmallQ)},
    LT_END,
};
