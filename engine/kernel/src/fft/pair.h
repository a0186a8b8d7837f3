// Complex numbers in two vectors, with one lane for each of several transforms, and their loads and
// stores.
#ifndef LIBTENSOR_KERNEL_FFT_PAIR_H
#define LIBTENSOR_KERNEL_FFT_PAIR_H

#include "../prelude.h"
#include "../vec.h"

namespace lt {
namespace {

template <class T>
struct Pair {
  static constexpr int N = Vec<T>::N;
  Vec<T> re, im;

  LT_INLINE friend Pair operator+(const Pair &a, const Pair &b) {
    return {a.re + b.re, a.im + b.im};
  }
  LT_INLINE friend Pair operator-(const Pair &a, const Pair &b) {
    return {a.re - b.re, a.im - b.im};
  }
  LT_INLINE friend Pair operator*(const Pair &a, const Pair &w) {
    return {fma(a.re, w.re, -(a.im * w.im)), fma(a.re, w.im, a.im * w.re)};
  }
  LT_INLINE friend Pair operator*(const Pair &a, Vec<T> f) { return {a.re * f, a.im * f}; }
  LT_INLINE Pair swapped() const { return {im, re}; }
  LT_INLINE Pair conj() const { return {re, -im}; }
  // The products with i and -i.
  LT_INLINE Pair left() const { return {-im, re}; }
  LT_INLINE Pair right() const { return {im, -re}; }
};

// One number in all lanes.
template <class T>
LT_INLINE Pair<T> everywhere(const T *w) {
  return {Vec<T>(w[0]), Vec<T>(w[1])};
}

template <class T, int... I>
LT_INLINE void split_lanes(const Vec<T> &a, const Vec<T> &b, Pair<T> &z,
                           std::integer_sequence<int, I...>) {
  z.re = (Raw<T>)__builtin_shufflevector(a.v, b.v, (2 * I)...);
  z.im = (Raw<T>)__builtin_shufflevector(a.v, b.v, (2 * I + 1)...);
}

// Vectors of a[0] b[0] a[1] b[1] ..., of the lower and of the upper lanes.
template <class T, int... I>
LT_INLINE void join_lanes(const Vec<T> &a, const Vec<T> &b, Vec<T> &low, Vec<T> &high,
                          std::integer_sequence<int, I...>) {
  constexpr int N = Vec<T>::N;
  low = (Raw<T>)__builtin_shufflevector(a.v, b.v, (I / 2 + I % 2 * N)...);
  high = (Raw<T>)__builtin_shufflevector(a.v, b.v, (N / 2 + I / 2 + I % 2 * N)...);
}

template <class T, int... I>
LT_INLINE void reverse_lanes(Vec<T> &a, std::integer_sequence<int, I...>) {
  a = (Raw<T>)__builtin_shufflevector(a.v, a.v, (Vec<T>::N - 1 - I)...);
}

template <class T>
using Order = std::make_integer_sequence<int, Vec<T>::N>;

// N contiguous complex numbers.
template <class T>
LT_INLINE Pair<T> load_complex(const T *p) {
  Pair<T> z;
  split_lanes(load(p), load(p + Vec<T>::N), z, Order<T>());
  return z;
}

template <class T>
LT_INLINE void store_complex(T *p, const Pair<T> &z) {
  Vec<T> low, high;
  join_lanes(z.re, z.im, low, high, Order<T>());
  store(p, low);
  store(p + Vec<T>::N, high);
}

template <class T>
LT_INLINE Pair<T> reversed(Pair<T> z) {
  reverse_lanes(z.re, Order<T>());
  reverse_lanes(z.im, Order<T>());
  return z;
}

// Row i of N registers becomes lane i of all: each of the log2(N) rounds interleaves the upper half
// with the lower one.
template <class T>
LT_INLINE void turn(Vec<T> *rows) {
  constexpr int N = Vec<T>::N;
  Vec<T> next[N];
  for (int round = 1; round < N; round *= 2) {
    for (int i = 0; i < N / 2; i++)
      join_lanes(rows[i], rows[i + N / 2], next[2 * i], next[2 * i + 1], Order<T>());
    for (int i = 0; i < N; i++) rows[i] = next[i];
  }
}

// Contiguous numbers of all lanes: N real parts, then N imaginary ones.
template <class T>
struct Buffer {
  static constexpr int64_t kStep = 2 * Vec<T>::N;
  T *p;
  LT_INLINE Pair<T> get(int64_t i) const {
    return {load(p + i * kStep), load(p + i * kStep + kStep / 2)};
  }
  LT_INLINE void put(int64_t i, const Pair<T> &z) const {
    store(p + i * kStep, z.re);
    store(p + i * kStep + kStep / 2, z.im);
  }
};

// Memory in which the complex numbers of the lanes are adjacent, with a stride of `step` values
// within a lane. Inverse transforms swap the parts on input and on output. With kWhole there is a
// number for every lane.
template <class T, bool kWhole = false>
struct Adjacent {
  T *p;
  int64_t step;
  int lanes;
  bool swap;
  T scale;
  LT_INLINE Pair<T> get(int64_t i) const {
    constexpr int N = Vec<T>::N;
    const T *at = p + i * step;
    Pair<T> z;
    if (kWhole || lanes == N) {
      z = load_complex(at);
    } else {
      T all[2 * N] = {};
      memcpy(all, at, 2 * lanes * sizeof(T));
      z = load_complex(all);
    }
    return swap ? z.swapped() : z;
  }
  LT_INLINE void put(int64_t i, const Pair<T> &z) const {
    constexpr int N = Vec<T>::N;
    T *at = p + i * step;
    const Pair<T> y = (swap ? z.swapped() : z) * Vec<T>(scale);
    if (kWhole || lanes == N) {
      store_complex(at, y);
    } else {
      T all[2 * N];
      store_complex(all, y);
      memcpy(at, all, 2 * lanes * sizeof(T));
    }
  }
};

}  // namespace
}  // namespace lt
#endif
