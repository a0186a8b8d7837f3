// Prints what one core of this machine reaches, as the best of several runs: GFLOP/s of float32 and
// float64 multiply-adds in registers, and GB/s of a triad, a[i] = b[i] + s * c[i], over memory
// beyond the caches.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 15, SUMS = 12, STEPS = 200000, LENGTH = 1 << 24 };

// The widest vectors of the processor that this is compiled for.
#if defined __AVX512F__
enum { BYTES = 64 };
#elif defined __AVX__
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif

typedef float floats __attribute__((vector_size(BYTES)));
typedef double doubles __attribute__((vector_size(BYTES)));

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Twelve independent sums hide the latency of two multiply-add units; the empty asm keeps each sum
// in a register.
#define MULTIPLY_ADDS(name, vector)                                              \
  static double name(void) {                                                     \
    const size_t lanes = sizeof(vector) / sizeof((vector){0}[0]);                \
    double best = 0;                                                             \
    for (int run = 0; run < RUNS; run++) {                                       \
      vector sums[SUMS] = {0}, x = sums[0] + 1, y = sums[0] + 1;                 \
      __asm__ volatile("" : "+x"(x), "+x"(y));                                   \
      const double start = now();                                                \
      for (int i = 0; i < STEPS; i++)                                            \
        for (int k = 0; k < SUMS; k++) {                                         \
          sums[k] += x * y;                                                      \
          __asm__ volatile("" : "+x"(sums[k]));                                  \
        }                                                                        \
      const double rate = 2e-9 * STEPS * SUMS * (double)lanes / (now() - start); \
      best = rate > best ? rate : best;                                          \
    }                                                                            \
    return best;                                                                 \
  }
MULTIPLY_ADDS(float32, floats)
MULTIPLY_ADDS(float64, doubles)

static double triad(void) {
  float *a = malloc(3 * LENGTH * sizeof *a), *b = a + LENGTH, *c = b + LENGTH;
  double best = 0;
  if (!a) exit(1);
  for (int i = 0; i < 3 * LENGTH; i++) a[i] = 1;
  for (int run = 0; run < RUNS; run++) {
    const double start = now();
    for (int i = 0; i < LENGTH; i++) a[i] = b[i] + 3 * c[i];
    __asm__ volatile("" : : "r"(a) : "memory");
    const double rate = 12e-9 * LENGTH / (now() - start);
    best = rate > best ? rate : best;
  }
  free(a);
  return best;
}

int main(void) { printf("%.2f %.2f %.2f\n", float32(), float64(), triad()); }
