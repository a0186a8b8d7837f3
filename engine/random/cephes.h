// Elementary functions of float32 behind the normal numbers of float32, for kernels of every
// device.
#ifndef RANDOM_CEPHES_H
#define RANDOM_CEPHES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline int32_t float_bits(float x) {
  int32_t i;
  memcpy(&i, &x, sizeof i);
  return i;
}

static inline float float_from_bits(int32_t i) {
  float x;
  memcpy(&x, &i, sizeof x);
  return x;
}

// Natural logarithm of a normal x in (0, 1]: Cephes logf (S. Moshier), x = 2^e m with m in
// [sqrt(1/2), sqrt(2)).
static inline float log_unit(float x) {
  int32_t i = float_bits(x);
  int32_t exponent = (i >> 23) - 126;
  float m = float_from_bits((i & 0x007fffff) | 0x3f000000);
  int32_t low = -(m < 0.707106781186547524f);
  float e = (float)(exponent + low);
  x = (m - 1.0f) + float_from_bits(float_bits(m) & low);
  float z = x * x;
  float y = fmaf(7.0376836292e-2f, x, -1.1514610310e-1f);
  y = fmaf(y, x, 1.1676998740e-1f);
  y = fmaf(y, x, -1.2420140846e-1f);
  y = fmaf(y, x, 1.4249322787e-1f);
  y = fmaf(y, x, -1.6668057665e-1f);
  y = fmaf(y, x, 2.0000714765e-1f);
  y = fmaf(y, x, -2.4999993993e-1f);
  y = fmaf(y, x, 3.3333331174e-1f);
  y = fmaf(y * x, z, e * -2.12194440e-4f);
  y = fmaf(-0.5f, z, y);
  return fmaf(e, 0.693359375f, x + y);
}

// Sine and cosine of x in [0, 2 pi]: Cephes sinf and cosf, octant j and a remainder within pi/4 of
// zero.
static inline void sin_cos(float x, float* s, float* c) {
  int32_t j = ((int32_t)(x * 1.27323954473516f) + 1) & ~1;
  float y = (float)j;
  x = fmaf(y, -0.78515625f, x);
  x = fmaf(y, -2.4187564849853515625e-4f, x);
  x = fmaf(y, -3.77489497744594108e-8f, x);
  float z = x * x;
  float cosine = fmaf(2.443315711809948e-5f, z, -1.388731625493765e-3f);
  cosine = fmaf(cosine, z, 4.166664568298827e-2f);
  cosine = fmaf(cosine * z, z, -(z * 0.5f)) + 1.0f;
  float sine = fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f);
  sine = fmaf(sine, z, -1.6666654611e-1f);
  sine = fmaf(sine * z, x, x);
  int32_t swap = -((j >> 1) & 1);
  int32_t si = (float_bits(sine) & ~swap) | (float_bits(cosine) & swap);
  int32_t ci = (float_bits(cosine) & ~swap) | (float_bits(sine) & swap);
  // Adding zero keeps a zero positive before its sign is set.
  *s = float_from_bits(float_bits(float_from_bits(si) + 0.0f) ^ (int32_t)((uint32_t)(j & 4) << 29));
  *c = float_from_bits(float_bits(float_from_bits(ci) + 0.0f) ^
                       (int32_t)((uint32_t)(~(j - 2) & 4) << 29));
}

#endif
