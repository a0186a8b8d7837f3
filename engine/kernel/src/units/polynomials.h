// Orthogonal polynomials.
#include "../polynomials.h"

#include "../rows.h"

namespace lt {
namespace {

LT_BINARY(ChebyshevT, T(chebyshev<kFirst, false, Wider<T>>(a, b)))
LT_BINARY(ChebyshevU, T(chebyshev<kSecond, false, Wider<T>>(a, b)))
LT_BINARY(ChebyshevV, T(chebyshev<kThird, false, Wider<T>>(a, b)))
LT_BINARY(ChebyshevW, T(chebyshev<kFourth, false, Wider<T>>(a, b)))
LT_BINARY(ShiftedT, T(chebyshev<kFirst, true, Wider<T>>(a, b)))
LT_BINARY(ShiftedU, T(chebyshev<kSecond, true, Wider<T>>(a, b)))
LT_BINARY(ShiftedV, T(chebyshev<kThird, true, Wider<T>>(a, b)))
LT_BINARY(ShiftedW, T(chebyshev<kFourth, true, Wider<T>>(a, b)))
LT_BINARY(HermiteH, T(hermite<Wider<T>>(a, b, 2)))
LT_BINARY(HermiteHe, T(hermite<Wider<T>>(a, b, 1)))
LT_BINARY(LaguerreL, T(laguerre<Wider<T>>(a, b)))
LT_BINARY(LegendreP, T(legendre<Wider<T>>(a, b)))

}  // namespace
}  // namespace lt

LT_UNIT(polynomials){
    {"chebyshev_polynomial_t", "T>TT", LT_FLOATING(ChebyshevT)},
    {"chebyshev_polynomial_u", "T>TT", LT_FLOATING(ChebyshevU)},
    {"chebyshev_polynomial_v", "T>TT", LT_FLOATING(ChebyshevV)},
    {"chebyshev_polynomial_w", "T>TT", LT_FLOATING(ChebyshevW)},
    {"shifted_chebyshev_polynomial_t", "T>TT", LT_FLOATING(ShiftedT)},
    {"shifted_chebyshev_polynomial_u", "T>TT", LT_FLOATING(ShiftedU)},
    {"shifted_chebyshev_polynomial_v", "T>TT", LT_FLOATING(ShiftedV)},
    {"shifted_chebyshev_polynomial_w", "T>TT", LT_FLOATING(ShiftedW)},
    {"hermite_polynomial_h", "T>TT", LT_FLOATING(HermiteH)},
    {"hermite_polynomial_he", "T>TT", LT_FLOATING(HermiteHe)},
    {"laguerre_polynomial_l", "T>TT", LT_FLOATING(LaguerreL)},
    {"legendre_polynomial_p", "T>TT", LT_FLOATING(LegendreP)},
    LT_END,
};
