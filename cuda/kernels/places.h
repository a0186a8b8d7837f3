// Replaces the header of the same name in engine/kernel/src: each index is loaded once, checked and
// used.
#ifndef LIBTENSOR_CUDA_PLACES_H
#define LIBTENSOR_CUDA_PLACES_H
#define LIBTENSOR_KERNEL_PLACES_H

#include "../../engine/kernel/place_params.h"

namespace lt {
namespace {

// An index out of range that a kernel has found, in pinned memory of the host, which reads it after
// it has waited for a stream (index_checks.go). check identifies the error; 0 is none.
struct index_fault {
  int64_t check, index;
};

// Reports an index out of range, unless the host has yet to read another one. Memory of the host is
// accessed only here. Without a check the call has reported it by another kernel.
LT_INLINE void report_index(uint64_t fault, int64_t check, int64_t index) {
  if (!check) return;
  auto *to = (volatile index_fault *)LT_PLACE(fault, sizeof(index_fault), true);
  if (to->check) return;
  to->index = index;
  to->check = check;
}

class Places {
  lt_place_params *params;

 public:
  LT_INLINE explicit Places(const void *p) : params((lt_place_params *)p) {}

  LT_INLINE bool failed() const { return false; }

  LT_INLINE int64_t operator()(const char *index) const {
    const int64_t i = *(const volatile int64_t *)index;
    const int64_t at = i + (i < 0 ? params->wrap : 0);
    if ((uint64_t)at < (uint64_t)params->size) return at * params->step;
    params->bad = i;
    params->failed = 1;
    return -1;
  }

  template <class T, class F>
  LT_INLINE void each(const char *index, int64_t, int64_t, F f) const {
    const int64_t at = (*this)(index);
    if (at >= 0) f(0, at);
  }
};

}  // namespace
}  // namespace lt
#endif
