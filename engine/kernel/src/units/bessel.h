// Bessel and Airy functions.
#include "../bessel.h"

#include "../chunks.h"
#include "../long.h"
#include "../vmath_trig.h"

namespace lt {
namespace {

LT_UNARY(J0, T(bessel_j0<Wider<T>>(a)))
LT_UNARY(J1, T(bessel_j1<Wider<T>>(a)))
LT_UNARY(Y0, T(bessel_y0<Wider<T>>(a)))
LT_UNARY(Y1, T(bessel_y1<Wider<T>>(a)))
// Fits in the numbers of R: Long, or Doubles for results in float.
template <class R, class F>
LT_INLINE R fitted(const F &fit, R x) {
  if constexpr (std::is_same_v<R, Long>)
    return Long(fit(x));
  else
    return fit.shortly(x);
}
LT_INLINE Doubles power_of(Doubles x, Doubles) { return vexp(x); }
LT_INLINE Long power_of(Doubles x, Long) { return exp_long(x); }

// I(x) of order 0 or 1, or e^-|x| I(x), as bessel_i has it.
template <class R, int order, bool scaled>
LT_INLINE Doubles vbessel_i(Doubles x) {
  const Doubles m = abs(x);
  const Mask<double> fit = (m >= 0x1p-60) & (m < (scaled ? 0x1p900 : 700.0)), far = m >= 16.0;
  const Doubles some = select(fit, m, Doubles(1.0)), inside = select(far, Doubles(1.0), some);
  R y;
  if constexpr (order == 0)
    y = fitted<R>(bessel_i0_fit, R(inside));
  else
    y = fitted<R>(bessel_i1_fit, R(inside)) * inside;
  if (any(far)) {
    const R u = R(1.0) / R(select(far, some, Doubles(16.0)));
    const R outside = order ? fitted<R>(bessel_i1_far, u) : fitted<R>(bessel_i0_far, u);
    y = select(far, outside / sqrt(R(some)), y);
  }
  if (!scaled) y = y * power_of(some, y);
  const Doubles signless = where_fit(fit, number(y), [&](int i) {
    return bessel_i<std::conditional_t<std::is_same_v<R, Long>, Pair, double>>(order, m[i], scaled);
  });
  return order ? copysign(signless, x) : signless;
}
template <int order, bool scaled>
struct BesselI {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    vector_unary<T>(data, strides, n, [](Vec<T> a) {
      if constexpr (sizeof(T) == 4)
        return in_double(a, [](Doubles x) { return vbessel_i<Doubles, order, scaled>(x); });
      else
        return vbessel_i<Long, order, scaled>(a);
    });
  }
};
using I0 = BesselI<0, false>;
using I1 = BesselI<1, false>;
using I0e = BesselI<0, true>;
using I1e = BesselI<1, true>;
LT_UNARY(K0, T(bessel_k<Wider<T>>(0, a, false)))
LT_UNARY(K1, T(bessel_k<Wider<T>>(1, a, false)))
LT_UNARY(K0e, T(bessel_k<Wider<T>>(0, a, true)))
LT_UNARY(K1e, T(bessel_k<Wider<T>>(1, a, true)))
LT_INLINE Floats vspherical_j0(Floats a) {
  const Floats y = in_double(a, [](Doubles v) { return vsin(v) / v; });
  return select(abs(a) == Format<float>::infinity, Floats(0.0f),
                select(a == 0.0f, Floats(1.0f), y));
}
LT_INLINE Doubles vspherical_j0(Doubles a) {
  const Doubles m = abs(a);
  const Reduced z = reduce(select(m < 0x1p-30, Doubles(1.0), m));
  const Mask<double> even = mask_cast<double>((z.n.bits << 63) == Vec<int64_t>(int64_t(0)));
  const Two<double> s = sin_parts(z.r), c = cos_parts(z.r);
  const Long wave(fast_two_sum(select(even, s.hi, c.hi), select(even, s.lo, c.lo)));
  const Doubles y = xor_bits(number(wave / Long(m)), sign_bit(bit_cast<double>(z.n.bits << 62)));
  return select(m < 0x1p-30, Doubles(1.0), select(m == Format<double>::infinity, Doubles(0.0), y));
}
LT_VECTOR(SphericalJ0, vspherical_j0(a))
LT_UNARY(AiryAi, T(airy_ai(a)))

}  // namespace
}  // namespace lt

LT_UNIT(bessel){
    {"bessel_j0", "T>T", LT_FLOATING(J0)},
    {"bessel_j1", "T>T", LT_FLOATING(J1)},
    {"bessel_y0", "T>T", LT_FLOATING(Y0)},
    {"bessel_y1", "T>T", LT_FLOATING(Y1)},
    {"i0", "T>T", LT_FLOATING(I0)},
    {"i1", "T>T", LT_FLOATING(I1)},
    {"i0e", "T>T", LT_FLOATING(I0e)},
    {"i1e", "T>T", LT_FLOATING(I1e)},
    {"modified_bessel_k0", "T>T", LT_FLOATING(K0)},
    {"modified_bessel_k1", "T>T", LT_FLOATING(K1)},
    {"scaled_modified_bessel_k0", "T>T", LT_FLOATING(K0e)},
    {"scaled_modified_bessel_k1", "T>T", LT_FLOATING(K1e)},
    {"spherical_bessel_j0", "T>T", LT_FLOATING(SphericalJ0)},
    {"airy_ai", "T>T", LT_FLOATING(AiryAi)},
    LT_END,
};
