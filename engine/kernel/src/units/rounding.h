// Rounding to integers, and the fractional part.
#include "../chunks.h"

namespace lt {
namespace {

template <class T>
LT_INLINE Vec<T> ceil(Vec<T> a) {
  return -floor(-a);
}

#define LT_ROUNDING(NAME, ...)                                                            \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      vector_unary<T>(data, strides, n, [](Vec<T> a) { return __VA_ARGS__; });            \
    }                                                                                     \
  };

LT_ROUNDING(Floor, floor(a))
LT_ROUNDING(Ceil, ceil(a))
LT_ROUNDING(Round, round_even(a))
LT_ROUNDING(Trunc, trunc(a))
LT_ROUNDING(Frac, a - trunc(a))

// round(a * scale) / scale, or round(a / scale) * scale if params have a negative number of
// decimals.
struct RoundDecimals {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const Vec<T> scale = *(const T *)params;
    const bool negative = *(const T *)((const char *)params + 16) != 0;
    vector_unary<T>(data, strides, n, [=](Vec<T> a) {
      return negative ? round_even(a / scale) * scale : round_even(a * scale) / scale;
    });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(rounding){
    {"floor", "T>T", LT_FLOATING(Floor)},
    {"ceil", "T>T", LT_FLOATING(Ceil)},
    {"round", "T>T", LT_FLOATING(Round)},
    {"trunc", "T>T", LT_FLOATING(Trunc)},
    {"frac", "T>T", LT_FLOATING(Frac)},
    {"round_decimals", "T>T", LT_FLOATING(RoundDecimals)},
    LT_END,
};
