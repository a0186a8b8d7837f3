#include "philox.h"

#include <string.h>

#include "tiered.h"

int random_tier = 0;

// Builds produce up to kMost blocks at once, possibly more than requested.
enum { kRounds = 10, kGroups = 4, kMost = 8 * kGroups };

// One build for vectors of the given size. A 64-bit lane holds a word of a block; product
// multiplies the low halves of lanes, and the contents of the high halves are ignored.
#define PHILOX(name, attribute, bytes, product)                                           \
  attribute static void name(uint32_t* out, int64_t blocks, uint64_t key, uint64_t block, \
                             uint64_t round) {                                            \
    typedef uint64_t lanes __attribute__((vector_size(bytes)));                           \
    enum { kLanes = bytes / 8 };                                                          \
    const lanes zero = {0}, low = zero + 0xffffffffu;                                     \
    const lanes first = zero + 0xd2511f53u, second = zero + 0xcd9e8d57u;                  \
    lanes step;                                                                           \
    for (int i = 0; i < kLanes; i++) step[i] = (uint64_t)i;                               \
    for (int64_t at = 0; at < blocks; at += kGroups * kLanes) {                           \
      lanes a[kGroups], b[kGroups], c[kGroups], d[kGroups];                               \
      for (int g = 0; g < kGroups; g++) {                                                 \
        lanes counter = step + (block + (uint64_t)(at + g * kLanes));                     \
        a[g] = counter;                                                                   \
        b[g] = counter >> 32;                                                             \
        c[g] = zero + round;                                                              \
        d[g] = zero + (round >> 32);                                                      \
      }                                                                                   \
      uint32_t low_key = (uint32_t)key, high_key = (uint32_t)(key >> 32);                 \
      _Pragma("GCC unroll 10") for (int r = 0; r < kRounds; r++) {                        \
        _Pragma("GCC unroll 4") for (int g = 0; g < kGroups; g++) {                       \
          lanes p = product(a[g], first), q = product(c[g], second);                      \
          a[g] = (q >> 32) ^ b[g] ^ low_key;                                              \
          b[g] = q;                                                                       \
          c[g] = (p >> 32) ^ d[g] ^ high_key;                                             \
          d[g] = p;                                                                       \
        }                                                                                 \
        low_key += 0x9e3779b9u;                                                           \
        high_key += 0xbb67ae85u;                                                          \
      }                                                                                   \
      for (int g = 0; g < kGroups; g++) {                                                 \
        lanes front = (a[g] & low) | b[g] << 32, back = (c[g] & low) | d[g] << 32;        \
        for (int i = 0; i < kLanes; i++, out += 4) {                                      \
          out[0] = (uint32_t)front[i];                                                    \
          out[1] = (uint32_t)(front[i] >> 32);                                            \
          out[2] = (uint32_t)back[i];                                                     \
          out[3] = (uint32_t)(back[i] >> 32);                                             \
        }                                                                                 \
      }                                                                                   \
    }                                                                                     \
  }

#if defined(__x86_64__)

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f")))
#define PRODUCT_128(x, y) ((lanes)_mm_mul_epu32((__m128i)(x), (__m128i)(y)))
#define PRODUCT_256(x, y) ((lanes)_mm256_mul_epu32((__m256i)(x), (__m256i)(y)))
#define PRODUCT_512(x, y) ((lanes)_mm512_mul_epu32((__m512i)(x), (__m512i)(y)))

PHILOX(philox_128, , 16, PRODUCT_128)
PHILOX(philox_256, AVX2, 32, PRODUCT_256)
PHILOX(philox_512, AVX512, 64, PRODUCT_512)

static void philox(uint32_t* out, int64_t blocks, uint64_t key, uint64_t block, uint64_t round) {
  if (random_tier > 1 && blocks > 16)
    philox_512(out, blocks, key, block, round);
  else if (random_tier > 0 && blocks > 8)
    philox_256(out, blocks, key, block, round);
  else
    philox_128(out, blocks, key, block, round);
}

#else

#define PRODUCT(x, y) (((x) & low) * (y))

PHILOX(philox, , 16, PRODUCT)

#endif

void random_philox(uint32_t* out, int64_t blocks, uint64_t key, uint64_t block, uint64_t round) {
  uint32_t last[4 * kMost];
  int64_t rest = blocks % kMost, whole = blocks - rest;
  philox(out, whole, key, block, round);
  if (rest > 0) {
    philox(last, rest, key, block + (uint64_t)whole, round);
    memcpy(out + 4 * whole, last, (size_t)rest * 4 * sizeof *last);
  }
}
