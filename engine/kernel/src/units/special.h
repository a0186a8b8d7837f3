// Gamma, error and Bessel functions.
#include "../chunks.h"
#include "../special.h"
#include "../vmath_erf.h"

namespace lt {
namespace {

#define LT_VECTOR(NAME, ...)                                                              \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      vector_unary<T>(data, strides, n, [](Vec<T> a) { return __VA_ARGS__; });            \
    }                                                                                     \
  };
LT_VECTOR(Erf, verf(a))
LT_VECTOR(Erfc, verfc(a))

LT_UNARY(Erfinv, T(erf_inverse(a)))
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
    {"erf", "T=T", LT_FLOATING(Erf)},
    {"erfc", "T=T", LT_FLOATING(Erfc)},
    {"erfinv", "T=T", LT_FLOATING(Erfinv)},
    {"lgamma", "T=T", LT_FLOATING(Lgamma)},
    {"digamma", "T=T", LT_FLOATING(Digamma)},
    {"i0", "T=T", LT_FLOATING(I0)},
    {"igamma", "T=TT", LT_FLOATING(Igamma)},
    {"igammac", "T=TT", LT_FLOATING(Igammac)},
    {"zeta", "T=TT", LT_FLOATING(Zeta)},
    {"polygamma", "T=T", LT_FLOATING(Polygamma)},
    {"mvlgamma", "T=T", LT_FLOATING(Mvlgamma)},
    LT_END,
};
