// Philox4x32-10, the generator that counts (docs/random.md).
#ifndef LIBTENSOR_CUDA_PHILOX_H
#define LIBTENSOR_CUDA_PHILOX_H

#include "numbers.h"

namespace lt {
namespace {

// The place of a block of four words.
struct Philox {
  uint64_t seed, block, round;
  LT_INLINE void block_to(uint32_t *x) const {
    uint32_t low = uint32_t(seed), high = uint32_t(seed >> 32);
    x[0] = uint32_t(block), x[1] = uint32_t(block >> 32);
    x[2] = uint32_t(round), x[3] = uint32_t(round >> 32);
    for (int turn = 0; turn < 10; turn++) {
      const uint64_t p = uint64_t(x[0]) * 0xd2511f53u, q = uint64_t(x[2]) * 0xcd9e8d57u;
      x[0] = uint32_t(q >> 32) ^ x[1] ^ low;
      x[1] = uint32_t(q);
      x[2] = uint32_t(p >> 32) ^ x[3] ^ high;
      x[3] = uint32_t(p);
      low += 0x9e3779b9u;
      high += 0xbb67ae85u;
    }
  }
};

}  // namespace
}  // namespace lt
#endif
