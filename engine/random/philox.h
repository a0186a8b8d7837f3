// Philox4x32-10, the counter-based generator of J. Salmon, M. Moraes, R. Dror and D. Shaw,
// "Parallel random numbers: as easy as 1, 2, 3" (2011).
#ifndef RANDOM_PHILOX_H
#define RANDOM_PHILOX_H

#include <stdint.h>

// The blocks of 4 words of the counters (block, round), (block + 1, round), and so on; both are 64
// bits, the low word first.
void random_philox(uint32_t* out, int64_t blocks, uint64_t key, uint64_t block, uint64_t round);

#endif
