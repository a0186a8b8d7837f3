// Which elements are NaN, infinite, finite, real or negative, and scans that stop at the first
// element that decides.
#include "../rows.h"

namespace lt {
namespace {

template <class T>
LT_INLINE bool finite(T a) {
  return __builtin_fabs(a) <= (sizeof(T) == 4 ? T(__FLT_MAX__) : T(__DBL_MAX__));
}
template <class T>
LT_INLINE bool infinite(T a) {
  return __builtin_fabs(a) > (sizeof(T) == 4 ? T(__FLT_MAX__) : T(__DBL_MAX__));
}
template <class T>
LT_INLINE bool negative(T a) {
  if constexpr (kind_of<T> == kFloating)
    return __builtin_signbit(a) != 0;
  else if constexpr (kind_of<T> == kBool)
    return false;
  else
    return a < 0;
}

// On the parts of a complex number, on the number itself otherwise.
#define LT_CLASS(NAME, REAL, COMPLEX)                                                     \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      unary_row<Bool, T>(data, strides, n, [](T a) -> Bool {                              \
        if constexpr (kind_of<T> == kComplex)                                             \
          return COMPLEX;                                                                 \
        else                                                                              \
          return REAL;                                                                    \
      });                                                                                 \
    }                                                                                     \
  };

LT_CLASS(IsNan, a != a, a.re != a.re || a.im != a.im)
LT_CLASS(IsInf, infinite(a), infinite(a.re) || infinite(a.im))
LT_CLASS(IsFinite, finite(a), finite(a.re) && finite(a.im))
LT_UNARY_TO(IsReal, Bool, a.im == 0)
LT_UNARY_TO(IsPosInf, Bool, infinite(a) && a > 0)
LT_UNARY_TO(IsNegInf, Bool, infinite(a) && a < 0)
LT_UNARY_TO(Signbit, Bool, negative(a))

// |a - b| <= atol + rtol |b|, or equal, or both NaN if params select that: rtol, atol and equal_nan
// as doubles.
struct IsClose {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const double *p = (const double *)params;
    const double rtol = p[0], atol = p[2];
    const bool equal_nan = p[4] != 0;
    binary_row<Bool, T, T>(data, strides, n, [=](T a, T b) -> Bool {
      if constexpr (kind_of<T> == kComplex) {
        using R = RealOf<T>;
        if (a == b ||
            (equal_nan && (a.re != a.re || a.im != a.im) && (b.re != b.re || b.im != b.im)))
          return true;
        const R distance = R(__builtin_hypot(a.re - b.re, a.im - b.im));
        return finite(distance) && distance <= R(atol) + R(rtol) * R(__builtin_hypot(b.re, b.im));
      } else if constexpr (kind_of<T> == kFloating) {
        const T distance = T(__builtin_fabs(a - b));
        const bool near = finite(distance) & (distance <= T(atol) + T(__builtin_fabs(T(rtol) * b)));
        return (a == b) | near | (equal_nan & (a != a) & (b != b));
      } else {
        return (a == b) |
               (__builtin_fabs(double(a) - double(b)) <= atol + rtol * __builtin_fabs(double(b)));
      }
    });
  }
};

// A scan has no outputs; it sets the flag in params when it finds a match.
struct HasZero {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    int64_t *found = (int64_t *)params;
    const char *a = data[0];
    for (int64_t i = 0; i < n && !*found; i++, a += strides[0]) *found = *(const T *)a == T(0);
  }
};
struct Differs {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    int64_t *found = (int64_t *)params;
    const char *a = data[0], *b = data[1];
    constexpr int64_t block = 256;
    for (int64_t i = 0; i < n && !*found; i += block) {
      const int64_t m = n - i < block ? n - i : block;
      bool differs = false;
      if (strides[0] == (int64_t)sizeof(T) && strides[1] == (int64_t)sizeof(T)) {
        const T *x = (const T *)a, *y = (const T *)b;
        for (int64_t k = 0; k < m; k++) differs |= x[k] != y[k];
      } else {
        for (int64_t k = 0; k < m; k++)
          differs |= *(const T *)(a + k * strides[0]) != *(const T *)(b + k * strides[1]);
      }
      a += m * strides[0];
      b += m * strides[1];
      *found = differs;
    }
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(classify){
    {"isnan", "b>T", LT_FLOATING_COMPLEX(IsNan)},
    {"isinf", "b>T", LT_FLOATING_COMPLEX(IsInf)},
    {"isfinite", "b>T", LT_FLOATING_COMPLEX(IsFinite)},
    {"isreal", "b>T", LT_COMPLEX_ONLY(IsReal)},
    {"isposinf", "b>T", LT_FLOATING(IsPosInf)},
    {"isneginf", "b>T", LT_FLOATING(IsNegInf)},
    {"signbit", "b>T", LT_ORDERED(Signbit)},
    {"isclose", "b>TT", LT_ALL(IsClose)},
    {"has_zero", "=T", LT_MODULAR_ALL(HasZero)},
    {"differs", "=TT", LT_MODULAR_ALL(Differs)},
    LT_END,
};
