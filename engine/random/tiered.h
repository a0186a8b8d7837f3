// Loops that are built for several kinds of processors.
#ifndef RANDOM_TIERED_H
#define RANDOM_TIERED_H

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// The instructions in use: 0 those of every processor, 1 AVX2 and FMA, 2 AVX-512 too.
extern int random_tier;

// A loop that vectorizes. On x86-64 it is built twice from one body; elsewhere the baseline has
// fused multiply-add already.
#if defined(__x86_64__)
#define TIERED(name, params, args)                                                         \
  __attribute__((target("avx2,fma"))) static void name##_avx2 params { name##_body args; } \
  static void name##_base params { name##_body args; }                                     \
  void name params {                                                                       \
    if (random_tier > 0)                                                                   \
      name##_avx2 args;                                                                    \
    else                                                                                   \
      name##_base args;                                                                    \
  }
#else
#define TIERED(name, params, args) \
  void name params { name##_body args; }
#endif

#define BODY static inline __attribute__((always_inline)) void

#endif
