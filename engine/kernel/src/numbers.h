// A number of any dtype in each lane: one vector of reals, or two of the parts of complex numbers,
// with the same names for both. No product is fused, so that the results are bitwise identical in
// every tier.
#ifndef LIBTENSOR_KERNEL_NUMBERS_H
#define LIBTENSOR_KERNEL_NUMBERS_H

#include "prelude.h"
#include "vec.h"

namespace lt {
namespace {

template <class R>
struct Parts {
  Vec<R> re, im;

  Parts() = default;
  LT_INLINE Parts(Vec<R> r, Vec<R> i) : re(r), im(i) {}
  LT_INLINE explicit Parts(Vec<R> r) : re(r), im(R(0)) {}
  LT_INLINE explicit Parts(R r) : re(r), im(R(0)) {}

  LT_INLINE friend Parts operator+(const Parts &a, const Parts &b) {
    return {a.re + b.re, a.im + b.im};
  }
  LT_INLINE friend Parts operator-(const Parts &a, const Parts &b) {
    return {a.re - b.re, a.im - b.im};
  }
  LT_INLINE friend Parts operator-(const Parts &a) { return {-a.re, -a.im}; }
  LT_INLINE friend Parts operator*(const Parts &a, const Parts &b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  LT_INLINE friend Parts operator*(const Parts &a, Vec<R> b) { return {a.re * b, a.im * b}; }
  LT_INLINE friend Parts operator/(const Parts &a, Vec<R> b) { return {a.re / b, a.im / b}; }
};

// T's real type, and the type that holds a T in each lane.
template <class T>
struct NumberOf {
  using Part = T;
  using type = Vec<T>;
};
template <class R>
struct NumberOf<Complex<R>> {
  using Part = R;
  using type = Parts<R>;
};
template <class T>
using PartOf = typename NumberOf<T>::Part;
template <class T>
using Number = typename NumberOf<T>::type;

template <class R>
LT_INLINE Parts<R> select(Mask<R> m, const Parts<R> &a, const Parts<R> &b) {
  return {select(m, a.re, b.re), select(m, a.im, b.im)};
}

template <class R>
LT_INLINE Vec<R> real(Vec<R> a) {
  return a;
}
template <class R>
LT_INLINE Vec<R> real(const Parts<R> &a) {
  return a.re;
}
template <class R>
LT_INLINE Vec<R> imaginary(Vec<R>) {
  return R(0);
}
template <class R>
LT_INLINE Vec<R> imaginary(const Parts<R> &a) {
  return a.im;
}
template <class R>
LT_INLINE Vec<R> conj(Vec<R> a) {
  return a;
}
template <class R>
LT_INLINE Parts<R> conj(const Parts<R> &a) {
  return {a.re, -a.im};
}

// The magnitude for the choice of pivots, as in LAPACK; it is 0 only for 0.
template <class R>
LT_INLINE Vec<R> size(Vec<R> a) {
  return abs(a);
}
template <class R>
LT_INLINE Vec<R> size(const Parts<R> &a) {
  return abs(a.re) + abs(a.im);
}
// The largest part.
template <class R>
LT_INLINE Vec<R> largest(Vec<R> a) {
  return abs(a);
}
template <class R>
LT_INLINE Vec<R> largest(const Parts<R> &a) {
  const Vec<R> x = abs(a.re), y = abs(a.im);
  return select(y > x, y, x);
}
// The square of the absolute value.
template <class R>
LT_INLINE Vec<R> square(Vec<R> a) {
  return a * a;
}
template <class R>
LT_INLINE Vec<R> square(const Parts<R> &a) {
  return a.re * a.re + a.im * a.im;
}

// divider(d)(x) is x / d; for complex numbers by Smith's method, with the terms of d computed once.
template <class R>
LT_INLINE auto divider(Vec<R> d) {
  return [d](Vec<R> x) { return x / d; };
}
template <class R>
LT_INLINE auto divider(const Parts<R> &d) {
  const Mask<R> upright = abs(d.re) >= abs(d.im);
  const Vec<R> large = select(upright, d.re, d.im), small = select(upright, d.im, d.re);
  const Vec<R> ratio = small / large, by = large + small * ratio;
  const Vec<R> turned = select(upright, by, -by);
  return [=](const Parts<R> &x) {
    const Vec<R> a = select(upright, x.re, x.im), b = select(upright, x.im, x.re);
    return Parts<R>((a + b * ratio) / by, (b - a * ratio) / turned);
  };
}

}  // namespace
}  // namespace lt
#endif
