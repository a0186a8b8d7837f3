// Vector norms.
#include "../reduce_adding.h"

namespace lt {
namespace {

template <class T>
LT_INLINE T magnitude(T x) {
  return x > 0 ? x : 0 - x;  // 0 of -0
}
// Whether a part is infinite, which the magnitude then is, whatever the other part is.
template <class R>
LT_INLINE bool infinite(Complex<R> x) {
  return (__builtin_fabs(x.re) == R(INFINITY)) | (__builtin_fabs(x.im) == R(INFINITY));
}
LT_INLINE float magnitude(Complex64 x) {
  const float length = (float)sqrt((double)x.re * x.re + (double)x.im * x.im);
  return infinite(x) ? INFINITY : length;
}
LT_INLINE double magnitude(Complex128 x) { return hypot(x.re, x.im); }
template <class T>
LT_INLINE T squared(T x) {
  return x * x;
}
template <class R>
LT_INLINE R squared(Complex<R> x) {
  const R square = x.re * x.re + x.im * x.im;
  return infinite(x) ? R(INFINITY) : square;
}

template <class T>
struct NormZeroOf : Adding<T, NormZeroOf<T>> {
  static RealOf<T> value(T x) { return RealOf<T>(x != T(0)); }
};
template <class T>
struct NormOneOf : Adding<T, NormOneOf<T>> {
  static RealOf<T> value(T x) { return magnitude(x); }
};
template <class T>
struct NormTwoOf : Adding<T, NormTwoOf<T>> {
  static RealOf<T> value(T x) { return squared(x); }
  static RealOf<T> finish(double t, const lt_reduction *) { return RealOf<T>(sqrt(t)); }
};
template <class T>
struct NormPOf : Adding<T, NormPOf<T>> {
  static RealOf<T> map(T x, const lt_reduction *r) {
    return RealOf<T>(pow((double)magnitude(x), r->params[0]));
  }
  static RealOf<T> finish(double t, const lt_reduction *r) {
    return RealOf<T>(pow(t, 1 / r->params[0]));
  }
};

// The largest or smallest magnitude; NaN wins.
template <bool kLargest, class T>
struct NormExtreme {
  using Element = T;
  using Lane = RealOf<T>;
  using Total = Lane;
  using Result = Lane;
  static constexpr bool kExact = true;
  static Total identity() { return kLargest ? Lane(0) : Lane(INFINITY); }
  static Lane map(T x, const lt_reduction *) { return magnitude(x); }
  static Lane fold(Lane a, Lane b) {
    Lane c = (kLargest ? a > b : a < b) ? a : b;
    return a != a ? a : c;
  }
  static Lane finish(Total t, const lt_reduction *) { return t; }
};

template <class T>
using NormZero = Fold<NormZeroOf<T>>;
template <class T>
using NormOne = Fold<NormOneOf<T>>;
template <class T>
using NormTwo = Fold<NormTwoOf<T>>;
template <class T>
using NormP = Fold<NormPOf<T>>;
template <class T>
using NormMax = Fold<NormExtreme<true, T>>;
template <class T>
using NormMin = Fold<NormExtreme<false, T>>;

}  // namespace
}  // namespace lt

#define LT_NORM(OP) {LT_NONE, LT_NO_INTEGERS, LT_REDUCED_FLOATS(OP), LT_REDUCED_COMPLEX(OP)}

LT_UNIT(reduce_norm){
    {"norm_zero", "reduce", LT_NORM(NormZero)},
    {"norm_one", "reduce", LT_NORM(NormOne)},
    {"norm_two", "reduce", LT_NORM(NormTwo)},
    {"norm_p", "reduce", LT_NORM(NormP)},
    {"norm_max", "reduce", LT_NORM(NormMax)},
    {"norm_min", "reduce", LT_NORM(NormMin)},
    LT_END,
};
