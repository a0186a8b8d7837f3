// Operators of three operands.
#include "../chunks.h"
#include "../fused.h"

namespace lt {
namespace {

struct Where {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    ternary_chunks<T, Bool, T, T>(data, strides, n,
                                  [](Bool c, T a, T b) -> T { return c ? a : b; });
  }
};

// a + value b c. The rounding error of value b is added if it is a finite number that changes the
// sum.
struct Addcmul {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const T value = *(const T *)params;
    const auto plain = [value](T a, T b, T c) -> T { return multiply_add(T(value * b), c, a); };
    if constexpr (kind_of<T> == kFloating) {
      if (value != 1) {
        ternary_chunks<T, T, T, T>(data, strides, n, [=](T a, T b, T c) -> T {
          const T sum = plain(a, b, c), rest = multiply_add(value, b, -(value * b)) * c;
          const bool counts = ((rest < 0) | (rest > 0)) & (rest - rest == 0);
          return counts ? sum + rest : sum;
        });
        return;
      }
    }
    ternary_chunks<T, T, T, T>(data, strides, n, plain);
  }
};

// a + value b / c
struct Addcdiv {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const T value = *(const T *)params;
    ternary_chunks<T, T, T, T>(data, strides, n,
                               [value](T a, T b, T c) -> T { return a + value * b / c; });
  }
};

// a + w (b - a), computed from the nearer end.
struct Lerp {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    ternary_chunks<T, T, T, T>(data, strides, n, [](T a, T b, T w) -> T {
      bool near;
      if constexpr (kind_of<T> == kComplex)
        near = w.re * w.re + w.im * w.im < RealOf<T>(0.25);
      else
        near = (w < T(0.5)) & (w > T(-0.5));
      const T weight = near ? w : T(w - T(1)), from = near ? a : b, distance = b - a;
      const T plain = multiply_add(weight, distance, from);
      if constexpr (kind_of<T> == kFloating) {  // halves of finite ends have a finite distance
        const T half = T(0.5), sum = multiply_add(weight, T(b * half - a * half), T(from * half));
        const bool overflows = (distance - distance != 0) & (a - a == 0) & (b - b == 0);
        return overflows ? T(sum + sum) : plain;
      } else {
        return plain;
      }
    });
  }
};

}  // namespace
}  // namespace lt

// where moves elements as the bytes they are.
// clang-format off
#define LT_MOVED(OP) {LT_ROW(OP, lt::Bool), LT_MODULAR(OP), LT_ROW(OP, int16_t), LT_ROW(OP, int16_t), \
                      LT_ROW(OP, float), LT_ROW(OP, double), LT_COMPLEX(OP)}
// clang-format on

LT_UNIT(ternary){
    {"where", "T>bTT", LT_MOVED(Where)},
    {"addcmul", "T>TTT", LT_MODULAR_NUMBERS(Addcmul)},
    {"addcdiv", "T>TTT", LT_FLOATING_COMPLEX(Addcdiv)},
    {"lerp", "T>TTT", LT_FLOATING_COMPLEX(Lerp)},
    LT_END,
};
