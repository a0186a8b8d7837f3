// Logarithm, square root, and inverse hyperbolic and trigonometric functions of complex numbers.
// The inverse sine and cosine are W. Kahan's (Branch Cuts for Complex Elementary Functions, 1987).
#ifndef LIBTENSOR_CUDA_COMPLEX_INVERSE_H
#define LIBTENSOR_CUDA_COMPLEX_INVERSE_H

#include "complex_exponential.h"
// Come after pair.h, whose names they share.
#include "../../engine/kernel/src/vmath_atrig.h"
#include "../../engine/kernel/src/vmath_log.h"

namespace lt {
namespace {
namespace plane {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kFar = 0x1p60;  // 1 is negligible next to numbers of this size

template <class T>
LT_INLINE T angle(T y, T x) {
  return vatan2(Vec<T>(y), Vec<T>(x))[0];
}
LT_INLINE double angle_of(double y, double x) { return vatan2(Doubles(y), Doubles(x))[0]; }
LT_INLINE double log1p_of(double x) { return vlog1p(Doubles(x))[0]; }
LT_INLINE double asinh_of(double x) { return vasinh(Doubles(x))[0]; }

LT_INLINE double root(double x) { return __builtin_sqrt(x); }
LT_INLINE Pair root(Pair x) { return x.hi > 0 ? sqrt(x) : Pair(0); }

// log |m + in| of finite m >= n >= 0, m > 0, in double.
inline double log_size(float m, float n) {
  const double square = double(m) * m, more = double(n) * n;
  const double u = (square - 1) + more;
  return __builtin_fabs(u) < 0.5 ? log1p_of(u) / 2 : vlog(Doubles(square + more))[0] / 2;
}
inline double log_size(double m, double n) {
  const int k = m > 0.7 && m < 1.42 ? 0 : __builtin_ilogb(m);
  const double a = k ? __builtin_ldexp(m, -k) : m, b = k ? __builtin_ldexp(n, -k) : n;
  const Pair square = Pair::product(a, a), more = Pair::product(b, b);
  if (k == 0) {  // nothing of square + more - 1 is lost
    const Pair less = Pair::sum(square.hi, -1), high = Pair::sum(less.hi, more.hi);
    const Pair low = Pair::sum(square.lo, more.lo);
    const Pair u = Pair::sum(high.hi, (high.lo + less.lo) + low.hi);
    if (__builtin_fabs(u.hi) < 0.25) return log1p_of(u.hi + (u.lo + low.lo)) / 2;
  }
  constexpr Pair kLogOf2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  return double(log_pair(square + more) * Pair(0.5) + kLogOf2 * Pair(k));
}

template <class T>
LT_INLINE double log_size(Complex<T> z) {
  const T a = T(__builtin_fabs(z.re)), b = T(__builtin_fabs(z.im));
  return a > b ? log_size(a, b) : log_size(b, a);
}

template <class T>
Complex<T> clog(Complex<T> z) {
  const T x = z.re, y = z.im;
  if (is_infinite(x) || is_infinite(y)) return {kInfinity<T>, angle(y, x)};
  if (x != x || y != y) return {kNaN<T>, kNaN<T>};
  if (x == 0 && y == 0) return {-kInfinity<T>, angle(y, x)};
  return {T(log_size(z)), angle(y, x)};
}

template <class T>
Complex<T> csqrt(Complex<T> z) {
  const T x = z.re, y = z.im;
  if (is_infinite(y)) return {kInfinity<T>, y};
  if (is_infinite(x)) {
    const T other = y == y ? T(0) : y;
    return x > 0 ? Complex<T>(x, sized(other, y)) : Complex<T>(other, sized(x, y));
  }
  if (x != x || y != y) return {kNaN<T>, kNaN<T>};
  if (x == 0 && y == 0) return {T(0), y};
  using R = Wider<T>;
  const double m = __builtin_fabs(x), n = __builtin_fabs(y);
  const int e = __builtin_ilogb(m > n ? m : n) & ~1;
  const R a = __builtin_ldexp(m, -e), b = __builtin_ldexp(n, -e);
  const R r = root((a + root(a * a + b * b)) * R(0.5));
  const double large = __builtin_ldexp(double(r), e / 2), small = n / large / 2;
  return x < 0 ? Complex<T>(T(small), sized(T(large), y))
               : Complex<T>(T(large), sized(T(small), y));
}

// The square root of x + iy, y >= 0, neither of them large.
template <class R>
struct Root {
  R re, im;
};
template <class R>
inline Root<R> root_of(R x, R y) {
  if (leading(x) == 0) {
    const R r = root(y * R(0.5));
    return {r, r};
  }
  const R size = root(x * x + y * y);
  const R large = root((leading(x) > 0 ? x + size : size - x) * R(0.5)),
          small = y / (large + large);
  return leading(x) > 0 ? Root<R>{large, small} : Root<R>{small, large};
}

// asin (a + ib) and the angle of acos for a, b >= 0; acos(-z) = pi - acos(z).
struct Arc {
  double sine, cosine, height, opposite;
};
template <class T>
Arc arc(T a, T b) {
  using R = Wider<T>;
  if (a > kFar || b > kFar) {
    const double up = double(angle_of(b, a));
    return {angle_of(a, b), up, log_size(Complex<T>(a, b)) + 0x1.62e42fefa39efp-1, kPi - up};
  }
  const R x = double(a), y = double(b);
  const Root<R> m = root_of(R(1.0) - x, y), p = root_of(R(1.0) + x, y);
  const double less = double(m.re), more = double(p.re);
  return {angle_of(a, double(m.re * p.re + m.im * p.im)), 2 * angle_of(less, more),
          asinh_of(double(m.re * p.im + m.im * p.re)), 2 * angle_of(more, less)};
}

template <class T>
Complex<T> casinh(Complex<T> z) {
  const T x = z.re, y = z.im;
  if (is_finite(x) && is_finite(y)) {
    const Arc a = arc(T(__builtin_fabs(y)), T(__builtin_fabs(x)));
    return {sized(T(a.height), x), sized(T(a.sine), y)};
  }
  if (is_infinite(y))
    return {sized(kInfinity<T>, x),
            x != x ? kNaN<T> : sized(T(is_finite(x) ? kPi / 2 : kPi / 4), y)};
  if (is_infinite(x)) return {x, y == y ? sized(T(0), y) : y};
  return {x != x ? x : kNaN<T>, x != x && y == 0 ? y : kNaN<T>};
}
LT_TURNED(casin_of_infinite, casinh)

template <class T>
Complex<T> casin(Complex<T> z) {
  const T x = z.re, y = z.im;
  if (is_finite(x) && is_finite(y)) {
    const Arc a = arc(T(__builtin_fabs(x)), T(__builtin_fabs(y)));
    return {sized(T(a.sine), x), sized(T(a.height), y)};
  }
  if (x == x && y == y) return casin_of_infinite(z);
  if (x == 0) return z;
  if (is_infinite(x) || is_infinite(y)) return {kNaN<T>, sized(kInfinity<T>, y)};
  return {kNaN<T>, kNaN<T>};
}

template <class T>
Complex<T> cacos(Complex<T> z) {
  const T x = z.re, y = z.im;
  if (is_finite(x) && is_finite(y)) {
    const Arc a = arc(T(__builtin_fabs(x)), T(__builtin_fabs(y)));
    return {T(__builtin_signbit(x) ? a.opposite : a.cosine),
            sized(T(a.height), __builtin_signbit(y) ? 1 : -1)};
  }
  const Complex<T> s = casin(z);
  return {T(kPi / 2) - s.re, -s.im};
}

template <class T>
Complex<T> cacosh(Complex<T> z) {
  const T x = z.re, y = z.im;
  if (is_finite(x) && is_finite(y)) {
    const Complex<T> c = cacos(z);
    return {T(__builtin_fabs(c.im)), sized(c.re, y)};
  }
  if (is_infinite(y))
    return {kInfinity<T>, x != x ? x
                                 : sized(T(is_finite(x) ? kPi / 2
                                           : x < 0      ? 3 * kPi / 4
                                                        : kPi / 4),
                                         y)};
  if (is_infinite(x)) return {kInfinity<T>, y == y ? sized(T(x < 0 ? kPi : 0), y) : y};
  return {kNaN<T>, x == 0 ? T(kPi / 2) : kNaN<T>};
}

// log((1 + z) / (1 - z)) / 2
template <class T>
Complex<T> catanh(Complex<T> z) {
  using R = Wider<T>;
  const T x = z.re, y = z.im;
  const double a = __builtin_fabs(x), b = __builtin_fabs(y);
  if (!(is_finite(x) && is_finite(y))) {
    if (is_infinite(y)) return {sized(T(0), x), sized(T(kPi / 2), y)};
    if (is_infinite(x) || x == 0) return {sized(T(0), x), y == y ? sized(T(kPi / 2), y) : y};
    return {kNaN<T>, kNaN<T>};
  }
  if (a > kFar || b > kFar) {  // 1/z is left
    const double large = a > b ? a : b, small = a > b ? b : a, r = small / large;
    const double size = large * (1 + r * r);
    return {sized(T(a > b ? 1 / size : r / size), x), sized(T(kPi / 2), y)};
  }
  const R p = R(1.0) - R(a), square = R(b) * R(b), below = p * p + square;
  const double ratio = double(R(4 * a) / below);
  const double along = double(p * (R(1.0) + R(a)) - square);
  return {sized(T(leading(below) == 0 ? kInfinity<double> : log1p_of(ratio) / 4), x),
          sized(T(angle_of(2 * b, along) / 2), y)};
}
LT_TURNED(catan, catanh)

}  // namespace plane
}  // namespace
}  // namespace lt
#endif
