// How the tables of gen_fits.h are read.
#ifndef LIBTENSOR_KERNEL_FIT_H
#define LIBTENSOR_KERNEL_FIT_H

#include "pair.h"

namespace lt {
namespace {

// Intervals of width 1 / density from start on. Each has a centre and a power series in the
// distance from it: two coefficients in double-double precision, like the centre, and N others.
template <int N, int kPieces>
struct Fit {
  double start, density, pieces[kPieces][6 + N];

  LT_INLINE const double *piece(double x) const {
    const double place = (x - start) * density;
    return pieces[place < kPieces ? place > 0 ? int(place) : 0 : kPieces - 1];
  }

  // The value at a number in the interval or at its end. The error is 2^-53 of the terms from the
  // second power on.
  inline __attribute__((noinline)) Pair operator()(Pair x) const {
    const double *p = piece(x.hi);
    const Pair moved = Pair::sum(x.hi, -p[0]);
    const Pair t = Pair::ordered(moved.hi, moved.lo + (x.lo - p[1]));
    double y = p[5 + N];
    for (int k = 4 + N; k >= 6; k--) y = mul_add(y, t.hi, p[k]);
    return Pair(p[2], p[3]) + t * (Pair(p[4], p[5]) + Pair::product(t.hi, y));
  }

  // The value in doubles, as good as float32 needs.
  LT_INLINE double shortly(double x) const {
    const double *p = piece(x), t = (x - p[0]) - p[1];
    double y = p[5 + N];
    for (int k = 4 + N; k >= 6; k--) y = mul_add(y, t, p[k]);
    return mul_add(t, mul_add(t, y, p[4]), p[2]);
  }

  // The values at the numbers of a vector; anything for those outside the interval.
  LT_INLINE Two<double> operator()(Two<double> x) const {
    const Pieces column(*this, x.hi);
    const Two<double> moved = two_sum(x.hi, -column(0));
    const Two<double> t = fast_two_sum(moved.hi, moved.lo + (x.lo - column(1)));
    Doubles y = column(5 + N);
    for (int k = 4 + N; k >= 6; k--) y = fma(y, t.hi, column(k));
    const Two<double> p = two_prod(t.hi, y), c1 = {column(4), column(5)},
                      c0 = {column(2), column(3)};
    const Two<double> s = two_sum(c1.hi, p.hi);
    const Two<double> slope = {s.hi, s.lo + (c1.lo + p.lo)}, rise = multiply(t, slope);
    const Two<double> sum = two_sum(c0.hi, rise.hi);
    return fast_two_sum(sum.hi, sum.lo + (c0.lo + rise.lo));
  }
  LT_INLINE Doubles shortly(Doubles x) const {
    const Pieces column(*this, x);
    const Doubles t = (x - column(0)) - column(1);
    Doubles y = column(5 + N);
    for (int k = 4 + N; k >= 6; k--) y = fma(y, t, column(k));
    return fma(t, fma(t, y, column(4)), column(2));
  }

 private:
  // The intervals of a vector's numbers, by columns.
  struct Pieces {
    const double *rows[Doubles::N];
    LT_INLINE Pieces(const Fit &fit, Doubles x) {
      for (int i = 0; i < Doubles::N; i++) rows[i] = fit.piece(x[i]);
    }
    LT_INLINE Doubles operator()(int k) const {
      Doubles c = 0.0;
      for (int i = 0; i < Doubles::N; i++) c.v[i] = rows[i][k];
      return c;
    }
  };
};

}  // namespace
}  // namespace lt
#endif
