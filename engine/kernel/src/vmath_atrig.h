// asin, acos, atan, atan2.
//
// asin x = x + x^3 P(x^2) up to 1/2 and pi/2 - 2 asin(sqrt((1 - x)/2)) beyond; atan t by its
// minimax polynomial up to tan(pi/8) and pi/4 + atan((t - 1)/(t + 1)) beyond (the classical
// reductions, e.g. Cody and Waite). Floats work in double.
#ifndef LT_VMATH_ATRIG_H_
#define LT_VMATH_ATRIG_H_

#include "vmath_core.h"

namespace lt {
namespace {

constexpr double pi_2_hi = 0x1.921fb54442d18p0, pi_2_lo = 0x1.1a62633145c07p-54;

// (asin s - s) / s^3 for s^2 = z <= 1/4.
LT_INLINE Doubles asin_tail(Doubles z) {
  return poly(z, 0x1.5555555555579p-3, 0x1.333333332dcdcp-4, 0x1.6db6db72472c8p-5,
              0x1.f1c71a80c053fp-6, 0x1.6e8be1248a61fp-6, 0x1.1c49c6e7a4f32p-6,
              0x1.ca2380248afc1p-7, 0x1.7564b9fc808c5p-7, 0x1.61f73071833e1p-7,
              0x1.dac97d88cded1p-9, 0x1.670e34e59849ep-6, -0x1.5cede16b2c601p-6,
              0x1.0cd7343a5b53fp-5);
}
LT_INLINE Doubles asin_tail_short(Doubles z) {
  return poly(z, 0x1.5555560c07275p-3, 0x1.3332a60ae15e5p-4, 0x1.6ddb98447f55ap-5,
              0x1.ed48081895b0bp-6, 0x1.93a3ff8716c1p-6, 0x1.e5c1e22e22fdcp-8,
              0x1.1cc8bcb680508p-5);
}

// asin of s with |x| = s up to 1/2, of s = sqrt((1 - |x|)/2) beyond.
struct Arcsine {
  Mask<double> big;
  Two<double> angle;
};

LT_INLINE Arcsine asin_parts(Doubles x) {
  const Doubles m = abs(x);
  const Mask<double> big = m > 0.5;
  const Doubles z = select(big, (Doubles(1.0) - m) * 0.5, m * m);
  const Doubles root = sqrt(z), s = select(big, root, m);
  const Doubles lost = minus_square(z, root) / (root + root);
  const Doubles s_lo = select(big & (z > 0.0), lost, Doubles(0.0));
  return {big, {s, fma(s * z, asin_tail(z), s_lo)}};
}

LT_INLINE Doubles vasin(Doubles x) {
  const Arcsine a = asin_parts(x);
  const Two<double> d = fast_two_sum(Doubles(pi_2_hi), a.angle.hi * -2.0);
  const Doubles big = d.hi + (d.lo + fma(a.angle.lo, Doubles(-2.0), Doubles(pi_2_lo)));
  return copysign(select(a.big, big, a.angle.hi + a.angle.lo), x);
}
LT_INLINE Doubles vacos(Doubles x) {
  const Arcsine a = asin_parts(x);
  const Mask<double> negative = x < 0.0;
  // pi/2 - asin x; 2 angle; pi - 2 angle.
  const Doubles base_hi =
      select(a.big, select(negative, Doubles(2 * pi_2_hi), Doubles(0.0)), Doubles(pi_2_hi));
  const Doubles base_lo =
      select(a.big, select(negative, Doubles(2 * pi_2_lo), Doubles(0.0)), Doubles(pi_2_lo));
  const Doubles factor =
      select(a.big, select(negative, Doubles(-2.0), Doubles(2.0)), copysign(Doubles(-1.0), -x));
  const Two<double> sum = fast_two_sum(base_hi, a.angle.hi * factor);
  return sum.hi + (sum.lo + fma(a.angle.lo, factor, base_lo));
}

LT_INLINE Floats vasin(Floats x) {
  return in_double(x, [](Doubles v) {
    const Doubles m = abs(v);
    const Mask<double> big = m > 0.5;
    const Doubles z = select(big, fma(m, Doubles(-0.5), Doubles(0.5)), m * m);
    const Doubles s = select(big, sqrt(z), m);
    const Doubles a = fma(s * z, asin_tail_short(z), s);
    return copysign(select(big, fma(a, Doubles(-2.0), Doubles(pi_2_hi)), a), v);
  });
}
LT_INLINE Floats vacos(Floats x) {
  return in_double(x, [](Doubles v) {
    const Doubles m = abs(v);
    const Mask<double> big = m > 0.5;
    const Doubles z = select(big, fma(m, Doubles(-0.5), Doubles(0.5)), m * m);
    const Doubles s = select(big, sqrt(z), m);
    const Doubles a = fma(s * z, asin_tail_short(z), s);
    const Doubles twice = a + a;
    return select(big, select(v < 0.0, Doubles(2 * pi_2_hi) - twice, twice),
                  Doubles(pi_2_hi) - copysign(a, v));
  });
}

// (atan t - t) / t^3 for t^2 = z, t <= tan(pi/8).
LT_INLINE Doubles atan_tail(Doubles z) {
  return poly(z, -0x1.555555555553dp-2, 0x1.9999999995888p-3, -0x1.24924922ae511p-3,
              0x1.c71c70e66d6e2p-4, -0x1.745cf8e5e412dp-4, 0x1.3b1119a8dfc47p-4,
              -0x1.10ebbd19d61e3p-4, 0x1.df0f7b9435f5bp-5, -0x1.9cd33259b8e25p-5,
              0x1.37d5cf0c12fc1p-5, -0x1.25688b6ad1ec7p-6);
}
LT_INLINE Doubles atan_tail_short(Doubles z) {
  return poly(z, -0x1.555554c7decd3p-2, 0x1.999919c0909cep-3, -0x1.247ef68be407cp-3,
              0x1.c4666305bd6dap-4, -0x1.5b3bed0317ddep-4, 0x1.84ccc3c5a5ae5p-5);
}

constexpr double tan_pi_8 = 0x1.a827999fcef34p-2;

// base + sign * atan(y / x) for 0 <= y <= x, x > 0; the base is base_halves * pi/2.
LT_INLINE Doubles atan_ratio(Doubles y, Doubles x, Doubles base_halves, Doubles sign) {
  const Mask<double> big = y > x * tan_pi_8;
  const Doubles zero = 0.0;
  const Two<double> difference = fast_two_sum(x, -y), sum = fast_two_sum(x, y);
  const Two<double> q =
      divide(Two<double>{select(big, -difference.hi, y), select(big, -difference.lo, zero)},
             Two<double>{select(big, sum.hi, x), select(big, sum.lo, zero)});
  const Doubles z = q.hi * q.hi;
  const Doubles tail = fma(q.hi * z, atan_tail(z), fma(-z, q.lo, q.lo));
  const Doubles halves = base_halves + select(big, sign * 0.5, zero);
  // halves is 0, 1/2, 1, 3/2 or 2, so that only 3/2 rounds.
  const Two<double> base = two_prod(halves, Doubles(pi_2_hi));
  const Two<double> s = fast_two_sum(base.hi, sign * q.hi);
  return s.hi + (s.lo + (fma(halves, Doubles(pi_2_lo), base.lo) + sign * tail));
}
LT_INLINE Doubles atan_ratio_short(Doubles y, Doubles x, Doubles base_halves, Doubles sign) {
  const Mask<double> big = y > x * tan_pi_8;
  const Doubles q = select(big, y - x, y) / select(big, y + x, x), z = q * q;
  const Doubles a = fma(q * z, atan_tail_short(z), q);
  const Doubles halves = base_halves + select(big, sign * 0.5, Doubles(0.0));
  return fma(halves, Doubles(pi_2_hi), sign * a);
}

LT_INLINE Doubles vatan(Doubles x) {
  const Doubles m = min(Doubles(0x1p60), abs(x)), one = 1.0;
  const Mask<double> swap = m > 1.0;
  const Doubles y = atan_ratio(select(swap, one, m), select(swap, m, one),
                               select(swap, one, Doubles(0.0)), select(swap, -one, one));
  return select(abs(x) < 0x1p-27, x, copysign(y, x));
}
LT_INLINE Floats vatan(Floats x) {
  const Floats y = in_double(min(Floats(0x1p60f), abs(x)), [](Doubles m) {
    const Doubles one = 1.0;
    const Mask<double> swap = m > 1.0;
    return atan_ratio_short(select(swap, one, m), select(swap, m, one),
                            select(swap, one, Doubles(0.0)), select(swap, -one, one));
  });
  return copysign(y, x);
}

// The legs of atan2 as 0 <= smaller <= larger, and the reconstruction of the angle.
struct Legs {
  Doubles smaller, larger, base_halves, sign;
};

LT_INLINE Legs atan2_legs(Doubles y, Doubles x) {
  const Doubles ay = abs(y), ax = abs(x), one = 1.0, zero = 0.0;
  const Mask<double> swap = ay > ax;
  const Mask<double> left = mask_cast<double>(bit_cast<int64_t>(x) < Vec<int64_t>(int64_t(0)));
  Legs l = {select(swap, ax, ay), select(swap, ay, ax),
            select(swap, one, select(left, Doubles(2.0), zero)), select(swap ^ left, -one, one)};
  // 0/0 counts as 0, a finite number over infinity too, inf/inf as 1.
  const Doubles infinity = Format<double>::infinity;
  const Mask<double> endless = l.larger == infinity;
  l.smaller = select(endless, select(l.smaller == infinity, one, zero), l.smaller);
  l.larger = select(endless | (l.larger == 0.0), one, l.larger);
  return l;
}

LT_INLINE Doubles vatan2(Doubles y, Doubles x) {
  Legs l = atan2_legs(y, x);
  // Both legs into the middle of the range, then a smaller one that is still tiny; undone at the
  // end where the quotient itself is the result.
  const Doubles both = select(l.larger > 0x1p900, Doubles(0x1p-200),
                              select(l.larger < 0x1p-500, Doubles(0x1p400), Doubles(1.0)));
  l.larger = l.larger * both;
  l.smaller = l.smaller * both;
  const Mask<double> tiny = l.smaller < 0x1p-900;
  l.smaller = select(tiny, l.smaller * 0x1p100, l.smaller);
  const Doubles a = atan_ratio(l.smaller, l.larger, l.base_halves, l.sign);
  const Doubles b = select(tiny & (l.base_halves == 0.0), a * 0x1p-100, a);
  return select((x == x) & (y == y), copysign(b, y), x + y);
}
LT_INLINE Floats vatan2(Floats y, Floats x) {
  const Floats a = in_double(y, x, [](Doubles v, Doubles u) {
    const Legs l = atan2_legs(v, u);
    return atan_ratio_short(l.smaller, l.larger, l.base_halves, l.sign);
  });
  return select((x == x) & (y == y), copysign(a, y), x + y);
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_ATRIG_H_
