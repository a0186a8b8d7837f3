// Functions of complex numbers that libm lacks, in double, with double-double precision where
// digits would be lost near a zero or a pole. Floats are computed as doubles and rounded once.
#ifndef LIBTENSOR_KERNEL_COMPOUND_H
#define LIBTENSOR_KERNEL_COMPOUND_H

#include "native.h"
// Comes after native.h, which a device has in another form.
#include "pair.h"

namespace lt {
namespace {

template <class To, class From>
LT_INLINE To rounded(From z) {
  return {RealOf<To>(z.re), RealOf<To>(z.im)};
}
LT_INLINE bool finite(Complex128 z) { return z.re - z.re == 0 && z.im - z.im == 0; }

// log 2, the sum of these.
constexpr double kLogOf2[] = {
    0x1.62e42fefa39efp-1,    0x1.abc9e3b39803fp-56,   0x1.7b57a079a1934p-111,
    -0x1.ace93a4ebe5d1p-165, -0x1.23a2a82ea0c24p-219, 0x1.d881b7aeb2615p-274,
    0x1.9552fb4afa1b1p-328,  0x1.da5d5c6b82704p-385,  0x1.4427573b29117p-440,
    -0x1.91f6b05a4d7a7p-494, -0x1.db5173ae53426p-548, 0x1.1317c387eb9ebp-604,
    -0x1.90f13b267f137p-658, 0x1.6fa0ec7657f75p-712,  -0x1.234c5e1398a6bp-766,
    0x1.195ebbf4d7a70p-821,  0x1.8192432afd0c4p-875,  -0x1.a1be38ba4ba4dp-929,
    -0x1.d7860151cfc06p-987};

// z turned by an angle.
LT_INLINE Complex128 turned(Complex128 z, double angle) {
  return z * Complex128(__builtin_cos(angle), __builtin_sin(angle));
}

// 2^x (cos(y log 2) + i sin(y log 2)), the angle of any y to the last digit.
inline Complex128 exp2_of(Complex128 z) {
  if (!finite(z)) return cexp(Complex128(z.re * kLogOf2[0], z.im * kLogOf2[0]));
  const double x = z.re < -4000 ? -4000 : z.re > 4000 ? 4000 : z.re, n = __builtin_rint(x);
  const double size = __builtin_pow(2, x - n);
  Complex128 way = {1, z.im * kLogOf2[0]};  // of a small angle
  if (__builtin_fabs(z.im) > 0x1p-60) {
    way = {1, 0};
    double rest = 0;
    for (double digits : kLogOf2) {
      const Pair angle = Pair::product(z.im, digits);
      const double parts[] = {angle.hi, angle.lo};
      for (double part : parts) {
        if (__builtin_fabs(part) < 0x1p-20)
          rest += part;
        else
          way = turned(way, part);
      }
      if (__builtin_fabs(angle.hi) < 0x1p-80) break;
    }
    way = turned(way, rest);
  }
  return {__builtin_ldexp(size * way.re, int(n)), __builtin_ldexp(size * way.im, int(n))};
}

// e^z - 1 = expm1(x) cos y - 2 sin(y/2)^2 + i e^x sin y loses nothing near 0.
inline Complex128 expm1_of(Complex128 z) {
  const double x = z.re, y = z.im;
  if (y == 0) return {__builtin_expm1(x), y};
  if (!finite(z) || __builtin_fabs(x) > 1) {
    const Complex128 e = cexp(z);
    return {e.re - 1, e.im};
  }
  const double s = __builtin_sin(y / 2);
  return {__builtin_expm1(x) * __builtin_cos(y) - 2 * s * s, __builtin_exp(x) * __builtin_sin(y)};
}

// log(1 + z), whose real part is that of |1 + z|^2 - 1 = 2x + x^2 + y^2.
inline Complex128 log1p_of(Complex128 z) {
  const double x = z.re, y = z.im;
  if (x == 0 && y == 0) return z;
  if (!(__builtin_fabs(x) < 4 && __builtin_fabs(y) < 4)) return clog(Complex128(1 + x, y));
  const Pair p = Pair::product(x, x), q = Pair::product(y, y);
  const Pair s = Pair::sum(2 * x, p.hi), t = Pair::sum(s.hi, q.hi);
  const double more = t.hi + (t.lo + (s.lo + (p.lo + q.lo)));
  if (more < -0.5) return clog(Complex128(1 + x, y));
  return {0.5 * __builtin_log1p(more), __builtin_atan2(y, 1 + x)};
}

// 1 + e^z for x <= 0: (1 - t) + 2 t cos(y/2)^2 + i t sin y with t = e^x, and its square, (1 - t)^2
// + 4 t cos(y/2)^2. Neither cancels at its zeros, odd multiples of i pi.
struct OnePlusExp {
  double t, away, cos, sin;  // e^x, 1 - e^x, those of y/2
  LT_INLINE explicit OnePlusExp(double x, Pair y) : t(__builtin_exp(x)), away(-__builtin_expm1(x)) {
    const Complex128 half = turned({__builtin_cos(y.hi / 2), __builtin_sin(y.hi / 2)}, y.lo / 2);
    cos = half.re, sin = half.im;
  }
  LT_INLINE double re() const { return away + 2 * t * cos * cos; }
  LT_INLINE double im() const { return 2 * t * sin * cos; }
  LT_INLINE double square() const { return away * away + 4 * t * cos * cos; }
};

// 1 / (1 + e^-z)
inline Complex128 sigmoid_of(Complex128 z) {
  const double x = z.re, y = z.im;
  if (x != x || !(y - y == 0)) {
    const bool infinite = x - x != 0 && x == x;
    return infinite ? Complex128(x > 0, __builtin_copysign(0.0, y))
                    : Complex128(__builtin_nan(""), __builtin_nan(""));
  }
  const OnePlusExp e(-__builtin_fabs(x), y);
  const double square = e.square(), im = y == 0 ? y : e.im() / square;
  if (x >= 0) return {e.re() / square, im};
  return {e.t * (2 * e.cos * e.cos - e.away) / square, im};
}

// log(e^a + e^b)
inline Complex128 logaddexp_of(Complex128 a, Complex128 b) {
  if (a == b) return {a.re + kLogOf2[0], a.im};
  const bool swap = a.re < b.re;
  const Complex128 m = swap ? b : a, d = swap ? a - b : b - a;
  if (!finite(d)) return m + clog(Complex128(1) + cexp(d));
  const OnePlusExp e(d.re, swap ? Pair::sum(a.im, -b.im) : Pair::sum(b.im, -a.im));
  const double more = e.t * (e.t + (4 * e.cos * e.cos - 2));  // |1 + e^d|^2 - 1
  const double size = more > -0.5 ? __builtin_log1p(more) : __builtin_log(e.square());
  return {m.re + size / 2, m.im + __builtin_atan2(d.im == 0 ? d.im : e.im(), e.re())};
}

// sin(pi z) / (pi z), sin(pi z) = sin(pi x) cosh(pi y) + i cos(pi x) sinh(pi y).
inline Complex128 sinc_of(Complex128 z) {
  const double x = z.re, y = z.im;
  if (x == 0 && y == 0) return {1};
  constexpr Pair kPi = {0x1.921fb54442d18p1, 0x1.1a62633145c07p-53};
  if (!finite(z)) {
    const Complex128 w = {x * kPi.hi, y * kPi.hi};
    return csin(w) / w;
  }
  // x = 2n + r, and sine and cosine of an angle of at most a quarter turn
  const double r = x - 2 * __builtin_rint(x / 2), a = __builtin_fabs(r);
  const double s = __builtin_sin(kPi.hi * (a > 0.5 ? 1 - a : a));
  const double c = __builtin_sin(kPi.hi * (0.5 - a));
  const Pair p = Pair::product(y, kPi.hi);
  // The part of the exponent beyond 600 is applied last; twice if every nonzero value becomes
  // infinite.
  const double size = __builtin_fabs(p.hi), past = size - 600, h = past > 0 ? 600 : size;
  const double scale = past > 0 ? __builtin_exp(past < 700 ? past : 700) : 1;
  const double rest = past < 700 ? p.lo + y * kPi.lo : 0;
  const double e = __builtin_exp(h), m = __builtin_expm1(h);
  const double up = (e + 1 / e) / 2, along = __builtin_copysign((m + m / e) / 2, y);
  const Complex128 top = {(r < 0 ? -s : s) * (up + rest * along), c * (along + rest * up)};
  const Complex128 q = top / z;
  const double again = past > 700 ? scale : 1;
  return {q.re / kPi.hi * scale * again, q.im / kPi.hi * scale * again};
}

// log z of a finite z that is not 0.
struct LongLog {
  Pair re, im;
};
inline LongLog long_log(Complex128 z) {
  const double a = __builtin_fabs(z.re), b = __builtin_fabs(z.im);
  const int k = __builtin_ilogb(a > b ? a : b);
  const double x = __builtin_ldexp(z.re, -k), y = __builtin_ldexp(z.im, -k);
  const Pair square = Pair::product(x, x) + Pair::product(y, y);
  // The angle is accurate to a unit in the last place; the correction is the sine of the remainder.
  const double angle = __builtin_atan2(y, x);
  const Turn turn = reduce_pair(angle);
  const Pair c = cos_turn(turn), s = cos_turn({turn.n + 3, turn.r});
  const Pair across = Pair(y) * c - Pair(x) * s, along = Pair(x) * c + Pair(y) * s;
  // Near 1 the series of log(1 + d) is used, since a large power multiplies the rounding error.
  const Pair d = square - Pair(1);
  const Pair size =
      __builtin_fabs(d.hi) < 0x1p-26 ? d - d * d * (Pair(0.5) - Pair(d.hi / 3)) : log_pair(square);
  return {size * Pair(0.5) + Pair(kLogOf2[0], kLogOf2[1]) * Pair(k),
          Pair::ordered(angle, across.hi / along.hi)};
}

// x y of two numbers of which one is infinite, as C has it (Annex G): infinite, whatever a NaN in a
// part would make of the sums. Other products are the plain one.
inline Complex128 infinite_product(Complex128 x, Complex128 y, Complex128 plain) {
  if (plain.re == plain.re || plain.im == plain.im) return plain;
  const auto infinite = [](double a) { return __builtin_fabs(a) == __builtin_inf(); };
  const auto corner = [&](Complex128 z) {
    return Complex128(__builtin_copysign(double(infinite(z.re)), z.re),
                      __builtin_copysign(double(infinite(z.im)), z.im));
  };
  const auto known = [](Complex128 z) {
    return Complex128(z.re == z.re ? z.re : 0, z.im == z.im ? z.im : 0);
  };
  const bool first = infinite(x.re) || infinite(x.im), second = infinite(y.re) || infinite(y.im);
  if (!first && !second) return plain;
  const Complex128 p = (first ? corner(x) : known(x)) * (second ? corner(y) : known(y));
  return {__builtin_inf() * p.re, __builtin_inf() * p.im};
}

// x^y = e^(y log x)
inline Complex128 power_of(Complex128 x, Complex128 y) {
  const Complex128 plain = y * clog(x);
  const double size = __builtin_fabs(plain.re) + __builtin_fabs(plain.im);
  if (size != size) return cexp(infinite_product(y, clog(x), plain));
  // Digits are lost as that is large.
  if (!(size > 1 && size < 0x1p60) || !finite(x)) return cexp(plain);
  const LongLog l = long_log(x);
  const Pair re = Pair(y.re) * l.re - Pair(y.im) * l.im;
  const Pair im = Pair(y.re) * l.im + Pair(y.im) * l.re;
  const Power e = exp_pair(re);
  const double scale = e.value.hi + e.value.lo, s = __builtin_sin(im.hi), c = __builtin_cos(im.hi);
  const Complex128 way = __builtin_fabs(im.lo) < 0x1p-27 ? Complex128(c - s * im.lo, s + c * im.lo)
                                                         : turned({c, s}, im.lo);
  return {__builtin_ldexp(scale * way.re, e.n),
          im.hi == 0 ? im.hi : __builtin_ldexp(scale * way.im, e.n)};
}

}  // namespace
}  // namespace lt

// The compound function of a complex number a of dtype T.
#define LT_COMPOUND(FUNCTION) rounded<T>(FUNCTION(rounded<Complex128>(a)))

#endif
