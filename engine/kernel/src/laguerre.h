// Laguerre and Hermite polynomials of large degrees, in a number of steps that does not grow with
// the degree: by powers of x, by Bessel functions of sqrt((4 n + 2) x) (Tricomi's expansion, DLMF
// 13.8, A&S 13.3.7), and, where the value is beyond the range of doubles, its sign by the phase of
// the oscillation (DLMF 12.10, 18.15).
#ifndef LIBTENSOR_KERNEL_LAGUERRE_H
#define LIBTENSOR_KERNEL_LAGUERRE_H

#include "bessel.h"
#include "legendre.h"

namespace lt {
namespace {

// From this degree on Hermite polynomials are beyond the range of doubles but at their zeros.
constexpr int64_t kBeyondRange = 1000;
// Twice this is the largest number of quarter turns that an angle is multiplied by.
constexpr int64_t kMostQuarters = int64_t(1) << 60;
// From here on Laguerre polynomials of such degrees are beyond the range, too.
constexpr double kLargeLaguerre = 1600;

// The sign of the solution of u'' = (s^2 - many - singular / s^2) u that decays beyond sqrt(many),
// at s in (0, sqrt(many)); square is s^2. It oscillates as cos(many / 2 (t - sin t cos t) - pi / 4)
// with s = sqrt(many) cos t, up to smaller terms.
inline double oscillator_sign(Pair square, int64_t many, double singular) {
  const Pair all = Pair::sum(double(many & ~int64_t(0xfffff)), double(many & 0xfffff));
  const Pair rest = (all - square) / all;  // sin^2 t
  const double n = all.hi, e = rest.hi, w = n * e * __builtin_sqrt(e);
  if (!(w > 0)) return 1;
  const double cosine = __builtin_sqrt(square.hi / n);
  if (w < 60) {  // near the end: Airy's function of the same phase
    double term = 1, series = 2.0 / 3;
    for (int k = 1; k < 40 && term > 0x1p-60; k++) {
      term *= e * (2 * k - 1) / (2 * k);
      series += 2 * term / (2 * k + 3);
    }
    const double z = __builtin_cbrt(0.75 * n * series * e * __builtin_sqrt(e));
    return airy_ai(-z * z) < 0 ? -1 : 1;
  }
  const Pair sine = sqrt(rest), whole = sqrt(square / all);
  // t / 2, by which many is multiplied: 1 - cos t = 2 sin^2(t / 2).
  const Pair half = rest / (Pair(1) + whole) * Pair(0.5);
  const Angle turned = times({half / (Pair(1) + sqrt(Pair(1) - half)), sqrt(half)}, many, 1);
  const Pair other = sqrt(square) * sqrt(all) * sine * Pair(0.5);
  Turn t = reduce_pair(other.hi);
  const double c = cosine, c2 = c * c, u1 = c * (c2 - 6) / 24;
  const double u2 = ((-9 * c2 + 249) * c2 + 145) / 1152;
  const double u3 =
      c * ((((-4042 * c2 + 18189) * c2 - 28287) * c2 - 151995) * c2 - 259290) / 414720;
  const double phase = __builtin_atan2(u1 / w - u3 / (w * w * w), 1 - u2 / (w * w)) +
                       singular * double(sine) / (2 * n * c);
  t.r = t.r + Pair(other.lo) + kQuarterPi - Pair(phase);
  const double cosine_of = double(cos_turn(t));
  t.n -= 1;
  const double sine_of = double(cos_turn(t));
  return double(Pair(1) - turned.versed) * cosine_of + double(turned.sine) * sine_of < 0 ? -1 : 1;
}

// H_n(x), or with scale 1 He_n(x) = 2^(-n/2) H_n(x / sqrt 2), of n >= kBeyondRange: an infinity, or
// 0 at the middle of odd degrees.
inline double hermite_large(double x, int64_t n, double scale) {
  const double m = __builtin_fabs(x);
  if (m == 0 && n % 2) return 0;
  double sign = n % 4 / 2 ? -1 : 1;
  if (m > 0x1p33)  // beyond the end of any degree
    sign = 1;
  else if (m > 0 && n >= kMostQuarters / 2)
    sign = __builtin_nan("");
  else if (m > 0)
    sign = oscillator_sign(Pair::product(m, m) * Pair(scale == 2 ? 1 : 0.5), 2 * n + 1, 0);
  return (x < 0 && n % 2 ? -sign : sign) * __builtin_inf();
}

// L_n(x) by the powers of x, of which the first n x / k^2 grow.
inline Pair laguerre_near(Pair n, double x) {
  Pair term = 1, sum = 1;
  for (double k = 0; k < n.hi && sum.hi < __builtin_inf(); k++) {
    term = term * Pair(-x) * (n - Pair(k)) / Pair((k + 1) * (k + 1));
    if (!(__builtin_fabs(term.hi) < __builtin_inf())) return __builtin_inf();
    sum = sum + term;
    if (__builtin_fabs(term.hi) < 0x1p-70 * __builtin_fabs(sum.hi) &&
        n.hi * __builtin_fabs(x) < k * k)
      break;
  }
  return sum;
}

// The length and the angle of (a, b), for a > 0 or any b: a rotation by the angle of atan2 leaves
// the length in a.
struct Rotated {
  Pair length, angle;
};
inline Rotated rotated(Pair a, Pair b) {
  const double r = __builtin_atan2(b.hi, a.hi), part = r / 64;
  Pair sine = part, versed = 0, term = part;
  for (int k = 2; k < 24; k++) {
    term = term * Pair(part) / Pair(k);
    const Pair signed_term = k & 2 ? -term : term;
    if (k % 2)
      sine = sine + signed_term;
    else
      versed = versed - signed_term;
  }
  const Angle z = times({versed, sine}, 64, 1);
  const Pair cosine = Pair(1) - z.versed;
  const Pair along = a * cosine + b * z.sine;
  return {along, Pair(r) + (b * cosine - a * z.sine) / along};
}

struct SinCosOf {
  Pair sine, cosine;
};

// The sum of T_m J_m(y) with y^2 = (4 n + 2) x, where (m + 1) T_(m+1) = m g^2 T_(m-1) - d T_(m-2),
// g^2 = x / (2 (2 n + 1)) and d = (x / 2)^(3/2) / sqrt(2 n + 1); all J_m follow from J_0 and J_1.
inline double laguerre_waves(Pair n, double x) {
  const Pair kappa = n + n + Pair(1), y = sqrt(kappa * Pair(2) * Pair(x));
  const Pair square = Pair(x * 0.5) / kappa, d = Pair(x * 0.5) * sqrt(square);
  Pair t[3] = {1, 0, square * Pair(0.5)};  // T_m, T_(m+1), T_(m+2)
  Pair c = 1, next_c = 0, s = 0, next_s = 1, first = 0, second = 0;
  const Pair step = Pair(2) / y;
  for (int m = 0; m < 2000; m++) {
    first = first + t[0] * c, second = second + t[0] * s;
    if (m > 2 && __builtin_fabs(t[0].hi) + __builtin_fabs(t[1].hi) + __builtin_fabs(t[2].hi) <
                     0x1p-104 * (__builtin_fabs(first.hi) + __builtin_fabs(second.hi)))
      break;
    const Pair far = (Pair(m + 2) * square * t[1] - d * t[0]) / Pair(m + 3);
    t[0] = t[1], t[1] = t[2], t[2] = far;
    const Pair turn = Pair(m + 1) * step, past_c = turn * next_c - c, past_s = turn * next_s - s;
    c = next_c, next_c = past_c, s = next_s, next_s = past_s;
  }
  // J_0 and J_1 are m0 cos(z + p0) and m1 sin(z + p1) with z = y - pi / 4.
  const Pair u = Pair(1) / y;
  const auto parts = [](Pair p) {  // of small angles
    const Pair q = p * p;
    Pair sine = 0, cosine = 0;
    for (int k = 12; k > 0; k--) {
      sine = (Pair(1) + sine) * -q / Pair(double(2 * k * (2 * k + 1)));
      cosine = (Pair(1) + cosine) * -q / Pair(double(2 * k * (2 * k - 1)));
    }
    return SinCosOf{(Pair(1) + sine) * p, Pair(1) + cosine};
  };
  const SinCosOf p0 = parts(bessel_phase0(u) * u), p1 = parts(bessel_phase1(u) * u);
  first = first * bessel_amplitude0(u), second = second * bessel_amplitude1(u);
  const Rotated r =
      rotated(first * p0.cosine + second * p1.sine, second * p1.cosine - first * p0.sine);
  Turn z = reduce_pair(y.hi);
  z.r = z.r + Pair(y.lo) - kQuarterPi - r.angle;
  while (__builtin_fabs(z.r.hi) > 0.8) {
    const int by = z.r.hi > 0 ? 1 : -1;
    z = {(z.n + by) & 3, z.r - Pair(by) * kHalfPi};
  }
  const Power e = exp_pair(Pair(x * 0.5));
  const Pair value = kSqrtTwoOverPi / sqrt(y) * r.length * cos_turn(z) * e.value;
  return __builtin_ldexp(double(value), e.n);
}

// L_n(x) of finite x and n >= kBeyondRange; NaN if no method applies.
inline double laguerre_large(double x, double degree) {
  const Pair n = degree;
  const double turns = degree * x;
  if (turns < 200) return double(laguerre_near(n, x));
  // Of terms of e^(slow / 12) cos(slow / 12) is left.
  const double slow = x * __builtin_sqrt(x / degree);
  if (x < kLargeLaguerre && slow < 300 && turns < 0x1p90) return laguerre_waves(n, x);
  if (x < kLargeLaguerre || !(degree < double(kMostQuarters / 4))) return __builtin_nan("");
  const bool odd = int64_t(degree) % 2;
  const double sign = x > 4 * degree + 2 ? 1 : oscillator_sign(x, 4 * int64_t(degree) + 2, 0.25);
  return (odd ? -sign : sign) * __builtin_inf();
}

}  // namespace
}  // namespace lt
#endif
