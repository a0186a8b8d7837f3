// Conversions of eight-bit floats: from codes through a table, to codes by rounding float32.
#include "../../float8.h"

#include "../rows.h"

namespace lt {
namespace {

// The result for each code; the parameter is a pointer to the results of all 256.
template <class R>
LT_INLINE void look_up(char *const *data, const int64_t *strides, int64_t n, const void *params) {
  const R *results = *(const R *const *)params;
  unary_row<R, uint8_t>(data, strides, n, [results](uint8_t code) -> R { return results[code]; });
}

struct Float8Decode {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    look_up<uint32_t>(data, strides, n, params);  // the bits of float32
  }
};

struct Float8Translate {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    look_up<uint8_t>(data, strides, n, params);
  }
};

// See Encode in engine/dtype/float8.go. Both ways of rounding are computed for every number, so
// that the loop runs in vectors.
LT_INLINE uint8_t encode(uint32_t bits, const lt_float8_format &f) {
  const uint32_t magnitude = bits & 0x7fffffff, sign = bits >> 31 << 7;
  const uint32_t drop = 23 - f.fraction, power = (128 - f.bias + drop) << 23;
  const float sum = __builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, power);
  const uint32_t small = __builtin_bit_cast(uint32_t, sum) - power;
  const uint32_t rounded = magnitude + (1u << (drop - 1)) - 1 + (magnitude >> drop & 1);
  const uint32_t normal = (rounded >> drop) - ((uint32_t)(127 - f.bias) << f.fraction);
  uint32_t code = normal > f.largest ? f.overflow : normal;
  code = magnitude < (uint32_t)(128 - f.bias) << 23 ? small : code;
  code = magnitude > 0x7f800000 ? f.nan : code;
  return uint8_t(f.is_signed | ((code != 0) & (code < f.overflow)) ? code | sign : code);
}

LT_INLINE uint8_t encode_power(uint32_t bits) {
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t rounded = (magnitude + (1 << 22)) >> 23;
  const uint32_t code = magnitude < 1 << 23 ? magnitude > 1 << 22 : rounded;
  return uint8_t(magnitude >= 0x7f800000 ? 0xff : code);
}

struct Float8Encode {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *params) {
    const lt_float8_format f = *(const lt_float8_format *)params;
    if (f.powers) return unary_row<uint8_t, uint32_t>(data, strides, n, encode_power);
    unary_row<uint8_t, uint32_t>(data, strides, n, [f](uint32_t b) { return encode(b, f); });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(float8){
    {"float8_decode", "f>T", {LT_NONE, LT_ROW(Float8Decode, uint8_t)}},
    {"float8_translate", "T>T", {LT_NONE, LT_ROW(Float8Translate, uint8_t)}},
    {"float8_encode", "T>f", {LT_NONE, LT_ROW(Float8Encode, uint8_t)}},
    LT_END,
};
