// Arcsine, arccosine, arctangent.
#include "../native.h"
#include "../vmath_atrig.h"

namespace lt {
namespace {

LT_FUNCTION(Asin, vasin(a), casin(a))
LT_FUNCTION(Acos, vacos(a), cacos(a))
LT_FUNCTION(Atan, vatan(a), catan(a))

struct Atan2 {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    vector_binary<T>(data, strides, n, [](Vec<T> a, Vec<T> b) { return vatan2(a, b); });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(inverse_trigonometric){
    {"asin", "T>T", LT_FLOATING_COMPLEX(Asin)},
    {"acos", "T>T", LT_FLOATING_COMPLEX(Acos)},
    {"atan", "T>T", LT_FLOATING_COMPLEX(Atan)},
    {"atan2", "T>TT", LT_FLOATING(Atan2)},
    LT_END,
};
