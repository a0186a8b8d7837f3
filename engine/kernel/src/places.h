// Where an index operand points: each index is loaded once and checked as it is used, because another
// thread may write to it after it was checked before.
#ifndef LIBTENSOR_KERNEL_PLACES_H
#define LIBTENSOR_KERNEL_PLACES_H

#include "prelude.h"

namespace lt {
namespace {

// The parameters of a kernel with an index operand: the bytes from one position of the indexed
// operand to the next, the number of positions, and an index that is none of them, with whether
// there is one. Such an index ends the run.
struct place_params {
  int64_t step, size, bad, failed;
};

class Places {
  place_params *params;
  int64_t step, size;

 public:
  LT_INLINE explicit Places(const void *p)
      : params((place_params *)p), step(params->step), size(params->size) {}

  LT_INLINE bool failed() const { return params->failed != 0; }

  // The bytes from the indexed operand's start to the element that an index names, counted from the
  // end where it is negative; -1 where it names none.
  LT_INLINE int64_t operator()(const char *index) const {
    const int64_t i = *(const volatile int64_t *)index;
    const int64_t at = i < 0 ? i + size : i;
    if ((uint64_t)at < (uint64_t)size) return at * step;
    params->bad = i;
    params->failed = 1;
    return -1;
  }
};

}  // namespace
}  // namespace lt
#endif
