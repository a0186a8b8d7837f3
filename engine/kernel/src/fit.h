// How the tables of fits.h are read.
#ifndef LIBTENSOR_KERNEL_FIT_H
#define LIBTENSOR_KERNEL_FIT_H

#include "pair.h"

namespace lt {
namespace {

// Pieces of width 1 / density from start on, each a power series about its centre: two coefficients
// in double length, and N others.
template <int N, int kPieces>
struct Fit {
  double start, density;
  struct {
    double centre[2], c0[2], c1[2], rest[N];
  } pieces[kPieces];

  // The value at a number in the interval or at its end. What is lost is 2^-53 of the terms from the
  // second power on.
  inline __attribute__((noinline)) Pair operator()(Pair x) const {
    const double place = (x.hi - start) * density;
    const auto &p = pieces[place < kPieces ? place > 0 ? int(place) : 0 : kPieces - 1];
    const Pair moved = Pair::sum(x.hi, -p.centre[0]);
    const Pair t = Pair::ordered(moved.hi, moved.lo + (x.lo - p.centre[1]));
    double y = p.rest[N - 1];
    for (int k = N - 2; k >= 0; k--) y = mul_add(y, t.hi, p.rest[k]);
    return Pair(p.c0[0], p.c0[1]) + t * (Pair(p.c1[0], p.c1[1]) + Pair::product(t.hi, y));
  }
};

}  // namespace
}  // namespace lt
#endif
