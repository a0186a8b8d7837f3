// Orthogonal polynomials of one number and a degree, by their recurrences.
#ifndef LIBTENSOR_KERNEL_POLYNOMIALS_H
#define LIBTENSOR_KERNEL_POLYNOMIALS_H

#include "laguerre.h"

namespace lt {
namespace {

// The integer part of n. Polynomials of negative degrees are 0; of degree 0 they are 1, whatever x
// is.
constexpr int64_t kNoDegree = -1;
constexpr double kNoInteger = 0x1p63;  // degrees from here on are even, or infinite
LT_INLINE int64_t degree_of(double n) { return n > -1 && n < kNoInteger ? int64_t(n) : kNoDegree; }
LT_INLINE double constant(double n) { return n == n ? degree_of(n) == 0 : n; }

// The value of a polynomial at infinity, and beyond the range of its dtype.
LT_INLINE double unbounded(bool negative, int64_t n) {
  return negative && n % 2 ? -__builtin_inf() : __builtin_inf();
}

// A polynomial of a degree too large for anything else, which grows with it beyond the ends of its
// oscillation; within them no digit is known.
inline double grown(double x, double n, double end) {
  if (x > end) return __builtin_inf();
  if (!(x < -end) || n == __builtin_inf()) return __builtin_nan("");
  return __builtin_fmod(n, 2) == 1 ? -__builtin_inf() : __builtin_inf();
}

// Chebyshev polynomials: T_n and U_(n-1) are cos(n t) and sin(n t) / sin t with x = cos t. Doubling
// n and adding 1 to it take two products each (DLMF 18.9), so that n may be any number.
template <class R>
struct Turned {
  R cosine, sine;
};
template <class R>
inline Turned<R> turn(R x, int64_t n) {
  Turned<R> z = {x, R(1.0)};
  const R rest = (R(1.0) - x) * (R(1.0) + x);
  for (int bit = 62 - __builtin_clzll(uint64_t(n)); bit >= 0; bit--) {
    const R product = z.cosine * z.sine, square = z.cosine * z.cosine;
    z = {square + square - R(1.0), product + product};
    if (n >> bit & 1) z = {x * z.cosine - rest * z.sine, x * z.sine + z.cosine};
  }
  return z;
}

enum Chebyshev { kFirst, kSecond, kThird, kFourth };

// Of degree n >= kNoInteger.
inline double chebyshev_grown(Chebyshev kind, double x, double n) {
  if (x == 0 && n < __builtin_inf()) return 1;
  if (__builtin_fabs(x) != 1 || (x < 0 && n == __builtin_inf())) return grown(x, n, 1);
  if (kind == kSecond) return n;
  return kind == kFirst || kind == (x > 0 ? kThird : kFourth) ? 1 : 2 * n;
}
template <Chebyshev kind, class R>
inline R chebyshev_at(R x, int64_t n) {
  const Turned<R> z = turn(x, n);
  if (kind == kFirst) return z.cosine;
  if (kind == kSecond) return x * z.sine + z.cosine;
  if (kind == kThird) return z.cosine - (R(1.0) - x) * z.sine;
  return z.cosine + (R(1.0) + x) * z.sine;
}
// The lower bound of a value in doubles that has the accuracy of a float despite cancellation.
template <Chebyshev kind>
inline double digits_lost(int64_t n) {
  const double size = double(n);
  return 0x1p-22 * size * size * (kind == kFirst ? 1 : size);
}
// R: double for results in float, where digits that cancel leave enough, Pair for doubles.
template <Chebyshev kind, bool shifted, class R>
inline double chebyshev(double a, double degree) {
  const int64_t n = degree_of(degree);
  if (degree >= kNoInteger) return chebyshev_grown(kind, shifted ? a + a - 1 : a, degree);
  if (n <= 0) return constant(degree);
  if constexpr (std::is_same_v<R, double>) {
    const double y = chebyshev_at<kind>(shifted ? a + a - 1 : a, n);
    if (__builtin_fabs(y) > digits_lost<kind>(n) && __builtin_fabs(y) < __builtin_inf()) return y;
  }
  const Pair x = shifted ? Pair::sum(a + a, -1) : Pair(a);
  double y = double(chebyshev_at<kind>(x, n));
  // The largest numbers overflow in double-double products.
  if (!(__builtin_fabs(y) < __builtin_inf())) y = chebyshev_at<kind>(double(x), n);
  if (!(__builtin_fabs(y) < __builtin_inf()) && __builtin_fabs(x.hi) > 1)
    y = unbounded(x.hi < 0, n);
  return y;
}

// More steps than these take too long; the result is NaN.
constexpr int64_t kMostSteps = int64_t(1) << 20;

LT_INLINE double number(double x) { return x; }
LT_INLINE double number(Pair x) { return double(x); }
LT_INLINE double scaled_by(double x, double power) { return x * power; }
LT_INLINE Pair scaled_by(Pair x, double power) { return {x.hi * power, x.lo * power}; }

// p_n, given p_1 and p_(k+1) = step(p_k, p_(k-1), k), p_0 being 1. negative: whether p_1 is
// negative at an infinite x.
template <class R, class F>
inline double recurrence(double x, double degree, R first, bool negative, F step) {
  const int64_t n = degree_of(degree);
  if (n <= 0) return constant(degree);
  if (__builtin_fabs(x) == __builtin_inf()) return unbounded(negative, n);
  if (x != x || n > kMostSteps) return __builtin_nan("");
  R before = 1.0, now = first;
  int powers = 0;
  for (int64_t k = 1; k < n; k++) {
    const R next = step(now, before, double(k));
    before = now, now = next;
    if (__builtin_fabs(leading(now)) > 0x1p400) {
      now = scaled_by(now, 0x1p-400), before = scaled_by(before, 0x1p-400);
      powers++;
    }
  }
  const double y = number(now);  // NaN where a step leaves the range of doubles, for good
  return y == y ? __builtin_ldexp(y, powers < 100 ? 400 * powers : 40000) : unbounded(negative, n);
}

template <class R>
inline double hermite(double a, double degree, double scale) {
  const R x = scale * a;
  const int64_t n = degree_of(degree);
  if (degree >= kNoInteger)
    return a == 0 && degree < __builtin_inf() ? __builtin_inf()
                                              : grown(a, degree, 2 * __builtin_sqrt(degree));
  if (n >= kBeyondRange && a == a) return hermite_large(a, n, scale);
  return recurrence(a, degree, x, a < 0,
                    [=](R now, R before, double k) { return x * now - R(scale * k) * before; });
}
template <class R>
inline double laguerre(double a, double degree) {
  const R x = a;
  if (degree == __builtin_inf() && a == a) return a < 0 ? degree : a == 0;
  if (degree >= double(kBeyondRange) && __builtin_fabs(a) < __builtin_inf()) {
    const double y = laguerre_large(a, __builtin_floor(degree));
    if (y == y) return y;
  }
  if (degree >= kNoInteger)
    return __builtin_fabs(a) == __builtin_inf() ? __builtin_inf() : __builtin_nan("");
  return recurrence(a, degree, R(1.0) - x, a > 0, [=](R now, R before, double k) {
    return now + (R(k) * (now - before) - x * now) / R(k + 1);
  });
}
template <class R>
inline double legendre(double a, double degree) {
  const int64_t n = degree_of(degree);
  if (degree > double(kMostDegree)) {
    const bool infinite = degree == __builtin_inf();
    if (__builtin_fabs(a) != 1) return infinite && a > -1 && a < 1 ? 0 : grown(a, degree, 1);
    return a < 0 && infinite ? __builtin_nan("") : a < 0 && n % 2 == 1 ? -1 : 1;
  }
  if (n >= kLargeDegree && __builtin_fabs(a) < __builtin_inf()) {
    const double y = legendre_large(__builtin_fabs(a), n);
    return a < 0 && n % 2 ? -y : y;
  }
  // Near 0 an odd polynomial is a multiple of x, and its products with other numbers may underflow.
  const bool tiny = n % 2 && __builtin_fabs(a) < 0x1p-900;
  if (tiny) a *= 0x1p300;
  const R x = a;
  const double y = recurrence(a, degree, x, a < 0, [=](R now, R before, double k) {
    return (R(2 * k + 1) * (x * now) - R(k) * before) / R(k + 1);
  });
  return tiny ? y * 0x1p-300 : y;
}

}  // namespace
}  // namespace lt
#endif
