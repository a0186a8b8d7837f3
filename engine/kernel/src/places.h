// The targets of an index operand: each index is loaded once and checked when it is used, because
// another thread may change it after an earlier check.
#ifndef LIBTENSOR_KERNEL_PLACES_H
#define LIBTENSOR_KERNEL_PLACES_H

#include "../place_params.h"
#include "prelude.h"

namespace lt {
namespace {

class Places {
  lt_place_params *params;
  int64_t step, size, wrap;

  LT_INLINE int64_t wrapped(int64_t index) const { return index + (index < 0 ? wrap : 0); }

  void fail(int64_t index) const {
    params->bad = index;
    params->failed = 1;
  }

 public:
  LT_INLINE explicit Places(const void *p)
      : params((lt_place_params *)p), step(params->step), size(params->size), wrap(params->wrap) {}

  LT_INLINE bool failed() const { return params->failed != 0; }

  // The bytes from the indexed operand's start to the element that an index names; -1 where it
  // names none.
  LT_INLINE int64_t operator()(const char *index) const {
    const int64_t i = *(const volatile int64_t *)index;
    const int64_t at = wrapped(i);
    if ((uint64_t)at < (uint64_t)size) return at * step;
    fail(i);
    return -1;
  }

  // Calls f(i, bytes) for n indices with a stride of apart bytes, and for no element of a block
  // with an index out of range. A block is copied, so that the checked indices are those used. T is
  // the dtype of the indexed elements; their stride is mostly their size.
  template <class T, class F>
  LT_INLINE void each(const char *index, int64_t apart, int64_t n, F f) const {
    if (params->checked) {
      for (int64_t i = 0; i < n; i++) f(i, *(const int64_t *)(index + i * apart) * step);
      return;
    }
    int64_t start = 0;
    for (; start + kBlock <= n; start += kBlock)
      if (!few<T>(index, apart, start, kBlock, f)) return;
    if (start < n) few<T>(index, apart, start, n - start, f);
  }

 private:
  static constexpr int64_t kBlock = 64;

  // Up to kBlock indices from number start; whether there were elements at all of them.
  template <class T, class F>
  LT_INLINE bool few(const char *index, int64_t apart, int64_t start, int64_t n, F f) const {
    int64_t block[kBlock];
    uint64_t outside = 0;  // the highest bit is set if an index was below 0 or above size - 1
    const auto take = [&](int64_t i, int64_t named) {
      const int64_t at = wrapped(named);
      outside |= (uint64_t)at | ((uint64_t)size - 1 - (uint64_t)at);
      block[i] = at;
    };
    const char *from = index + start * apart;
    if (apart == 8)
      for (int64_t i = 0; i < n; i++) take(i, ((const int64_t *)from)[i]);
    else
      for (int64_t i = 0; i < n; i++) take(i, *(const int64_t *)(from + i * apart));
    // From here on the block counts: without this the compiler might load the indices again.
    __asm__ volatile("" : : "r"(block) : "memory");
    if (outside >> 63) {
      const int64_t *bad = block;
      while ((uint64_t)*bad < (uint64_t)size) bad++;
      fail(*bad < 0 ? *bad - wrap : *bad);
      return false;
    }
    if (step == (int64_t)sizeof(T))
      for (int64_t i = 0; i < n; i++) f(start + i, block[i] * (int64_t)sizeof(T));
    else
      for (int64_t i = 0; i < n; i++) f(start + i, block[i] * step);
    return true;
  }
};

}  // namespace
}  // namespace lt
#endif
