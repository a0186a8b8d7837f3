// Sums with products that are rounded as one operation, in every tier to the same bits: neither a
// product that is out of range nor its last digits are lost where the sum brings them back.
#ifndef LIBTENSOR_KERNEL_FUSED_H
#define LIBTENSOR_KERNEL_FUSED_H

#include "vec.h"
// Comes after vec.h, which a device has in another form.
#include "prelude.h"

namespace lt {
namespace {

// The sum of two doubles, rounded to odd: if it is not exact, the neighboring double with a last
// bit of 1. Rounded again, to a float, it equals the rounded exact sum.
[[maybe_unused]] LT_INLINE double add_to_odd(double a, double b) {
  const double s = a + b, t = s - a, rest = (a - (s - t)) + (b - t);
  int64_t bits;
  memcpy(&bits, &s, sizeof s);
  const int64_t even = ~bits & 1, away = (rest > 0) == (s > 0) ? even : -even;
  bits += (rest > 0) | (rest < 0) ? away : 0;
  double r;
  memcpy(&r, &bits, sizeof r);
  return r;
}

// a b + c
template <class T>
LT_INLINE T multiply_add(T a, T b, T c) {
  if constexpr (std::is_same<T, float>::value) {
#if LT_FMA
    return __builtin_fmaf(a, b, c);
#else
    return float(add_to_odd(double(a) * b, c));
#endif
  } else if constexpr (std::is_same<T, double>::value) {
    return __builtin_fma(a, b, c);
  } else if constexpr (kind_of<T> == kComplex) {
    return {multiply_add(-a.im, b.im, multiply_add(a.re, b.re, c.re)),
            multiply_add(a.im, b.re, multiply_add(a.re, b.im, c.im))};
  } else {
    return T(c + T(a * b));
  }
}

}  // namespace
}  // namespace lt
#endif
