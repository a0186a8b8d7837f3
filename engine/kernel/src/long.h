// Vectors in double length with operators, for formulas that are templates of their number.
#ifndef LIBTENSOR_KERNEL_LONG_H
#define LIBTENSOR_KERNEL_LONG_H

#include "pair.h"

namespace lt {
namespace {

// |lo| at most about half a unit in the last place of hi. Of a sum 2^-105 of the larger operand is
// lost, of a product 2^-103.
struct Long {
  Doubles hi, lo;
  Long() = default;
  LT_INLINE Long(Doubles h, Doubles l = 0.0) : hi(h), lo(l) {}
  LT_INLINE Long(double x) : hi(x), lo(0.0) {}
  LT_INLINE Long(Pair x) : hi(x.hi), lo(x.lo) {}
  LT_INLINE explicit Long(Two<double> x) : hi(x.hi), lo(x.lo) {}
  LT_INLINE operator Two<double>() const { return {hi, lo}; }

  LT_INLINE friend Long operator-(Long a) { return {-a.hi, -a.lo}; }
  LT_INLINE friend Long operator+(Long a, Long b) {
    const Two<double> s = two_sum(a.hi, b.hi);
    return Long(fast_two_sum(s.hi, s.lo + (a.lo + b.lo)));
  }
  LT_INLINE friend Long operator-(Long a, Long b) { return a + -b; }
  LT_INLINE friend Long operator*(Long a, Long b) {
    const Two<double> p = two_prod(a.hi, b.hi);
    return Long(fast_two_sum(p.hi, p.lo + fma(a.hi, b.lo, a.lo * b.hi)));
  }
  LT_INLINE friend Long operator*(Long a, Doubles b) {
    const Two<double> p = two_prod(a.hi, b);
    return Long(fast_two_sum(p.hi, fma(a.lo, b, p.lo)));
  }
  LT_INLINE friend Long operator/(Long a, Long b) {
    const Doubles q = a.hi / b.hi;
    const Doubles rest = minus_product(a.hi, q, b.hi) + (a.lo - q * b.lo);
    return Long(fast_two_sum(q, rest / b.hi));
  }
};

LT_INLINE Long sqrt(Long a) {
  const Doubles r = sqrt(a.hi);
  const Doubles rest = minus_square(a.hi, r) + a.lo;
  return Long(fast_two_sum(r, rest / (r + r)));
}

LT_INLINE Doubles leading(Doubles x) { return x; }
LT_INLINE Doubles leading(Long x) { return x.hi; }
LT_INLINE Doubles number(Doubles x) { return x; }
LT_INLINE Doubles number(Long x) { return x.hi + x.lo; }
LT_INLINE Long select(Mask<double> m, Long a, Long b) {
  return {select(m, a.hi, b.hi), select(m, a.lo, b.lo)};
}

// e^x, of which about 2^-57 is lost, for |x| < 700.
LT_INLINE Long exp_long(Long x) {
  const Exponential<double> e = exp_parts(x.hi, x.lo);
  return Long(fast_two_sum(scale(e.hi, e.n), scale(e.lo, e.n)));
}

// y, with scalar(i) in the lanes i where fit is false.
template <class G>
LT_INLINE Doubles where_fit(Mask<double> fit, Doubles y, G scalar) {
  if (all(fit)) return y;
  const Doubles marks = select(fit, Doubles(0.0), Doubles(1.0));
  for (int i = 0; i < Doubles::N; i++)
    if (marks[i] != 0) y.v[i] = scalar(i);
  return y;
}

}  // namespace
}  // namespace lt
#endif
