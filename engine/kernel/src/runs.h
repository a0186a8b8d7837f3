// Rows of elements that are computed in a wider dtype: read in place, or through a buffer.
#ifndef LIBTENSOR_KERNEL_RUNS_H
#define LIBTENSOR_KERNEL_RUNS_H

#include "cast.h"
#include "vec.h"

namespace lt {
namespace {

// The dtype that elements of dtype M are computed in.
template <class M>
using Wider = __typeof__(load_value(M()));

constexpr int64_t kRun = 2048;  // elements converted at a time

// Prefetches memory.
template <class T>
LT_INLINE void soon(const T *p) {
  __builtin_prefetch(p, 0, 2);
}

// n elements of dtype M as elements of dtype T: in place, or converted into buffer.
template <class T, class M>
LT_INLINE const T *read_run(const M *x, int64_t n, T *buffer) {
  if constexpr (__is_same(T, M)) return x;
  cast_row<M, T>((const char *)x, sizeof(M), (char *)buffer, sizeof(T), n);
  return buffer;
}

// Writes y[i] = f(i) through a buffer where dtypes differ.
template <class T, class M, class F>
LT_INLINE void write_run(M *out, int64_t n, T *buffer, F f) {
  T *y = buffer;
  if constexpr (__is_same(T, M)) y = out;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) y[i] = f(i);
  if constexpr (!__is_same(T, M))
    cast_row<T, M>((const char *)buffer, sizeof(T), (char *)out, sizeof(M), n);
}

// n values from p, and fill in the other lanes.
template <class T>
LT_INLINE Vec<T> load_or(const T *p, int n, T fill) {
  if (n == Vec<T>::N) return load(p);
  T lanes[Vec<T>::N];
  for (int i = 0; i < Vec<T>::N; i++) lanes[i] = i < n ? p[i] : fill;
  return load(lanes);
}

// Adds K sums over n positions to totals, in vectors whose lanes are added in float64: f(i, m,
// sums) adds the values of m positions from i on.
template <class T, int K, class F>
LT_INLINE void sums_of(int64_t n, double *totals, F f) {
  constexpr int N = Vec<T>::N;
  Vec<T> sums[2][K];
  for (int k = 0; k < K; k++) sums[0][k] = sums[1][k] = T(0);
  int64_t i = 0;
  for (; i + 2 * N <= n; i += 2 * N) f(i, N, sums[0]), f(i + N, N, sums[1]);
  for (; i < n; i += N) f(i, n - i < N ? (int)(n - i) : N, sums[0]);
  for (int k = 0; k < K; k++) {
    sums[0][k] = sums[0][k] + sums[1][k];
    for (int l = 0; l < N; l++) totals[k] += (double)sums[0][k][l];
  }
}

}  // namespace
}  // namespace lt

#endif
