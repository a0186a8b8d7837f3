// Transforms of 2 h real numbers as transforms of h complex ones, x[2j] + i x[2j+1], and back.
#ifndef LIBTENSOR_KERNEL_FFT_REAL_H
#define LIBTENSOR_KERNEL_FFT_REAL_H

#include "pair.h"

namespace lt {
namespace {

// Of the transform Z of the pairs, a = Z[k] and b = Z[h-k] become X[k] and X[h-k]: the transforms
// of the even and of the odd numbers are (a + b*) / 2 and (a - b*) / 2i. w is the root e^(-2 pi i k
// / 2h).
template <class P, class V>
LT_INLINE void unpack(P &a, P &b, const P &w, V half) {
  const P even = (a + b.conj()) * half, odd = (a - b.conj()).right() * half;
  const P t = odd * w;
  a = even + t;
  b = (even - t).conj();
}

// The way back, twice as large: the numbers of the pairs' transform from a = X[k] and b = X[h-k].
template <class P>
LT_INLINE void pack(P &a, P &b, const P &w) {
  const P even = a + b.conj(), t = ((a - b.conj()) * w.conj()).left();
  a = even + t;
  b = (even - t).conj();
}

// One number, with the interface of a pair of vectors.
template <class T>
struct Single {
  T re, im;
  LT_INLINE friend Single operator+(Single a, Single b) { return {a.re + b.re, a.im + b.im}; }
  LT_INLINE friend Single operator-(Single a, Single b) { return {a.re - b.re, a.im - b.im}; }
  LT_INLINE friend Single operator*(Single a, Single b) {
    const Complex<T> z = Complex<T>(a.re, a.im) * Complex<T>(b.re, b.im);
    return {z.re, z.im};
  }
  LT_INLINE friend Single operator*(Single a, T f) { return {a.re * f, a.im * f}; }
  LT_INLINE Single conj() const { return {re, -im}; }
  LT_INLINE Single left() const { return {-im, re}; }
  LT_INLINE Single right() const { return {im, -re}; }
};

template <class T>
LT_INLINE Single<T> single(const T *p) {
  return {p[0], p[1]};
}

template <class T>
LT_INLINE void put_single(T *p, Single<T> z) {
  p[0] = z.re;
  p[1] = z.im;
}

// Changes the numbers k and h - k of a line, for 0 < k < h, a register from both ends at a time.
template <class T, class F>
LT_INLINE void for_both_ends(const T *in, T *out, int64_t h, const T *roots, F f) {
  constexpr int N = Vec<T>::N;
  int64_t k = 1;
  for (; k + N <= h - k - N + 1; k += N) {
    const int64_t back = h - k - N + 1;
    Pair<T> a = load_complex(in + 2 * k), b = reversed(load_complex(in + 2 * back));
    f(a, b, load_complex(roots + 2 * k));
    store_complex(out + 2 * k, a);
    store_complex(out + 2 * back, reversed(b));
  }
  for (; k <= h - k; k++) {
    Single<T> a = single(in + 2 * k), b = single(in + 2 * (h - k));
    f(a, b, single(roots + 2 * k));
    put_single(out + 2 * (h - k), b);
    put_single(out + 2 * k, a);
  }
}

// Z[0..h) becomes X[0..h], in the same place or in another.
template <class T>
void unpack_line(const T *in, T *out, int64_t h, const T *roots) {
  const T re = in[0], im = in[1];
  for_both_ends(in, out, h, roots,
                [](auto &a, auto &b, const auto &w) { unpack(a, b, w, T(0.5)); });
  put_single(out, {re + im, T(0)});
  put_single(out + 2 * h, {re - im, T(0)});
}

// X[0..h] becomes Z[0..h). The imaginary parts of X[0] and X[h] count as zeros.
template <class T>
void pack_line(const T *in, T *out, int64_t h, const T *roots) {
  const T first = in[0], last = in[2 * h];
  for_both_ends(in, out, h, roots, [](auto &a, auto &b, const auto &w) { pack(a, b, w); });
  put_single(out, {first + last, first - last});
}

}  // namespace
}  // namespace lt
#endif
