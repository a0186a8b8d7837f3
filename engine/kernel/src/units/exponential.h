// Exponentials, square roots and the logistic function.
#include "../native.h"
#include "../vmath_exp.h"

namespace lt {
namespace {

// e^z - 1 = expm1(x) cos y - 2 sin(y/2)^2 + i e^x sin y loses nothing near 0.
template <class T>
LT_INLINE Complex<T> cexpm1(Complex<T> z) {
  const double x = z.re, y = z.im, s = __builtin_sin(y / 2);
  return {T(__builtin_expm1(x) * __builtin_cos(y) - 2 * s * s),
          T(__builtin_exp(x) * __builtin_sin(y))};
}

template <class T>
LT_INLINE Complex<T> csigmoid(Complex<T> z) {
  return Complex<T>(1) / (Complex<T>(1) + cexp(-z));
}

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
LT_FUNCTION(Exp2, vexp2(a), cexp(scaled(a, 0.69314718055994530942)))
LT_FUNCTION(Expm1, vexpm1(a), cexpm1(a))
LT_FUNCTION(Sigmoid, vsigmoid(a), csigmoid(a))
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
