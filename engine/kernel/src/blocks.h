// The layouts of GGUF's blocks (ggml-common.h): the integers, scales and offsets of LT_BLOCK
// values, which are scale * integer - offset.
#ifndef LIBTENSOR_KERNEL_SRC_BLOCKS_H
#define LIBTENSOR_KERNEL_SRC_BLOCKS_H

#include "rows.h"
// Comes after rows.h, which sets the compiler up.
#include "../blocks.h"
#include "cast.h"

namespace lt {
namespace {

// How many bytes LT_BLOCK values take, 0 for unknown types.
LT_INLINE int64_t bytes_of_block(int32_t type) {
  switch (type) {
    case LT_Q4_0:
      return 8 * 18;
    case LT_Q4_1:
      return 8 * 20;
    case LT_Q5_0:
      return 8 * 22;
    case LT_Q5_1:
      return 8 * 24;
    case LT_Q8_0:
      return 8 * 34;
    case LT_Q4_K:
      return 144;
    case LT_Q5_K:
      return 176;
    case LT_Q6_K:
      return 210;
  }
  return 0;
}

LT_INLINE float half_at(const uint8_t *p) {
  Float16 h;
  memcpy(&h, p, sizeof h);
  return widen(h);
}

LT_INLINE uint32_t word_at(const uint8_t *p) {
  uint32_t w;
  memcpy(&w, p, sizeof w);
  return w;
}

// The 6-bit scales and offsets of eight groups in the 12 bytes at p.
LT_INLINE void unpack_six_bits(const uint8_t *p, uint64_t *scales, uint64_t *offsets) {
  const uint32_t a = word_at(p), b = word_at(p + 4), c = word_at(p + 8);
  const uint32_t high_scales = (c & 0x0f0f0f0f) | (a >> 6 & 0x03030303) << 4;
  const uint32_t high_offsets = (c >> 4 & 0x0f0f0f0f) | (b >> 6 & 0x03030303) << 4;
  *scales = (a & 0x3f3f3f3f) | uint64_t(high_scales) << 32;
  *offsets = (b & 0x3f3f3f3f) | uint64_t(high_offsets) << 32;
}

// LT_BLOCK values: integers, a scale for each half of a group, an offset for each group.
struct Decoded {
  alignas(32) int8_t integers[LT_BLOCK];
  float scales[2 * LT_GROUPS], offsets[LT_GROUPS];

  void group(int g, float scale, float offset) {
    scales[2 * g] = scales[2 * g + 1] = scale;
    offsets[g] = offset;
  }

  // `groups` groups, from the block at p on.
  void read(int32_t type, const uint8_t *p, int groups) {
    switch (type) {
      case LT_Q4_0:
      case LT_Q4_1:
      case LT_Q5_0:
      case LT_Q5_1:
        for (int g = 0; g < groups; g++) p = nibbles(type, p, g);
        return;
      case LT_Q8_0:
        for (int g = 0; g < groups; g++, p += 34) {
          group(g, half_at(p), 0);
          memcpy(integers + LT_GROUP * g, p + 2, LT_GROUP);
        }
        return;
      case LT_Q4_K:
      case LT_Q5_K:
        return nested(p, type == LT_Q5_K);
      case LT_Q6_K:
        return six_bits(p);
    }
  }

 private:
  // A block of 32 integers of 4 bits, the first 16 of them in the low ones; fifth bits are in a
  // word before them. Returns the next block.
  const uint8_t *nibbles(int32_t type, const uint8_t *p, int g) {
    const bool offset = type == LT_Q4_1 || type == LT_Q5_1,
               fifth = type == LT_Q5_0 || type == LT_Q5_1;
    group(g, half_at(p), offset ? -half_at(p + 2) : 0);
    p += offset ? 4 : 2;
    const uint32_t high = fifth ? word_at(p) : 0;
    p += fifth ? 4 : 0;
    const int zero = offset ? 0 : fifth ? 16 : 8;
    int8_t *q = integers + LT_GROUP * g;
    for (int i = 0; i < 16; i++) {
      q[i] = int8_t(((p[i] & 15) | (high >> i & 1) << 4) - zero);
      q[i + 16] = int8_t((p[i] >> 4 | (high >> (i + 16) & 1) << 4) - zero);
    }
    return p + 16;
  }

  // Eight groups whose scales and offsets are multiples of two halves.
  void nested(const uint8_t *p, bool fifth) {
    const float scale = half_at(p), offset = half_at(p + 2);
    uint64_t scale_bytes, offset_bytes;
    unpack_six_bits(p + 4, &scale_bytes, &offset_bytes);
    const uint8_t *high = p + 16, *low = fifth ? high + 32 : high;
    for (int g = 0; g < LT_GROUPS; g++) {
      group(g, scale * float(scale_bytes >> 8 * g & 255),
            offset * float(offset_bytes >> 8 * g & 255));
      const uint8_t *q = low + LT_GROUP * (g / 2);
      for (int i = 0; i < LT_GROUP; i++) {
        const int bit = fifth ? (high[i] >> g & 1) << 4 : 0;
        integers[LT_GROUP * g + i] = int8_t((q[i] >> 4 * (g & 1) & 15) | bit);
      }
    }
  }

  // Sixteen halves of groups, of 6 bits: the low four of two groups share 32 bytes, the high two of
  // four.
  void six_bits(const uint8_t *p) {
    const float scale = half_at(p + 208);
    for (int g = 0; g < LT_GROUPS; g++) {
      const uint8_t *low = p + 64 * (g / 4) + 32 * (g & 1), *high = p + 128 + 32 * (g / 4);
      for (int h = 0; h < 2; h++) scales[2 * g + h] = scale * float(int8_t(p[192 + 2 * g + h]));
      offsets[g] = 0;
      for (int i = 0; i < LT_GROUP; i++) {
        const int four = low[i] >> 4 * (g / 2 & 1) & 15, two = high[i] >> 2 * (g & 3) & 3;
        integers[LT_GROUP * g + i] = int8_t((four | two << 4) - 32);
      }
    }
  }
};

}  // namespace
}  // namespace lt
#endif
