#include "portable.h"

#include <math.h>

#include "elementary.h"
#include "tiered.h"

BODY random_portable_log_body(double* v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i] = logarithm(v[i] < 0x1p-54 ? 0x1p-54 : v[i]);
}
TIERED(random_portable_log, (double* v, int64_t n), (v, n))

BODY random_portable_log1p_body(double* v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i] = logarithm(1.0 - v[i]);
}
TIERED(random_portable_log1p, (double* v, int64_t n), (v, n))

BODY random_portable_exp_body(double* v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i] = exponential(v[i]);
}
TIERED(random_portable_exp, (double* v, int64_t n), (v, n))

BODY random_portable_tan_body(double* v, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double s, c;
    sin_cos_turns(0.5 * v[i] - 0.25, &s, &c);
    v[i] = s / c;
  }
}
TIERED(random_portable_tan, (double* v, int64_t n), (v, n))

enum { kBlock = 16, kHalf = kBlock / 2 };

// sqrt may set errno, which keeps compilers from vectorizing it.
static inline void roots(double* v) {
#if defined(__x86_64__)
  for (int i = 0; i < kHalf; i += 2) _mm_storeu_pd(v + i, _mm_sqrt_pd(_mm_loadu_pd(v + i)));
#else
  for (int i = 0; i < kHalf; i++) v[i] = sqrt(v[i]);
#endif
}

BODY random_portable_box_muller_body(double* v, int64_t n) {
  for (double* end = v + n; v < end; v += kBlock) {
    double radius[kHalf];
    for (int i = 0; i < kHalf; i++) radius[i] = -2.0 * logarithm(1.0 - v[i]);
    roots(radius);
    for (int i = 0; i < kHalf; i++) {
      double s, c;
      sin_cos_turns(v[i + kHalf], &s, &c);
      v[i] = radius[i] * c;
      v[i + kHalf] = radius[i] * s;
    }
  }
}
TIERED(random_portable_box_muller, (double* v, int64_t n), (v, n))
