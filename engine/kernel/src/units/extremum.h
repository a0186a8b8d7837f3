// The smaller and the larger of elements, and bounds.
#include "../chunks.h"

namespace lt {
namespace {

// NaN wins over every number; of equals, a.
template <class T>
LT_INLINE T larger(T a, T b) {
  return (a < b) | (b != b) ? b : a;
}
template <class T>
LT_INLINE T smaller(T a, T b) {
  return (a > b) | (b != b) ? b : a;
}

LT_BINARY(Maximum, larger(a, b))
LT_BINARY(Minimum, smaller(a, b))
// Every number wins over NaN; of equals, a.
LT_BINARY(Fmax, (a < b) | (a != a) ? b : a)
LT_BINARY(Fmin, (a > b) | (a != a) ? b : a)

struct Clamp {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    ternary_chunks<T, T, T, T>(data, strides, n,
                               [](T a, T lo, T hi) -> T { return smaller(larger(a, lo), hi); });
  }
};

LT_UNARY(Relu, a < T(0) ? T(0) : a)

}  // namespace
}  // namespace lt

LT_UNIT(extremum){
    {"maximum", "T>TT", LT_ORDERED(Maximum)},
    {"minimum", "T>TT", LT_ORDERED(Minimum)},
    {"fmax", "T>TT", LT_FLOATING(Fmax)},
    {"fmin", "T>TT", LT_FLOATING(Fmin)},
    {"clamp", "T>TTT", LT_ORDERED(Clamp)},
    {"relu", "T>T", LT_REALS(Relu)},
    LT_END,
};
