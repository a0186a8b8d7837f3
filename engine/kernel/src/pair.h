// Scalar arithmetic in double length, for functions that go element by element: sums after Knuth,
// products after Dekker (vmath_core.h names them and has the same for vectors).
#ifndef LIBTENSOR_KERNEL_PAIR_H
#define LIBTENSOR_KERNEL_PAIR_H

#include "vmath_log.h"
#include "vmath_trig.h"

namespace lt {
namespace {

LT_INLINE double mul_add(double a, double b, double c) {
#if LT_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

#ifndef LT_PAIR_OPERATION  // devices call them
#define LT_PAIR_OPERATION LT_INLINE
#endif

// An unevaluated sum, |lo| at most about half a unit in the last place of hi.
struct Pair {
  double hi, lo;
  Pair() = default;
  constexpr LT_INLINE Pair(double h, double l = 0) : hi(h), lo(l) {}
  LT_INLINE explicit Pair(Two<double> v) : hi(v.hi[0]), lo(v.lo[0]) {}
  LT_INLINE operator Two<double>() const { return {hi, lo}; }
  LT_INLINE explicit operator double() const { return hi + lo; }

  // Of |a| >= |b|, or a = 0.
  static LT_INLINE Pair ordered(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
  }
  static LT_INLINE Pair sum(double a, double b) {
    const double s = a + b, c = s - a;
    return {s, (a - (s - c)) + (b - c)};
  }
  static LT_INLINE Pair product(double a, double b) {
    const double p = a * b;
#if LT_FMA
    return {p, __builtin_fma(a, b, -p)};
#else
    // The halves of the largest numbers overflow, and products of halves that were rounded up.
    const double down_a = __builtin_fabs(a) > 0x1p500 ? 0x1p-100 : 1;
    const double down_b = __builtin_fabs(b) > 0x1p500 ? 0x1p-100 : 1, down = down_a * down_b;
    const double sa = a * down_a, sb = b * down_b;
    const double ta = sa * 0x1.0000002p27, tb = sb * 0x1.0000002p27;
    const double ah = ta - (ta - sa), bh = tb - (tb - sb), al = sa - ah, bl = sb - bh;
    return {p, (((ah * bh - p * down) + ah * bl + al * bh) + al * bl) / down};
#endif
  }

  LT_INLINE friend Pair operator-(Pair a) { return {-a.hi, -a.lo}; }
  LT_PAIR_OPERATION friend Pair operator+(Pair a, Pair b) {
    const Pair s = sum(a.hi, b.hi), t = sum(a.lo, b.lo);
    const Pair u = ordered(s.hi, s.lo + t.hi);
    return ordered(u.hi, u.lo + t.lo);
  }
  LT_INLINE friend Pair operator-(Pair a, Pair b) { return a + -b; }
  LT_PAIR_OPERATION friend Pair operator*(Pair a, Pair b) {
    const Pair p = product(a.hi, b.hi);
    return ordered(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
  }
  LT_PAIR_OPERATION friend Pair operator/(Pair a, Pair b) {
    const double q = a.hi / b.hi;
    const Pair rest = a - Pair(q) * b;
    return ordered(q, rest.hi / b.hi);
  }
};

LT_INLINE double leading(double x) { return x; }
LT_INLINE double leading(Pair x) { return x.hi; }

// The type in which functions of T compute where plain arithmetic loses digits: double-double for
// doubles, double for floats.
template <class T>
using Wider = std::conditional_t<sizeof(T) == 4, double, Pair>;

inline Pair sqrt(Pair a) {
  const double r = __builtin_sqrt(a.hi);
  if (!(r > 0 && r < __builtin_inf())) return r;
  return Pair::ordered(r, double(a - Pair::product(r, r)) / (2 * r));
}

// e^x = value 2^n, of which about 2^-57 is lost; beyond the range of finite results some number
// that is beyond it too.
struct Power {
  Pair value;
  int n;
  LT_INLINE explicit operator Pair() const {
    return {__builtin_ldexp(value.hi, n), __builtin_ldexp(value.lo, n)};
  }
};
inline __attribute__((noinline)) Power exp_pair(Pair x) {
  const double bounded = x.hi < -4000 ? -4000 : x.hi > 4000 ? 4000 : x.hi;
  const Exponential<double> e = exp_parts(Doubles(bounded), Doubles(bounded == x.hi ? x.lo : 0));
  return {Pair::ordered(e.hi[0], e.lo[0]), int(e.n.value[0])};
}

// log x of a positive finite number, of which about 2^-58 is lost.
inline __attribute__((noinline)) Pair log_pair(Pair x) {
  const Split<double> s = split_any(Doubles(x.hi));
  const Pair l(log_parts(s.k, s.f, scaled_down(s, Doubles(x.lo))));
  return Pair::ordered(l.hi, l.lo);
}

// x = n pi/2 + r, and cos x for |r| up to 3 pi/4.
struct Turn {
  int64_t n;
  Pair r;
};
inline __attribute__((noinline)) Turn reduce_pair(double x) {
  const Reduced z = reduce(Doubles(x));
  return {int64_t(z.n.bits[0] & 3), Pair(z.r)};
}
constexpr Pair kHalfPi = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54};
inline __attribute__((noinline)) Pair cos_turn(Turn t) {
  if (__builtin_fabs(t.r.hi) > 0.8) {
    const bool negative = t.r.hi < 0;
    t.n += negative ? -1 : 1;
    t.r = negative ? t.r + kHalfPi : t.r - kHalfPi;
  }
  const Two<double> r = t.r;
  const Pair y = t.n & 1 ? Pair(sin_parts(r)) : Pair(cos_parts(r));
  return (t.n + 1) & 2 ? -Pair::ordered(y.hi, y.lo) : Pair::ordered(y.hi, y.lo);
}

}  // namespace
}  // namespace lt
#endif
