// Gamma, error and Bessel functions.
#include "../chunks.h"
#include "../special.h"
#include "../vmath_erf.h"
#include "../vmath_log.h"

namespace lt {
namespace {

// erf^-1: a polynomial of M. Giles (Approximating the erfinv function, 2010) in the middle and the
// leading term of erfc's asymptotic series in the tails, then Halley's steps, on erfc where x is
// near 1.
LT_INLINE Doubles verfinv(Doubles x, int steps) {
  const Doubles m = abs(x), rest = Doubles(1.0) - m;
  const Doubles log_rest = vlog(rest), w = -(log_rest + vlog1p(m)), c = w - 2.5;
  const Doubles middle =
      m * poly(c, 1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087,
               -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08);
  const Doubles l = max(Doubles(1.0), -log_rest);
  Doubles y = select(w < 5.0, middle, sqrt(l - vlog(l * 3.14159265358979323846) * 0.5));
  for (int i = 0; i < steps; i++) {
    const Doubles error = select(m < 0.5, verf(y) - m, rest - verfc(y));
    const Doubles u = error * vexp(y * y) * 0.88622692545275801365;
    y = y - u / fma(y, u, Doubles(1.0));
  }
  y = select(m < 1e-8, m * 0.88622692545275801365, y);
  y = select(m == 1.0, Doubles(Format<double>::infinity), y);
  y = select(m <= 1.0, y, Doubles(Format<double>::nan));
  return copysign(y, x);
}
LT_INLINE Floats verfinv(Floats x) {
  return in_double(x, [](Doubles v) { return verfinv(v, 1); });
}
LT_INLINE Doubles verfinv(Doubles x) { return verfinv(x, 3); }

#define LT_VECTOR(NAME, ...)                                                              \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      vector_unary<T>(data, strides, n, [](Vec<T> a) { return __VA_ARGS__; });            \
    }                                                                                     \
  };
LT_VECTOR(Erf, verf(a))
LT_VECTOR(Erfc, verfc(a))
LT_VECTOR(Erfinv, verfinv(a))

LT_UNARY(Lgamma, T(log_gamma(a)))
LT_UNARY(Digamma, T(digamma(a)))
LT_UNARY(I0, T(bessel_i0(a)))
LT_BINARY(Igamma, T(incomplete_gamma(a, b, false)))
LT_BINARY(Igammac, T(incomplete_gamma(a, b, true)))
LT_BINARY(Zeta, T(hurwitz_zeta(a, b)))

// The order of the derivative is the first parameter.
struct Polygamma {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const int64_t order = *(const int64_t *)params;
    unary_row<T, T>(data, strides, n, [order](T a) { return polygamma(order, a); });
  }
};

// The sum of log_gamma(a - i/2) for i < p, and p (p - 1) / 4 log pi (DLMF 35.3.4).
struct Mvlgamma {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const int64_t p = *(const int64_t *)params;
    unary_row<T, T>(data, strides, n, [p](T a) {
      double sum = double(p) * double(p - 1) / 4 * 1.14472988584940017414;
      for (int64_t i = 0; i < p; i++) sum += log_gamma(a - 0.5 * double(i));
      return T(sum);
    });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(special){
    {"erf", "T=T", LT_FLOATING(Erf)},           {"erfc", "T=T", LT_FLOATING(Erfc)},
    {"erfinv", "T=T", LT_FLOATING(Erfinv)},     {"lgamma", "T=T", LT_FLOATING(Lgamma)},
    {"digamma", "T=T", LT_FLOATING(Digamma)},   {"i0", "T=T", LT_FLOATING(I0)},
    {"igamma", "T=TT", LT_FLOATING(Igamma)},    {"igammac", "T=TT", LT_FLOATING(Igammac)},
    {"zeta", "T=TT", LT_FLOATING(Zeta)},        {"polygamma", "T=T", LT_FLOATING(Polygamma)},
    {"mvlgamma", "T=T", LT_FLOATING(Mvlgamma)}, LT_END,
};
