// The functions behind portable.h, for kernels of every device.
#ifndef RANDOM_ELEMENTARY_H
#define RANDOM_ELEMENTARY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t bits(double x) {
  uint64_t i;
  memcpy(&i, &x, sizeof i);
  return i;
}

static inline double from_bits(uint64_t i) {
  double x;
  memcpy(&x, &i, sizeof x);
  return x;
}

// Adding it rounds to an integer, whose bits are then the lowest ones.
static const double kRound = 0x1.8p52;

// log(2) in two parts, the first of which has zeros for exponents to multiply.
static const double kLog2High = 0x1.62e42fefap-1, kLog2Low = 0x1.cf79abc9e3b3ap-40;

// x = 2^e m with m in [sqrt(1/2), sqrt(2)), and log(m) = 2 atanh(s) with s = (m - 1) / (m + 1),
// whose series in s^2 < 0.0295 ends where it no longer counts.
static inline double logarithm(double x) {
  const uint64_t root = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
  uint64_t i = bits(x) - root + one;
  double e = from_bits(0x4330000000000000 | i >> 52) - (0x1p52 + 1023);
  double f = from_bits((i & 0x000fffffffffffff) + root) - 1.0;
  double s = f / (2.0 + f);
  double z = s * s;
  double sum = 1.0 / 23;
  sum = fma(sum, z, 1.0 / 21);
  sum = fma(sum, z, 1.0 / 19);
  sum = fma(sum, z, 1.0 / 17);
  sum = fma(sum, z, 1.0 / 15);
  sum = fma(sum, z, 1.0 / 13);
  sum = fma(sum, z, 1.0 / 11);
  sum = fma(sum, z, 1.0 / 9);
  sum = fma(sum, z, 1.0 / 7);
  sum = fma(sum, z, 1.0 / 5);
  sum = fma(sum, z, 1.0 / 3);
  double rest = fma(e, kLog2Low, s * (2.0 * z * sum - f));
  return fma(e, kLog2High, f + rest);
}

// exp(x) = 2^n exp(r) with |r| <= log(2) / 2. The power is applied as two factors, since n may be
// beyond the exponents of a double.
static inline double exponential(double x) {
  x = x < -760 ? -760 : x;
  x = x > 760 ? 760 : x;
  double n = (x * 1.4426950408889634 + kRound) - kRound;
  double r = fma(n, -kLog2Low, fma(n, -kLog2High, x));
  double sum = 1.0 / 6227020800;
  sum = fma(sum, r, 1.0 / 479001600);
  sum = fma(sum, r, 1.0 / 39916800);
  sum = fma(sum, r, 1.0 / 3628800);
  sum = fma(sum, r, 1.0 / 362880);
  sum = fma(sum, r, 1.0 / 40320);
  sum = fma(sum, r, 1.0 / 5040);
  sum = fma(sum, r, 1.0 / 720);
  sum = fma(sum, r, 1.0 / 120);
  sum = fma(sum, r, 1.0 / 24);
  sum = fma(sum, r, 1.0 / 6);
  sum = fma(sum, r, 0.5);
  sum = fma(sum, r, 1.0);
  sum = fma(sum, r, 1.0);
  double half = (n * 0.5 + kRound) - kRound;
  const uint64_t one = 0x3ff0000000000000;
  return sum * from_bits((bits(half + kRound) << 52) + one) *
         from_bits((bits((n - half) + kRound) << 52) + one);
}

// Sine and cosine of 2 pi u, |u| <= 1: the nearest quarter turn, and a rest of at most an eighth
// either way, which is exact.
static inline void sin_cos_turns(double u, double* sine, double* cosine) {
  double quarters = 4.0 * u + kRound;
  uint64_t j = bits(quarters);
  double x = (u - (quarters - kRound) * 0.25) * 6.283185307179586;
  double z = x * x;
  double s = 1.0 / 355687428096000;
  s = fma(s, z, -1.0 / 1307674368000);
  s = fma(s, z, 1.0 / 6227020800);
  s = fma(s, z, -1.0 / 39916800);
  s = fma(s, z, 1.0 / 362880);
  s = fma(s, z, -1.0 / 5040);
  s = fma(s, z, 1.0 / 120);
  s = fma(s, z, -1.0 / 6);
  s = fma(s * z, x, x);
  double c = 1.0 / 20922789888000;
  c = fma(c, z, -1.0 / 87178291200);
  c = fma(c, z, 1.0 / 479001600);
  c = fma(c, z, -1.0 / 3628800);
  c = fma(c, z, 1.0 / 40320);
  c = fma(c, z, -1.0 / 720);
  c = fma(c, z, 1.0 / 24);
  c = fma(c, z, -0.5);
  c = fma(c, z, 1.0);
  uint64_t swap = -(j & 1);
  *sine = from_bits(((bits(s) & ~swap) | (bits(c) & swap)) ^ (j & 2) << 62);
  *cosine = from_bits(((bits(c) & ~swap) | (bits(s) & swap)) ^ ((j + 1) & 2) << 62);
}

#endif
