// Updates of parameters by their gradients: one pass over a parameter, its gradient and its states.
#include "../rows.h"
// Comes after rows.h, which sets the compiler up.
#include "../../update.h"
#include "../parts.h"
#include "../runs.h"

namespace lt {
namespace {

// Calls f(i, m) for every vector of n elements, of which m count.
template <class T, class F>
LT_INLINE void each_vector(int64_t n, F f) {
  constexpr int N = Vec<T>::N;
  for (int64_t i = 0; i < n; i += N) f(i, n - i < N ? (int)(n - i) : N);
}

// The gradient of a vector of elements: unscaled, negated if maximizing, and with the weight decay
// of the parameter x.
template <class T>
LT_INLINE Vec<T> gradient(const lt_parameter_update *u, T *grad, Vec<T> x, int m, double decay) {
  Vec<T> d = load_part(grad, m);
  if (u->scale != 1) {
    d = d * T(u->scale);
    store_part(grad, d, m);
  }
  if (u->maximize) d = -d;
  return decay != 0 ? d + x * T(decay) : d;
}

// max(a, b), NaN if one is NaN.
template <class T>
LT_INLINE Vec<T> largest(Vec<T> a, Vec<T> b) {
  return select(a != a, a, select(b <= a, a, b));
}

template <class T>
LT_INLINE void descend(const lt_parameter_update *u, T *param, T *grad, T *velocity, int64_t n) {
  each_vector<T>(n, [=](int64_t i, int m) {
    const Vec<T> x = load_part(param + i, m);
    Vec<T> d = gradient(u, grad + i, x, m, u->decay);
    if (velocity) {
      Vec<T> v = d;
      if (!u->first) v = load_part(velocity + i, m) * T(u->beta1) + d * T(u->rate);
      store_part(velocity + i, v, m);
      d = u->nesterov ? d + v * T(u->beta1) : v;
    }
    store_part(param + i, x - d * T(u->step), m);
  });
}

template <class T>
LT_INLINE void adapt(const lt_parameter_update *u, T *param, T *grad, T *mean, T *square, T *most,
                     int64_t n) {
  const bool decoupled = u->kind == LT_ADAMW;
  const T keep = T(1 - u->decoupled), rate = T(1 - u->beta1), beta = T(u->beta2);
  const T fresh = T(1 - u->beta2), step = T(u->step), root = T(1 / u->root), eps = T(u->eps);
  each_vector<T>(n, [=](int64_t i, int m) {
    Vec<T> x = load_part(param + i, m);
    const Vec<T> d = gradient(u, grad + i, x, m, u->decay);
    if (decoupled) x = x * keep;
    Vec<T> a = load_part(mean + i, m);
    a = a + (d - a) * rate;
    Vec<T> s = load_part(square + i, m) * beta + d * d * fresh;
    store_part(mean + i, a, m), store_part(square + i, s, m);
    if (most) {
      s = largest(load_part(most + i, m), s);
      store_part(most + i, s, m);
    }
    store_part(param + i, x - a * step / (sqrt(s) * root + eps), m);
  });
}

template <class T>
LT_INLINE void accumulate(const lt_parameter_update *u, T *param, T *grad, T *sum, int64_t n) {
  const T step = T(u->step), eps = T(u->eps);
  each_vector<T>(n, [=](int64_t i, int m) {
    const Vec<T> x = load_part(param + i, m), d = gradient(u, grad + i, x, m, u->decay);
    const Vec<T> s = load_part(sum + i, m) + d * d;
    store_part(sum + i, s, m);
    store_part(param + i, x - d * step / (sqrt(s) + eps), m);
  });
}

template <class T>
LT_INLINE void update(const lt_parameter_update *u, T *param, T *grad, T *const *states,
                      int64_t n) {
  if (u->kind == LT_SGD)
    descend(u, param, grad, states[0], n);
  else if (u->kind == LT_ADAGRAD)
    accumulate(u, param, grad, states[0], n);
  else
    adapt(u, param, grad, states[0], states[1], states[2], n);
}

struct Update {
  template <class M>
  static void row(const lt_parameter_update *u) {
    using T = Wider<M>;
    M *tensors[5];
    for (int k = 0; k < 5; k++) tensors[k] = (M *)u->tensors[k];
    if constexpr (__is_same(T, M)) {
      update<T>(u, tensors[0], tensors[1], tensors + 2, u->n);
    } else {
      alignas(64) T buffers[5][kRun];
      T *wide[5];
      for (int k = 0; k < 5; k++) wide[k] = tensors[k] ? buffers[k] : nullptr;
      for (int64_t i = 0; i < u->n; i += kRun) {
        const int64_t n = u->n - i < kRun ? u->n - i : kRun;
        for (int k = 0; k < 5; k++)
          if (tensors[k] && !(u->first && k == 2)) read_run(tensors[k] + i, n, buffers[k]);
        update<T>(u, wide[0], wide[1], wide + 2, n);
        for (int k = 0; k < 5; k++)
          if (tensors[k] && (k != 1 || u->scale != 1))
            cast_row<T, M>((const char *)buffers[k], sizeof(T), (char *)(tensors[k] + i), sizeof(M),
                           n);
      }
    }
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(update){
    {"update", "", LT_STORED_FLOATING(Update)},
    LT_END,
};
