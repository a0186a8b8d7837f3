// Elementary functions behind the fills of counter-based generators. They use only additions,
// products, quotients, square roots and fused multiply-adds in a fixed order, so that all
// processors and all C libraries return the same bits; within 3 units in the last place.
#ifndef RANDOM_PORTABLE_H
#define RANDOM_PORTABLE_H

#include <stdint.h>

void random_portable_log(double* v, int64_t n);    // log(v) of v in [0, 1], where 0 counts as 2^-54
void random_portable_log1p(double* v, int64_t n);  // log(1 - v) of multiples of 2^-53 in [0, 1)
void random_portable_exp(double* v, int64_t n);    // exp(v)
void random_portable_tan(double* v, int64_t n);    // tan(pi (v - 1/2)) of v in [0, 1)

// Standard normals by Box-Muller over blocks of 16 uniforms in [0, 1): 8 radii, then 8 angles. n is
// a multiple of 16.
void random_portable_box_muller(double* v, int64_t n);

#endif
