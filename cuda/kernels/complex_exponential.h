// Exponential, hyperbolic and trigonometric functions of complex numbers.
#ifndef LIBTENSOR_CUDA_COMPLEX_EXPONENTIAL_H
#define LIBTENSOR_CUDA_COMPLEX_EXPONENTIAL_H

#include "../../engine/kernel/src/vmath_exp.h"
#include "../../engine/kernel/src/vmath_hyper.h"
// Comes after vmath_exp.h, whose names it uses.
#include "../../engine/kernel/src/pair.h"

namespace lt {
namespace {
namespace plane {

template <class T>
LT_INLINE bool is_finite(T x) {
  return x - x == 0;
}
template <class T>
LT_INLINE bool is_infinite(T x) {
  return x == x && !is_finite(x);
}
template <class T>
LT_INLINE T sized(T magnitude, double sign) {
  return T(__builtin_copysign(double(magnitude), sign));
}
template <class T>
constexpr T kInfinity = Format<T>::infinity;
template <class T>
constexpr T kNaN = Format<T>::nan;

// v 2^n
template <class T>
LT_INLINE T rounded(double v, int n) {
  return T(n ? __builtin_ldexp(v, n) : v);
}
template <class T>
LT_INLINE T rounded(Pair v, int n) {
  return rounded<T>(double(v), n);
}

// R: double for floats, Pair for doubles.
template <class R>
struct Wave {
  R sin, cos;
};
LT_INLINE Wave<double> wave(float y) {
  return {vsin(Doubles(double(y)))[0], vcos(Doubles(double(y)))[0]};
}
inline Wave<Pair> wave(double y) {
  const Turn t = reduce_pair(y);
  const Pair s(sin_parts(t.r)), c(cos_parts(t.r));
  const Wave<Pair> z = {Pair::ordered(s.hi, s.lo), Pair::ordered(c.hi, c.lo)};
  if (t.n == 0) return z;
  if (t.n == 1) return {z.cos, -z.sin};
  if (t.n == 2) return {-z.sin, -z.cos};
  return {-z.cos, z.sin};
}

// e^x, and sinh x and cosh x of x >= 0, all to be multiplied by 2^n.
template <class R>
struct Growth {
  R exp, sinh, cosh;
  int n;
};
LT_INLINE Growth<double> growth(float x) {
  const double m = x < -700 ? -700 : x > 700 ? 700 : x;
  return {vexp(Doubles(m))[0], vsinh(Doubles(m))[0], vcosh(Doubles(m))[0], 0};
}
inline Growth<Pair> growth(double x) {
  const Power p = exp_pair(x);
  if (x < 0 || x > 40) return {p.value, p.value * Pair(0.5), p.value * Pair(0.5), p.n};
  const Pair e(p);
  if (x > 0.3) {
    const Pair inverse = Pair(1) / e;
    return {e, (e - inverse) * Pair(0.5), (e + inverse) * Pair(0.5), 0};
  }
  // x^3/6 + x^5/120 + ...
  const double q = x * x;
  double t = 0;
  for (int k = 15; k > 1; k -= 2) t = q / ((k - 1) * k) * (1 + t);
  const Pair s = Pair::ordered(x, x * t);
  return {e, s, sqrt(Pair(1) + s * s), 0};
}

template <class T>
Complex<T> cexp(Complex<T> z) {
  const T x = z.re, y = z.im;
  if (is_finite(x) && is_finite(y)) {
    const auto e = growth(x);
    const auto w = wave(y);
    return {rounded<T>(e.exp * w.cos, e.n), y == 0 ? y : rounded<T>(e.exp * w.sin, e.n)};
  }
  const T end = x < 0 ? T(0) : x;
  if (y == 0) return {end, y};
  if (x != x || is_finite(x)) return {kNaN<T>, kNaN<T>};
  if (!is_finite(y)) return {end, x < 0 ? sized(T(0), y) : kNaN<T>};
  const auto w = wave(y);
  return {sized(end, leading(w.cos)), sized(end, leading(w.sin))};
}

template <class T>
Complex<T> csinh(Complex<T> z) {
  const T x = z.re, y = z.im;
  const double side = __builtin_copysign(1.0, x);
  if (is_finite(x) && is_finite(y)) {
    const auto e = growth(T(x * side));
    const auto w = wave(y);
    return {sized(rounded<T>(e.sinh * w.cos, e.n), side * leading(w.cos)),
            y == 0 ? y : rounded<T>(e.cosh * w.sin, e.n)};
  }
  if (y == 0) return {x, y};
  if (x == 0) return {x, kNaN<T>};
  if (!is_infinite(x)) return {kNaN<T>, kNaN<T>};
  if (!is_finite(y)) return {kInfinity<T>, kNaN<T>};
  const auto w = wave(y);
  return {sized(x, side * leading(w.cos)), sized(x, leading(w.sin))};
}

template <class T>
Complex<T> ccosh(Complex<T> z) {
  const T x = z.re, y = z.im;
  const double side = __builtin_copysign(1.0, x);
  if (is_finite(x) && is_finite(y)) {
    const auto e = growth(T(x * side));
    const auto w = wave(y);
    const T im = rounded<T>(e.sinh * w.sin, e.n);
    return {rounded<T>(e.cosh * w.cos, e.n), sized(im, side * (y == 0 ? y : leading(w.sin)))};
  }
  if (y == 0) return {T(x * side), x == x ? sized(y, side * y) : y};
  if (x == 0) return {kNaN<T>, T(0)};
  if (!is_infinite(x)) return {kNaN<T>, kNaN<T>};
  if (!is_finite(y)) return {kInfinity<T>, kNaN<T>};
  const auto w = wave(y);
  return {sized(x, leading(w.cos)), sized(x, side * leading(w.sin))};
}

// (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y)
template <class T>
Complex<T> ctanh(Complex<T> z) {
  const T x = z.re, y = z.im;
  if (is_finite(x) && is_finite(y)) {
    const auto e = growth(T(__builtin_fabs(x)));
    const auto w = wave(y);
    const bool far = __builtin_fabs(x) > 20;  // cosh and sinh are one
    const auto square = e.sinh * e.sinh, below = far ? square : square + w.cos * w.cos;
    const T re = far ? T(1) : rounded<T>(e.sinh * e.cosh / below, 0);
    return {sized(re, x), y == 0 ? y : rounded<T>(w.sin * w.cos / below, -2 * e.n)};
  }
  if (is_infinite(x)) {
    const bool waves = is_finite(y) && __builtin_fabs(y) > 1;
    const auto w = wave(waves ? y : T(1));
    return {sized(T(1), x), sized(T(0), waves ? leading(w.sin) * leading(w.cos) : double(y))};
  }
  if (y == 0) return z;
  return {x == 0 ? x : kNaN<T>, kNaN<T>};
}

// f(iz) / i, for odd functions that turn with their argument.
#define LT_TURNED(NAME, OF)                           \
  template <class T>                                  \
  LT_INLINE Complex<T> NAME(Complex<T> z) {           \
    const Complex<T> y = OF(Complex<T>(-z.im, z.re)); \
    return {y.im, -y.re};                             \
  }
template <class T>
LT_INLINE Complex<T> csin(Complex<T> z) {
  const Complex<T> y = csinh(Complex<T>(-z.im, z.re));
  return {y.im, is_infinite(z.im) && !is_finite(z.re) ? kInfinity<T> : -y.re};
}
LT_TURNED(ctan, ctanh)
template <class T>
LT_INLINE Complex<T> ccos(Complex<T> z) {
  return ccosh(Complex<T>(-z.im, z.re));
}

}  // namespace plane
}  // namespace
}  // namespace lt
#endif
