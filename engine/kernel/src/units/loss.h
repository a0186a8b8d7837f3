// Losses of pairs of numbers.
#include "../chunks.h"

namespace lt {
namespace {

LT_BINARY(SquaredError, (a - b) * (a - b))

// Of the distance d of a and b, d^2 / 2 up to p[0], and p[0] (d - p[0] / 2) beyond; times p[1].
struct Huber {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const T delta = *(const T *)params, scale = *(const T *)((const char *)params + 16);
    binary_row<T, T, T>(data, strides, n, [=](T a, T b) -> T {
      const T d = a < b ? b - a : a - b, near = d > delta ? delta : d;
      return near * (d - near * T(0.5)) * scale;
    });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(loss){
    {"squared_error", "T>TT", LT_FLOATING(SquaredError)},
    {"huber", "T>TT", LT_FLOATING(Huber)},
    LT_END,
};
