// Binary search without branches on the data, after P.-V. Khuong and P. Morin, Array Layouts for
// Comparison-Based Searching (2017).
#ifndef LIBTENSOR_KERNEL_SRC_SEARCH_H
#define LIBTENSOR_KERNEL_SRC_SEARCH_H

#include "prelude.h"

namespace lt {
namespace {

// The number of positions in [0, n) before which `before` is true; it must not turn true again.
template <class F>
LT_INLINE int64_t partition_point(int64_t n, F before) {
  if (n == 0) return 0;
  int64_t base = 0;
  while (n > 1) {
    const int64_t half = n / 2;
    base += before(base + half - 1) ? half : 0;
    n -= half;
  }
  return base + (before(base) ? 1 : 0);
}

}  // namespace
}  // namespace lt
#endif
