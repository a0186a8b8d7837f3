// Between numbers and the integers that stand for them: (integer - zero point) * scale.
#include "../chunks.h"

namespace lt {
namespace {

// round(x / scale) + zero point, held to the range that params have, where the operands are x, the
// reciprocals of scales and zero points. Clamping to whole numbers first changes nothing, and
// leaves what adding a large number rounds to even and shows the bits of. The row of doubles, whose
// products are rounded to the float32 that numbers are, is for integers of 32 bits.
struct Quantize {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    constexpr bool kWide = sizeof(T) == 8;
    constexpr T kMagic = kWide ? (T)0x1.8p52 : (T)0x1.8p23;
    const T lo = (T) * (const int32_t *)params;
    const T hi = (T) * (const int32_t *)((const char *)params + 16);
    chunked<int32_t, T, T, int32_t>(
        data, strides, n,
        [=](int32_t *out, int64_t m, const T *x, const T *inverse, const int32_t *zero) {
#pragma GCC ivdep
          for (int64_t i = 0; i < m; i++) {
            const T lowest = lo - (T)zero[i], highest = hi - (T)zero[i];
            T v = (T)(float)(x[i] * inverse[i]);
            if constexpr (kWide) {  // NaN is the lowest of the wide ones
              v = v > lowest ? v : lowest;
              v = v < highest ? v : highest;
            } else {  // and the highest of the others
              v = v < highest ? v : highest;
              v = v > lowest ? v : lowest;
            }
            const T sum = v + kMagic;
            IntOf<T> bits, base;
            __builtin_memcpy(&bits, &sum, sizeof(T));
            __builtin_memcpy(&base, &kMagic, sizeof(T));
            out[i] = (int32_t)(bits - base + zero[i]);
          }
        });
  }
};

// The number, of float32 too in the row of doubles, where the difference of integers of 32 bits is
// exact.
struct Dequantize {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    ternary_chunks<T, int32_t, T, int32_t>(data, strides, n,
                                           [](int32_t q, T scale, int32_t zero) -> T {
                                             if constexpr (sizeof(T) == 8)
                                               return (T)((float)((T)q - (T)zero) * (float)scale);
                                             else
                                               return (T)(q - zero) * scale;
                                           });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(quantize){
    {"quantize", "i>TTi", LT_FLOATING(Quantize)},
    {"dequantize", "T>iTi", LT_FLOATING(Dequantize)},
    LT_END,
};
