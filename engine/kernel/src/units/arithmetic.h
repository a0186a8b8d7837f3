// Sums, differences, products and quotients.
#include "../chunks.h"
#include "../fused.h"

namespace lt {
namespace {

// A binary kernel applied to both parts of complex numbers.
#define LT_BINARY_PARTS(NAME, ...)                                                        \
  struct NAME {                                                                           \
    template <class T>                                                                    \
    static void row(char *const *data, const int64_t *strides, int64_t n, const void *) { \
      const auto f = [](auto a, auto b) { return decltype(a)(__VA_ARGS__); };             \
      if constexpr (kind_of<T> == kComplex)                                               \
        parts_binary<T>(data, strides, n, f);                                             \
      else                                                                                \
        binary_row<T, T, T>(data, strides, n, f);                                         \
    }                                                                                     \
  };

LT_BINARY_PARTS(Add, a + b)
LT_BINARY_PARTS(Sub, a - b)

// Products of complex numbers, as vectors of alternating real and imaginary parts.
template <class T, size_t... I>
LT_INLINE Vec<T> multiply_pairs(Vec<T> a, Vec<T> b, std::index_sequence<I...>) {
  using Lanes = Raw<IntOf<T>>;
  const Vec<T> re = __builtin_shuffle(a.v, Lanes{(IntOf<T>)(I & ~(size_t)1)...});
  const Vec<T> im = __builtin_shuffle(a.v, Lanes{(IntOf<T>)(I | 1)...});
  const Vec<T> crossed = __builtin_shuffle(b.v, Lanes{(IntOf<T>)(I ^ 1)...});
  const Vec<T> signs = Raw<T>{(I & 1 ? T(0) : T(-0.0))...};
  return re * b + xor_bits(im * crossed, signs);
}

struct Mul {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    if constexpr (kind_of<T> == kComplex) {
      using R = RealOf<T>;
      constexpr int N = Vec<R>::N;
      if constexpr (N == 1)  // a thread of a device
        binary_row<T, T, T>(data, strides, n, [](T a, T b) -> T { return a * b; });
      else
        chunked<T, T, T>(data, strides, n, [](T *out, int64_t m, const T *a, const T *b) {
          const R *x = (const R *)a, *y = (const R *)b;
          R *z = (R *)out;
          for (int64_t i = 0; i < 2 * m; i += N) {
            const int k = (int)(2 * m - i < N ? 2 * m - i : N);
            const bool whole = k == N;
            const Vec<R> p = multiply_pairs(whole ? load(x + i) : load_partial(x + i, k),
                                            whole ? load(y + i) : load_partial(y + i, k),
                                            std::make_index_sequence<N>());
            if (whole)
              store(z + i, p);
            else
              store_partial(z + i, p, k);
          }
        });
    } else {
      binary_row<T, T, T>(data, strides, n, [](T a, T b) -> T { return T(a * b); });
    }
  }
};

struct Div {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    if constexpr (kind_of<T> == kComplex) {
      chunked<T, T, T>(data, strides, n, [](T *out, int64_t m, const T *a, const T *b) {
        using R = RealOf<T>;
        const R *x = (const R *)a, *y = (const R *)b;
        R *z = (R *)out;
#pragma GCC ivdep
        for (int64_t i = 0; i < 2 * m; i += 2) {
          const T q = T(x[i], x[i + 1]) / T(y[i], y[i + 1]);
          z[i] = q.re;
          z[i + 1] = q.im;
        }
      });
    } else {
      binary_row<T, T, T>(data, strides, n, [](T a, T b) -> T { return T(a / b); });
    }
  }
};

// a + alpha b
struct AddScaled {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const T alpha = *(const T *)params;
    binary_row<T, T, T>(data, strides, n,
                        [alpha](T a, T b) -> T { return multiply_add(alpha, b, a); });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(arithmetic){
    {"add", "T>TT", LT_MODULAR_ALL(Add)},      {"add_scaled", "T>TT", LT_MODULAR_ALL(AddScaled)},
    {"sub", "T>TT", LT_MODULAR_NUMBERS(Sub)},  {"mul", "T>TT", LT_MODULAR_ALL(Mul)},
    {"div", "T>TT", LT_FLOATING_COMPLEX(Div)}, LT_END,
};
