// Reading of clocks.
#ifndef LIBTENSOR_CAPI_CLOCK_H
#define LIBTENSOR_CAPI_CLOCK_H

#include <stdint.h>
#include <time.h>

// Returns the time of a clock in nanoseconds.
static inline int64_t lt_read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
