// Sums and products in the domain of logarithms.
#include "../native.h"
#include "../vmath_exp.h"
#include "../vmath_log.h"
#include "../vmath_trig.h"

namespace lt {
namespace {

// log(e^a + e^b) = m + log1p(e^-|a - b|) with m the larger; equal infinities have no difference.
template <class T>
LT_INLINE Vec<T> vlogaddexp(Vec<T> a, Vec<T> b) {
  const Vec<T> m = max(a, b), d = select(a == b, Vec<T>(T(0)), -abs(a - b));
  return m + vlog1p(vexp(d));
}
template <class T>
LT_INLINE Vec<T> vlogaddexp2(Vec<T> a, Vec<T> b) {
  const Vec<T> m = max(a, b), d = select(a == b, Vec<T>(T(0)), -abs(a - b));
  return m + vlog1p(vexp2(d)) * T(1.44269504088896340736);
}

template <class T>
LT_INLINE Complex<T> clogaddexp(Complex<T> a, Complex<T> b) {
  if (a == b) return {a.re + T(0.69314718055994530942), a.im};
  if (a.re < b.re) {
    const Complex<T> swap = a;
    a = b;
    b = swap;
  }
  const Complex<T> e = cexp(b - a);
  return a + clog(Complex<T>(1) + e);
}

struct Logaddexp {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    if constexpr (kind_of<T> == kComplex)
      binary_row<T, T, T>(data, strides, n, [](T a, T b) { return clogaddexp(a, b); });
    else
      vector_binary<T>(data, strides, n, [](Vec<T> a, Vec<T> b) { return vlogaddexp(a, b); });
  }
};

#define LT_VECTORS(NAME, ...)                                                             \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      vector_binary<T>(data, strides, n,                                                  \
                       [](Vec<T> a, Vec<T> b) -> Vec<T> { return __VA_ARGS__; });         \
    }                                                                                     \
  };

// a f(b), 0 where a is 0, unless b is NaN.
template <class T>
LT_INLINE Vec<T> zero_wins(Vec<T> a, Vec<T> b, Vec<T> y) {
  return select((a == T(0)) & (b == b), Vec<T>(T(0)), a * y);
}

LT_VECTORS(Logaddexp2, vlogaddexp2(a, b))
LT_VECTORS(Xlogy, zero_wins(a, b, vlog(b)))
LT_VECTORS(Xlog1py, zero_wins(a, b, vlog1p(b)))

// log(a / (1 - a)), a limited to [eps, 1 - eps] where eps, the first parameter, is not negative.
struct Logit {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const T eps = *(const T *)params;
    const Vec<T> low = eps < 0 ? -Format<T>::infinity : eps,
                 high = eps < 0 ? Format<T>::infinity : T(1) - eps;
    vector_unary<T>(data, strides, n, [=](Vec<T> a) {
      a = select(a < low, low, select(a > high, high, a));
      return vlog(a / (Vec<T>(T(1)) - a));
    });
  }
};

// sin(pi a) / (pi a), 1 at 0.
template <class T>
LT_INLINE Vec<T> vsinc(Vec<T> a) {
  const Vec<T> x = a * T(3.14159265358979323846);
  return select(a == T(0), Vec<T>(T(1)), vsin(x) / x);
}
template <class T>
LT_INLINE Complex<T> csinc(Complex<T> a) {
  if (a == Complex<T>(0)) return {1};
  const Complex<T> x = scaled(a, 3.14159265358979323846);
  return csin(x) / x;
}
LT_FUNCTION(Sinc, vsinc(a), csinc(a))

}  // namespace
}  // namespace lt

LT_UNIT(entropy){
    {"logaddexp", "T=TT", LT_FLOATING_COMPLEX(Logaddexp)},
    {"logaddexp2", "T=TT", LT_FLOATING(Logaddexp2)},
    {"xlogy", "T=TT", LT_FLOATING(Xlogy)},
    {"xlog1py", "T=TT", LT_FLOATING(Xlog1py)},
    {"logit", "T=T", LT_FLOATING(Logit)},
    {"sinc", "T=T", LT_FLOATING_COMPLEX(Sinc)},
    LT_END,
};
