// The floating-point format of numbers: adjacent values, fraction and exponent, replacement of NaN
// and infinities; the step function.
#include "../rows.h"

namespace lt {
namespace {

template <class T>
LT_INLINE T next(T a, T b) {
  return sizeof(T) == 4 ? T(__builtin_nextafterf(float(a), float(b)))
                        : T(__builtin_nextafter(a, b));
}
LT_BINARY(Nextafter, next(a, b))

// The same on the bits of 16-bit floats, given the bits of infinity.
struct NextafterBits {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const int32_t infinity = *(const int64_t *)params;
    binary_row<T, T, T>(data, strides, n, [infinity](T a, T b) -> T {
      const int32_t ma = a & 0x7fff, mb = b & 0x7fff;
      if (ma > infinity) return a;
      if (mb > infinity) return b;
      // Sign and magnitude as one ordered number.
      const int32_t x = a < 0 ? -ma : ma, y = b < 0 ? -mb : mb;
      if (x == y) return b;
      const int32_t z = x < y ? x + 1 : x - 1;
      if (z == 0) return T(a < 0 ? -0x8000 : 0);
      return T(z < 0 ? -z | ~0x7fff : z);
    });
  }
};

// a = fraction 2^exponent with 1/2 <= |fraction| < 1.
struct Frexp {
  template <class T>
  static void row(char *const *data, const int64_t *s, int64_t n, const void *) {
    char *fraction = data[0], *exponent = data[1], *a = data[2];
    for (int64_t i = 0; i < n; i++, fraction += s[0], exponent += s[1], a += s[2]) {
      int e = 0;
      *(T *)fraction = T(__builtin_frexp(*(const T *)a, &e));
      *(int32_t *)exponent = e;
    }
  }
};

// a 2^b of an integer b, rounded once.
template <class T>
LT_INLINE T scaled(T a, T b) {
  const T most = 5000;  // beyond every ratio of two numbers
  if (b != b) return b;
  const int n = int(b < -most ? -most : b > most ? most : b);
  return sizeof(T) == 4 ? T(__builtin_ldexpf(float(a), n)) : T(__builtin_ldexp(a, n));
}
LT_BINARY(Ldexp, scaled(a, b))

// 0 for negative a, 1 for positive a, b for 0.
LT_BINARY(Heaviside, a == T(0) ? b : T(a > T(0)))

// Replacements for NaN and the infinities are doubles.
struct NanToNum {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const double *p = (const double *)params;
    using R = RealOf<T>;
    const R nan = R(p[0]), positive = R(p[2]), negative = R(p[4]), infinity = R(__builtin_inf());
    auto replace = [=](R a) -> R {
      return a != a ? nan : a == infinity ? positive : a == -infinity ? negative : a;
    };
    unary_row<T, T>(data, strides, n, [=](T a) -> T {
      if constexpr (kind_of<T> == kComplex)
        return T(replace(a.re), replace(a.im));
      else
        return replace(a);
    });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(format){
    {"nextafter", "T>TT", LT_FLOATING(Nextafter)},
    {"nextafter_bits", "T>TT", {LT_NONE, LT_NONE, LT_NONE, LT_ROW(NextafterBits, int16_t)}},
    {"frexp", "Ti>T", LT_FLOATING(Frexp)},
    {"ldexp", "T>TT", LT_FLOATING(Ldexp)},
    {"heaviside", "T>TT", LT_ORDERED(Heaviside)},
    {"nan_to_num", "T>T", LT_FLOATING_COMPLEX(NanToNum)},
    LT_END,
};
