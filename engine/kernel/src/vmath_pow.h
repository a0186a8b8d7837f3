// pow, hypot.
//
// pow(x, y) = 2^(y log2 x). In double log2 carries about 68 bits: s = f / (2 + f) in double length,
// log2(1 + f) = s (2/ln 2 + s^2 (2/(3 ln 2) + s^2 P(s^2))) with P minimax and the leading terms in
// double length. hypot: a scaled double length sum of squares. Floats work in double.
#ifndef LT_VMATH_POW_H_
#define LT_VMATH_POW_H_

#include "vmath_log.h"

namespace lt {
namespace {

// log2 of a positive finite number.
LT_INLINE Two<double> log2_parts(Doubles x) {
  const Split<double> p = split_any(x);
  const Two<double> s = divide(Two<double>{p.f, 0.0}, fast_two_sum(Doubles(2.0), p.f));
  const Two<double> square = two_prod(s.hi, s.hi);
  const Two<double> z = {square.hi, fma(s.hi + s.hi, s.lo, square.lo)};
  const Doubles tail =
      z.hi * poly(z.hi, 0x1.2776c50ef9bfbp-1, 0x1.a61762a7af25fp-2, 0x1.484b13d66dbcdp-2,
                  0x1.0c9a85576bfd6p-2, 0x1.c68edaf010d1bp-3, 0x1.8a0bcca8e704cp-3,
                  0x1.58d404aa96b69p-3, 0x1.633a205d712f6p-3);
  const Two<double> inner = fast_two_sum(Doubles(0x1.ec709dc3a03fdp-1), tail);
  const Two<double> third = multiply(z, Two<double>{inner.hi, inner.lo + 0x1.d27f05548af0cp-55});
  const Two<double> factor = add(Two<double>{0x1.71547652b82fep1, 0x1.777d0ffda0d24p-55}, third);
  return add(Two<double>{p.k, 0.0}, multiply(s, factor));
}

// pow by C99's rules wherever an argument or |x| is 0, infinite or NaN, or x is negative;
// elsewhere r, which must be |x|^y for finite positive |x| and finite y.
template <class T>
LT_INLINE Vec<T> pow_special(Vec<T> x, Vec<T> y, Vec<T> r) {
  using I = IntOf<T>;
  const Vec<T> infinity = Format<T>::infinity, one = T(1), zero = T(0), m = abs(x);
  const Mask<T> rising = y > zero;
  // |x|^y for |x| of 0 or infinity, then for infinite y.
  r = select(m == zero, select(rising, zero, infinity), r);
  r = select(m == infinity, select(rising, infinity, zero), r);
  r = select(abs(y) == infinity, select((m > one) ^ rising, zero, infinity), r);
  const Mask<T> whole = floor(y) == y;
  const Vec<T> half = y * T(0.5);
  const Mask<T> odd = whole & (floor(half) != half);
  const Mask<T> negative = mask_cast<T>(bit_cast<I>(x) < Vec<I>(I(0)));
  r = select(negative & odd, -r, r);
  r = select((x < zero) & (m < infinity) & !whole, Vec<T>(Format<T>::nan), r);
  r = select((x == x) & (y == y), r, x + y);
  return select((y == zero) | (x == one) | ((x == -one) & (abs(y) == infinity)), one, r);
}

LT_INLINE Doubles vpow(Doubles x, Doubles y) {
  const Two<double> l = log2_parts(abs(x));
  // A larger exponent over- or underflows for every x but 1.
  const Doubles w = clamp(y, -0x1p70, 0x1p70);
  const Two<double> p = two_prod(w, l.hi);
  // Beyond the clamp the low part may be NaN and no longer matters.
  const Mask<double> inside = abs(p.hi) < 1100.0;
  const Doubles hi = clamp(p.hi, -1100.0, 1100.0);
  const Doubles lo = select(inside, fma(w, l.lo, p.lo), Doubles(0.0));
  const Integer<double> n = nearest(hi);
  return pow_special(x, y, scale(exp2_fraction(hi - n.value, lo), n));
}
LT_INLINE Floats vpow(Floats x, Floats y) {
  const Floats r = in_double(abs(x), y, [](Doubles v, Doubles w) {
    const Split<double> s = split(v);
    const Doubles l = fma(log_short(s.f), Doubles(Ln2<double>::inverse), s.k);
    return exp2_short(clamp(w * l, -300.0, 300.0));
  });
  return pow_special(x, y, r);
}

template <class T>
LT_INLINE Vec<T> hypot_special(Vec<T> x, Vec<T> y, Vec<T> r) {
  const Vec<T> infinity = Format<T>::infinity;
  return select((abs(x) == infinity) | (abs(y) == infinity), infinity, r);
}

LT_INLINE Doubles vhypot(Doubles x, Doubles y) {
  const Doubles ax = abs(x), ay = abs(y), one = 1.0;
  const Mask<double> swap = ay > ax;
  const Doubles m = select(swap, ay, ax);
  const Mask<double> large = m > 0x1p500, small = m < 0x1p-450;
  const Doubles in = select(large, Doubles(0x1p-600), select(small, Doubles(0x1p600), one));
  const Doubles out = select(large, Doubles(0x1p600), select(small, Doubles(0x1p-600), one));
  const Doubles b = m * in, a = select(swap, ax, ay) * in;
  const Two<double> bb = two_prod(b, b), aa = two_prod(a, a);
  const Two<double> sum = fast_two_sum(bb.hi, aa.hi);
  const Doubles root = sqrt(sum.hi);
  const Doubles rest = minus_square(sum.hi, root) + (sum.lo + (bb.lo + aa.lo));
  const Doubles r = root + select(root > 0.0, rest / (root + root), Doubles(0.0));
  return hypot_special(x, y, r * out);
}
LT_INLINE Floats vhypot(Floats x, Floats y) {
  return hypot_special(
      x, y, in_double(x, y, [](Doubles a, Doubles b) { return sqrt(fma(a, a, b * b)); }));
}

}  // namespace
}  // namespace lt

#endif  // LT_VMATH_POW_H_
