// Exponentials, square roots and the logistic function.
#include "../native.h"
// Comes after native.h, which a device has in another form.
#include "../compound.h"
#include "../vmath_exp.h"

namespace lt {
namespace {

// 1 / sqrt(a), corrected for the errors of the root and of the division. Numbers near the ends of
// the range, for which the errors are out of range, are scaled to its middle.
template <class T>
LT_INLINE Vec<T> vrsqrt(Vec<T> a) {
  const T root_of_far = sizeof(T) == 4 ? T(0x1p32) : T(0x1p256), far = root_of_far * root_of_far;
  const Vec<T> small = Vec<T>(T(1) / far), large = Vec<T>(far), one = Vec<T>(T(1));
  const auto is_small = a<small, is_large = a> large;
  a = a * select(is_small, large, select(is_large, small, one));
  const Vec<T> back =
      select(is_small, Vec<T>(root_of_far), select(is_large, Vec<T>(T(1) / root_of_far), one));
  const Vec<T> s = sqrt(a), y = one / s;
  const Vec<T> root = minus_square(a, s) * T(0.5) * y * y;
  const Vec<T> quotient = minus_product(one, s, y);
  const Vec<T> better = fma(y, quotient - root, y);
  return select(better == better, better, y) * back;
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
