// Exponentials, square roots and the logistic function.
#include "../native.h"
// Comes after native.h, which a device has in another form.
#include "../compound.h"
#include "../vmath_exp.h"

namespace lt {
namespace {

// 1 / sqrt(a), with the errors of the root and of the division put back in.
template <class T>
LT_INLINE Vec<T> vrsqrt(Vec<T> a) {
  const Vec<T> s = sqrt(a), y = Vec<T>(T(1)) / s;
  const Vec<T> root = minus_product(a, s, s) * T(0.5) * y * y;
  const Vec<T> quotient = minus_product(Vec<T>(T(1)), s, y);
  const Vec<T> better = fma(y, quotient - root, y);
  return select(better == better, better, y);
}

LT_FUNCTION(Exp, vexp(a), cexp(a))
LT_FUNCTION(Exp2, vexp2(a), LT_COMPOUND(exp2_of))
LT_FUNCTION(Expm1, vexpm1(a), LT_COMPOUND(expm1_of))
LT_FUNCTION(Sigmoid, vsigmoid(a), LT_COMPOUND(sigmoid_of))
LT_FUNCTION(Sqrt, sqrt(a), csqrt(a))
LT_FUNCTION(Rsqrt, vrsqrt(a), T(1) / csqrt(a))

}  // namespace
}  // namespace lt

LT_UNIT(exponential){
    {"exp", "T>T", LT_FLOATING_COMPLEX(Exp)},
    {"exp2", "T>T", LT_FLOATING_COMPLEX(Exp2)},
    {"expm1", "T>T", LT_FLOATING_COMPLEX(Expm1)},
    {"sigmoid", "T>T", LT_FLOATING_COMPLEX(Sigmoid)},
    {"sqrt", "T>T", LT_FLOATING_COMPLEX(Sqrt)},
    {"rsqrt", "T>T", LT_FLOATING_COMPLEX(Rsqrt)},
    LT_END,
};
