// Bessel and Airy functions.
#include "../bessel.h"

#include "../chunks.h"
#include "../vmath_trig.h"

namespace lt {
namespace {

LT_UNARY(J0, T(bessel_j0<Wider<T>>(a)))
LT_UNARY(J1, T(bessel_j1<Wider<T>>(a)))
LT_UNARY(Y0, T(bessel_y0<Wider<T>>(a)))
LT_UNARY(Y1, T(bessel_y1<Wider<T>>(a)))
LT_UNARY(I0, T(bessel_i<Wider<T>>(0, a, false)))
LT_UNARY(I1, T(bessel_i<Wider<T>>(1, a, false)))
LT_UNARY(I0e, T(bessel_i<Wider<T>>(0, a, true)))
LT_UNARY(I1e, T(bessel_i<Wider<T>>(1, a, true)))
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
  for (int i = 0; i < Doubles::N; i++) a.v[i] = spherical_bessel_j0(a.v[i]);
  return a;
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
