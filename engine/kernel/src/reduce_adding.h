// Reductions that map every element and add up.
#ifndef LIBTENSOR_KERNEL_REDUCE_ADDING_H
#define LIBTENSOR_KERNEL_REDUCE_ADDING_H

#include "reduce.h"

namespace lt {
namespace {

template <class T>
struct SumTypes {  // integers and bool add up in 64 bits
  using Lane = int64_t;
  using Total = int64_t;
};
template <>
struct SumTypes<float> {
  using Lane = float;
  using Total = double;
};
template <>
struct SumTypes<double> {
  using Lane = double;
  using Total = double;
};

// Magnitudes of complex numbers add up as reals.
template <class R>
struct SumTypes<Complex<R>> : SumTypes<R> {};

// Folding by addition. Partial sums of float32 have few terms; their totals are float64.
template <class T, class Derived>
struct Adding {
  using Element = T;
  using Lane = typename SumTypes<T>::Lane;
  using Total = typename SumTypes<T>::Total;
  using Result = Lane;
  static constexpr bool kExact = kind_of<T> == kInteger || kind_of<T> == kBool;
  static Total identity() { return 0; }
  template <class U>
  static U fold(U a, U b) {
    return a + b;
  }
  static Lane map(T x, const lt_reduction *) { return Derived::value(x); }
  static Result finish(Total t, const lt_reduction *) { return Result(t); }
};

}  // namespace
}  // namespace lt

#define LT_REDUCED_FLOATS(OP) LT_NONE, LT_NONE, LT_REDUCER(OP, float), LT_REDUCER(OP, double)
#define LT_REDUCED_COMPLEX(OP) LT_REDUCER(OP, lt::Complex64), LT_REDUCER(OP, lt::Complex128)

#endif
