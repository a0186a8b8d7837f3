// Conversion between float32 numbers and quantized integers: (integer - zero point) * scale.
#include "../../quantize.h"

#include "../chunks.h"

// clang-format off
#define LT_QUANTIZED(OP) {LT_NONE, LT_ROW(OP, uint8_t), LT_ROW(OP, int8_t), LT_NONE, LT_ROW(OP, int32_t), LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_NO_FLOATS, LT_NO_COMPLEX}
// clang-format on

namespace lt {
namespace {

// The type that holds an integer exactly: double for 32-bit integers.
template <class T>
using Exact = std::conditional_t<sizeof(T) == 1, float, double>;

// round(x) + zero, clamped to the range. Clamping before the rounding does not change the result,
// and keeps the number in the range where adding a large constant rounds to even and exposes the
// bits.
template <class T>
LT_INLINE T integer(float x, int32_t zero, int32_t low, int32_t high) {
  using F = Exact<T>;
  constexpr bool kWide = sizeof(F) == 8;
  constexpr F kMagic = kWide ? (F)0x1.8p52 : (F)0x1.8p23;
  const F lowest = (F)low - (F)zero, highest = (F)high - (F)zero;
  F v = x;
  if constexpr (kWide) {  // NaN is the lowest of the wide ones
    v = v > lowest ? v : lowest;
    v = v < highest ? v : highest;
  } else {  // and the highest of the others
    v = v < highest ? v : highest;
    v = v > lowest ? v : lowest;
  }
  const F sum = v + kMagic;
  IntOf<F> bits, base;
  __builtin_memcpy(&bits, &sum, sizeof(F));
  __builtin_memcpy(&base, &kMagic, sizeof(F));
  return (T)(bits - base + zero);
}

// Dequantizes an integer. The difference is exact, and so is its product with a float scale:
// rounding to float at the end is the same as rounding the scale first, if that is exact.
template <class T, class Scale>
LT_INLINE float number(T q, Scale scale, int32_t zero) {
  const float less = sizeof(T) == 1 ? (float)(q - zero) : (float)((double)q - (double)zero);
  return (float)((Scale)less * scale);
}

// Operands: x, the reciprocals of scales, and zero points; the parameters are the range.
struct Quantize {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const int32_t low = *(const int32_t *)params;
    const int32_t high = *(const int32_t *)((const char *)params + 16);
    if (strides[2] == 0 && strides[3] == 0) {
      const float inverse = *(const float *)data[2];
      const int32_t zero = *(const int32_t *)data[3];
      return unary_row<T, float>(
          data, strides, n, [=](float x) -> T { return integer<T>(x * inverse, zero, low, high); });
    }
    ternary_chunks<T, float, float, int32_t>(data, strides, n,
                                             [=](float x, float inverse, int32_t zero) -> T {
                                               return integer<T>(x * inverse, zero, low, high);
                                             });
  }
};

// Operands: integers, scales and zero points.
struct Dequantize {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    if (strides[2] == 0 && strides[3] == 0) {
      const double scale = *(const double *)data[2];
      const int32_t zero = *(const int32_t *)data[3];
      if ((double)(float)scale == scale)
        return unary_row<float, T>(data, strides, n,
                                   [=](T q) { return number<T>(q, (float)scale, zero); });
      return unary_row<float, T>(data, strides, n, [=](T q) { return number<T>(q, scale, zero); });
    }
    ternary_chunks<float, T, double, int32_t>(
        data, strides, n,
        [](T q, double scale, int32_t zero) { return number<T>(q, scale, zero); });
  }
};

// The sum of two numbers, as an integer.
struct QuantizedAdd {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const lt_quantized_pair p = *(const lt_quantized_pair *)params;
    binary_row<T, T, T>(data, strides, n, [p](T a, T b) -> T {
      const float sum = number<T>(a, p.a_scale, p.a_zero) + number<T>(b, p.b_scale, p.b_zero);
      return integer<T>(sum * p.factor, p.zero, p.low, p.high);
    });
  }
};

// The product of two numbers in units of their scales, which are in the factor, as an integer.
struct QuantizedMul {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const lt_quantized_pair p = *(const lt_quantized_pair *)params;
    binary_row<T, T, T>(data, strides, n, [p](T a, T b) -> T {
      const float product = number<T>(a, 1.f, p.a_zero) * number<T>(b, 1.f, p.b_zero);
      return integer<T>(product * p.factor, p.zero, p.low, p.high);
    });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(quantize){
    {"quantize", "T>ffi", LT_QUANTIZED(Quantize)},
    {"dequantize", "f>Tdi", LT_QUANTIZED(Dequantize)},
    {"quantized_add", "T>TT", LT_QUANTIZED(QuantizedAdd)},
    {"quantized_mul", "T>TT", LT_QUANTIZED(QuantizedMul)},
    LT_END,
};
