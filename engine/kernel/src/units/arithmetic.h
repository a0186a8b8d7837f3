// Sums, differences, products and quotients.
#include "../rows.h"

namespace lt {
namespace {

// A binary kernel with one more value of dtype T in alpha.
#define LT_BINARY_ALPHA(NAME, ...)                                                              \
  struct NAME {                                                                                 \
    template <class T>                                                                          \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) { \
      const T alpha = *(const T *)params;                                                       \
      binary_row<T, T, T>(data, strides, n, [alpha](T a, T b) -> T { return __VA_ARGS__; });    \
    }                                                                                           \
  };

LT_BINARY(Add, T(a + b))
LT_BINARY(Sub, T(a - b))
LT_BINARY(Mul, T(a *b))
LT_BINARY(Div, T(a / b))
LT_BINARY_ALPHA(AddScaled, T(a + T(alpha * b)))

}  // namespace
}  // namespace lt

LT_UNIT(arithmetic){
    {"add", "T=TT", LT_ALL(Add)},
    {"add_scaled", "T=TT", LT_ALL(AddScaled)},
    {"sub", "T=TT", LT_NUMBERS(Sub)},
    {"mul", "T=TT", LT_ALL(Mul)},
    {"div", "T=TT", LT_FLOATING_COMPLEX(Div)},
    LT_END,
};
