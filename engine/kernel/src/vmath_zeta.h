// Hurwitz's zeta function and the derivatives of psi, for vectors.
#ifndef LIBTENSOR_KERNEL_VMATH_ZETA_H
#define LIBTENSOR_KERNEL_VMATH_ZETA_H

#include "long.h"
#include "special.h"

// Long functions with several callers, each of which calls them for whole and partial registers and
// float32 in halves: inlined, they would take half of the code of special functions.
#ifdef __CUDACC_RTC__  // calls would need a stack
#define LT_OUTLINE LT_INLINE
#else
#define LT_OUTLINE __attribute__((noinline))
#endif

namespace lt {
namespace {

// sin and cos of pi f for the distance f of x from the nearest integer.
struct Waves {
  Long sine, cosine;
};
LT_INLINE Waves waves_of(Doubles x) {
  const Doubles f = abs(x - round_even(x));
  const Mask<double> swap = f > 0.25;
  const Two<double> r = Long(kPiPair) * select(swap, 0.5 - f, f);
  const Two<double> s = sin_parts(r), c = cos_parts(r);
  const Long sine(fast_two_sum(s.hi, s.lo)), cosine(fast_two_sum(c.hi, c.lo));
  return {select(swap, cosine, sine), select(swap, sine, cosine)};
}
// Where a function that has poles at 0 and at negative integers is computed in vectors.
LT_INLINE Mask<double> between_poles(Doubles x) {
  return (abs(x) > 0x1p-400) & (x < 0x1p900) & ((x > 0.0) | ((x > -0x1p52) & (x != round_even(x))));
}

// psi'(x) of numbers from 1 on: a table up to 10, then the asymptotic series (DLMF 5.15.8).
LT_INLINE Long trigamma_above(Long x) {
  const Mask<double> far = x.hi >= 10.0;
  const Long near(trigamma_fit(select(far, Long(2.0), x)));
  if (!any(far)) return near;
  const Long inverse = Long(1.0) / x;
  const Doubles r = inverse.hi, z = r * r;
  const Doubles series = poly(z, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730,
                              7.0 / 6, -3617.0 / 510, 43867.0 / 798, -174611.0 / 330);
  return select(far, inverse + Long(fma(z * r, series, 0.5 * z)), near);
}
// psi' away from its poles, by one step of the recurrence below 1 and the reflection (DLMF 5.15.6)
// below 0.
LT_INLINE Doubles trigamma_long(Doubles x) {
  const Mask<double> low = x < 1.0, negative = x < 0.0;
  const Long step = Long(1.0) / select(low, Long(x), Long(1.0));
  const Long above = trigamma_above(select(negative, Long(two_sum(Doubles(1.0), -x)),
                                           select(low, Long(two_sum(Doubles(1.0), x)), Long(x))));
  Long y = select(low, step * step + above, above);
  if (any(negative)) {
    const Long wave = Long(kPiPair) / waves_of(x).sine;
    y = select(negative, wave * wave - above, y);
  }
  return number(y);
}

// log x of positive finite numbers, as log_fine has it.
LT_INLINE Long log_fine(Long x) {
  const Split<double> s = split_any(x.hi);
  const Two<double> near = log_fit(fast_two_sum(Doubles(1.0) + s.f, scaled_down(s, x.lo)));
  return Long(Pair(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56)) * s.k + Long(near);
}
// zeta(s, q) for 1 < s < 2^20, 2^-400 < q < 2^60 and q^-s = e^power: ten terms in units of the
// first, then Euler and Maclaurin's formula (DLMF 25.11.5).
LT_INLINE Long hurwitz_long(Doubles s, Doubles q, Long power) {
  const auto term = [=](Long z) __attribute__((always_inline)) {
    const Long exponent = log_fine(Long(q) / z) * s;
    return exp_long(select(exponent.hi > -100.0, exponent, Long(-100.0)));
  };
  Long sum = 1.0;
  Mask<double> more = q == q;  // where the next term counts
  for (int k = 1; k < 10 && any(more); k++) {
    const Long next = term(Long(two_sum(q, Doubles(double(k)))));
    sum = select(more, sum + next, sum);
    more = more & (next.hi > sum.hi * 0x1p-64);
  }
  if (any(more)) {
    const Long z(two_sum(q, Doubles(10.0))), next = term(z);
    const Doubles inverse = Doubles(1.0) / z.hi;
    Doubles factor = s, tail = next.hi * inverse, rest = 0.0, up = s + 1.0;
    for (double b : kEulerMaclaurin) {
      rest = rest + factor * tail * b;
      factor = factor * (up * (up + 1.0)), up = up + 2.0;
      tail = tail * inverse * inverse;
    }
    const Long integral = z / Long(two_sum(s, Doubles(-1.0)));
    sum = select(more, sum + (next * (integral + Long(0.5)) + Long(rest)), sum);
  }
  return sum * exp_long(power);
}

// zeta(s, q) times a number.
LT_OUTLINE Doubles vhurwitz(Doubles s, Doubles q, Power by) {
  const Mask<double> fit = (s > 1.0) & (s < 0x1p20) & (q > 0x1p-400) & (q < 0x1p60);
  const Doubles order = select(fit, s, Doubles(2.0)), x = select(fit, q, Doubles(1.0));
  const Long power = log_fine(Long(x)) * -order;
  // Neither the power nor the result leaves the range of doubles.
  const Mask<double> within = (abs(power.hi) < 550.0) & (abs(power.hi + 0.69 * by.n) < 550.0);
  const bool one = by.n > -900 && by.n < 900;
  Doubles y = number(
      hurwitz_long(order, select(within, x, Doubles(1.0)), select(within, power, Long(0.0))) *
      Long(by.value));
  y = y * (one ? __builtin_ldexp(1.0, by.n) : 1.0);
  const Mask<double> none = q != q;
  return where_fit(one ? fit & within : none & !none, y,
                   [&](int i) { return hurwitz_zeta(s[i], q[i], by); });
}

}  // namespace
}  // namespace lt
#endif
