// Legendre polynomials of large degrees, in a number of steps that grows with the logarithm of the
// degree: by powers of 1 - |x| near the ends of [-1, 1], and by Stieltjes's expansion elsewhere
// (DLMF 18.15; N. Hale, A. Townsend, "Fast and accurate computation of Gauss-Legendre and
// Gauss-Jacobi quadrature nodes and weights", 2013), which beyond the ends has one exponential.
#ifndef LIBTENSOR_KERNEL_LEGENDRE_H
#define LIBTENSOR_KERNEL_LEGENDRE_H

#include "pair.h"

namespace lt {
namespace {

// From here on the expansions are as good as the recurrence, and quicker.
constexpr int64_t kLargeDegree = 1000;
// Beyond these the angle's last digits are lost.
constexpr int64_t kMostDegree = int64_t(1) << 48;
// The power series is used up to here: the cancelled digits are a thousandth of those that
// double-double has beyond double precision.
constexpr double kNearEnd = 32;

// 1 - cos a and sin a of an angle, or 1 - cosh a and sinh a, which keep their digits however small
// it is.
struct Angle {
  Pair versed, sine;
};

// n times the angle; sign is 1 for the circle, -1 for the hyperbola.
inline Angle times(Angle a, int64_t n, double sign) {
  Angle z = a;
  const Pair one = 1.0;
  for (int bit = 62 - __builtin_clzll(uint64_t(n)); bit >= 0; bit--) {
    const Pair s = z.sine * (one - z.versed), v = z.sine * z.sine * Pair(sign);
    z = {v + v, s + s};
    if (n >> bit & 1)
      z = {z.versed + a.versed - z.versed * a.versed + z.sine * a.sine * Pair(sign),
           z.sine * (one - a.versed) + a.sine * (one - z.versed)};
  }
  return z;
}

// The sum of (-n)_k (n + 1)_k / k!^2 t^k, where x = 1 - 2 t.
inline Pair legendre_near(Pair t, int64_t n) {
  Pair term = 1.0, sum = 1.0;
  for (int64_t k = 0; k < n; k++) {
    const Pair up = Pair(double(n - k)) * Pair::sum(double(n), double(k + 1));
    const Pair down = double(k + 1) * double(k + 1);
    term = -(term * t * (up / down));
    sum = sum + term;
    if (__builtin_fabs(term.hi) < 0x1p-70 && k > kNearEnd) break;
  }
  return sum;
}

// P_n(x) of 0 <= x, n >= kLargeDegree - 1, but near the zero of odd degrees at 0.
inline Pair legendre_away(double x, int64_t n) {
  const Pair one = 1.0, t = Pair::sum(1, -x) * Pair(0.5), size = t.hi < 0 ? -t : t;
  const Pair sine = sqrt(size * (one - t)) * Pair(2.0);  // of the whole angle
  const double turns = (double(n) + 0.5) * double(sine);
  if (turns < kNearEnd) return legendre_near(t, n);
  const double sign = t.hi < 0 ? -1 : 1;
  if (sign < 0 && (double(n) + 0.5) * __builtin_asinh(double(sine)) > 1500) return __builtin_inf();
  // A quarter of the angle, so that its multiple is half of the angle in the result.
  const Pair square = size / (Pair(2.0) * (one + sqrt(one - t)));
  const Pair versed = square * Pair(sign) / (one + sqrt(one - square * Pair(sign)));
  const Angle half = times({versed, sqrt(square)}, 2 * n + 1, sign);

  // The sum of h_m w^m with h_m = h_(m-1) (m - 1/2)^2 / (m (n + m + 1/2)), where w is 1/2 and cot /
  // 2: on the other axis for the circle, on the same one for the hyperbola.
  const Pair cotangent = Pair(x) / sine * Pair(0.5);
  const Pair w = sign > 0 ? Pair(0.5) : Pair(0.5) + cotangent;
  const Pair across = sign > 0 ? -cotangent : Pair(0.0);
  Pair re = 1.0, im = 0.0, real = re, imaginary = im;
  for (int m = 1; m <= 2 * int(kNearEnd); m++) {
    const double odd = m - 0.5;
    const Pair h = Pair(odd * odd) / (Pair(double(m)) * Pair::sum(double(n), m + 0.5));
    const Pair next = h * (re * w - im * across);
    im = h * (re * across + im * w), re = next;
    real = real + re, imaginary = imaginary + im;
    if (__builtin_fabs(re.hi) + __builtin_fabs(im.hi) < 0x1p-70) break;
  }

  // gamma(n + 1) / gamma(n + 3/2), by powers of n + 3/4, over sqrt(pi sin).
  constexpr Pair kRoot = {0x1.20dd750429b6dp-1, 0x1.1ae3a914fed80p-57};
  constexpr Pair kRootHalf = {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};
  const Pair middle = Pair::sum(double(n), 0.75);
  const double u = 1 / (middle.hi * middle.hi);
  const Pair size_of =
      kRoot / sqrt(middle * sine) * Pair::sum(1, u * (-1.0 / 64 + u * (21.0 / 8192)));
  const Pair cosine = one - half.versed;
  if (sign < 0) {
    const Pair root = cosine + half.sine, scaled = size_of * real * kRootHalf;
    const Pair y = root * scaled * root;
    return y.hi == y.hi ? y : Pair(__builtin_inf());
  }
  const Pair c = one - Pair(2.0) * half.sine * half.sine, s = Pair(2.0) * half.sine * cosine;
  return size_of * ((c + s) * real + (c - s) * imaginary);
}

// P_n(x) of 0 <= x, n >= kLargeDegree.
inline double legendre_large(double x, int64_t n) {
  if (n % 2 == 0 || double(n) * x > 0x1p-20) return double(legendre_away(x, n));
  // From P_n'(0) = n P_(n-1)(0), and the next term.
  const auto times_x = [=](int64_t k) { return Pair::product(double(k), x); };
  const Pair next = times_x(n - 1) * times_x(n + 2) * Pair(1.0 / 6);
  return double(times_x(n) * legendre_away(0, n - 1) * (Pair(1.0) - next));
}

}  // namespace
}  // namespace lt
#endif
