#include "transform.h"

#include <math.h>
#include <string.h>

#include "cephes.h"
#include "tiered.h"

static const double kPi = 3.14159265358979323846;

// Matsumoto and Nishimura, "Mersenne Twister" (1998), with the 2002 initialisation.
enum { kWords = 624, kShift = 397 };

static inline uint32_t twisted(uint32_t u, uint32_t v) {
  return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ (-(v & 1u) & 0x9908b0dfu);
}

BODY random_twist_body(uint32_t* p) {
  for (int i = 0; i < kWords - kShift; i++) p[i] = p[i + kShift] ^ twisted(p[i], p[i + 1]);
  for (int i = kWords - kShift; i < kWords - 1; i++)
    p[i] = p[i + kShift - kWords] ^ twisted(p[i], p[i + 1]);
  p[kWords - 1] = p[kShift - 1] ^ twisted(p[kWords - 1], p[0]);
}
TIERED(random_twist, (uint32_t* state), (state))

BODY random_temper_body(const uint32_t* restrict state, uint32_t* restrict out) {
  for (int i = 0; i < kWords; i++) {
    uint32_t y = state[i];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    out[i] = y ^ (y >> 18);
  }
}
TIERED(random_temper, (const uint32_t* state, uint32_t* out), (state, out))

BODY random_unit_f32_body(const uint32_t* restrict words, float* restrict v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i] = (float)(int32_t)(words[i] & 0xffffff) * 0x1p-24f;
}
TIERED(random_unit_f32, (const uint32_t* words, float* v, int64_t n), (words, v, n))

// The halves become 2^52 + low and 2^84 + 2^32 high by their bits alone, since AVX2 converts no
// 64-bit integers.
BODY random_unit_f64_body(const uint32_t* restrict words, double* restrict v, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint64_t low = 0x4330000000000000u | words[2 * i + 1];
    uint64_t high = 0x4530000000000000u | (words[2 * i] & 0x1fffff);
    double x, y;
    memcpy(&x, &low, sizeof x);
    memcpy(&y, &high, sizeof y);
    v[i] = ((y - 0x1p84) + (x - 0x1p52)) * 0x1p-53;
  }
}
TIERED(random_unit_f64, (const uint32_t* words, double* v, int64_t n), (words, v, n))

BODY random_scale_f32_body(float* v, int64_t n, float from, float to) {
  for (int64_t i = 0; i < n; i++) {
    float x = fmaf(v[i], to - from, from);
    v[i] = x == to ? from : x;
  }
}
TIERED(random_scale_f32, (float* v, int64_t n, float from, float to), (v, n, from, to))

BODY random_scale_f64_body(double* v, int64_t n, double from, double to) {
  for (int64_t i = 0; i < n; i++) {
    double x = fma(v[i], to - from, from);
    v[i] = x == to ? from : x;
  }
}
TIERED(random_scale_f64, (double* v, int64_t n, double from, double to), (v, n, from, to))

enum { kBlock = 16, kHalf = kBlock / 2 };

// Square roots of kHalf values. sqrtf may set errno, which keeps compilers from vectorizing it.
static inline void roots(float* v) {
#if defined(__x86_64__)
  for (int i = 0; i < kHalf; i += 4) _mm_storeu_ps(v + i, _mm_sqrt_ps(_mm_loadu_ps(v + i)));
#else
  for (int i = 0; i < kHalf; i++) v[i] = sqrtf(v[i]);
#endif
}

BODY random_box_muller_f32_body(float* v, int64_t n, float mean, float std) {
  const float two_pi = (float)(2 * kPi);
  for (float* end = v + n; v < end; v += kBlock) {
    float radius[kHalf];
    for (int i = 0; i < kHalf; i++) radius[i] = -2.0f * log_unit(1.0f - v[i]);
    roots(radius);
    for (int i = 0; i < kHalf; i++) {
      float s, c;
      sin_cos(two_pi * v[i + kHalf], &s, &c);
      v[i] = fmaf(radius[i] * c, std, mean);
      v[i + kHalf] = fmaf(radius[i] * s, std, mean);
    }
  }
}
TIERED(random_box_muller_f32, (float* v, int64_t n, float mean, float std), (v, n, mean, std))

void random_box_muller_f64(double* v, int64_t n) {
  for (double* end = v + n; v < end; v += kBlock) {
    for (int i = 0; i < kHalf; i++) {
      double radius = sqrt(-2.0 * log(1.0 - v[i]));
      double theta = 2.0 * kPi * v[i + kHalf];
      v[i] = radius * cos(theta);
      v[i + kHalf] = radius * sin(theta);
    }
  }
}

void random_polar(double* v, int64_t pairs) {
  for (double* end = v + 2 * pairs; v < end; v += 2) {
    double theta = 2.0 * kPi * v[0];
    double radius = sqrt(-2.0 * log1p(-v[1]));
    v[0] = radius * cos(theta);
    v[1] = radius * sin(theta);
  }
}

void random_log(double* v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i] = log(v[i]);
}

void random_log1p(double* v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i] = log1p(-v[i]);
}

double random_pow(double x, double y) { return pow(x, y); }

void random_exp(double* v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i] = exp(v[i]);
}

void random_tan(double* v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i] = tan(kPi * (v[i] - 0.5));
}

// T: the type of weights, S: its suffix.
#define CATEGORIES(T, S)                                                                          \
  BODY random_cumulate_##S##_body(T* restrict w, int64_t n, double* sum) {                        \
    int good = 1;                                                                                 \
    T total = 0;                                                                                  \
    for (int64_t i = 0; i < n; i++) {                                                             \
      good &= w[i] >= 0;                                                                          \
      w[i] = total += w[i];                                                                       \
    }                                                                                             \
    for (int64_t i = 0; i < n; i++) w[i] /= total;                                                \
    w[n - 1] = 1;                                                                                 \
    *sum = good ? total : NAN;                                                                    \
  }                                                                                               \
  TIERED(random_cumulate_##S, (T * w, int64_t n, double* sum), (w, n, sum))                       \
                                                                                                  \
  void random_positions_##S(const T* c, int64_t n, const double* u, int64_t* at, int64_t k) {     \
    for (int64_t i = 0; i < k; i++) {                                                             \
      const T* base = c;                                                                          \
      for (int64_t m = n; m > 1; m -= m / 2) base = base[m / 2 - 1] < u[i] ? base + m / 2 : base; \
      at[i] = base - c;                                                                           \
    }                                                                                             \
  }
CATEGORIES(float, f32)
CATEGORIES(double, f64)
