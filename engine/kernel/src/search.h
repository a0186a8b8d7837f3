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
  for (; n > 1; n -= n / 2) base += -(int64_t)before(base + n / 2 - 1) & (n / 2);
  return base + before(base);
}

constexpr int kSearches = 16;  // that run side by side, so that their loads overlap

// kSearches partition points; `before` also takes the number of the search. Each halves its range at
// the middle element, so that the results are those of the textbook's search even where NaN or a
// lack of order makes `before` true again.
template <class F>
LT_INLINE void partition_points(int64_t *base, int64_t n, F before) {
  int64_t size[kSearches];
  for (int k = 0; k < kSearches; k++) base[k] = 0, size[k] = n;
  for (int64_t longest = n; longest > 0; longest /= 2) {
    for (int k = 0; k < kSearches; k++) {
      const int64_t half = size[k] / 2, middle = base[k] + half;
      const bool after = (size[k] > 0) & before(middle < n ? middle : n - 1, k);
      base[k] = after ? middle + 1 : base[k];
      size[k] = after ? size[k] - half - 1 : half;
    }
  }
}

// Searches for count keys in turn: found(i, position) for each.
template <class K, class Key, class F, class Found>
LT_INLINE void search_all(int64_t count, int64_t n, Key key, F before, Found found) {
  K keys[kSearches] = {};
  int64_t at[kSearches];
  for (int64_t i = 0; i < count; i += kSearches) {
    const int m = count - i < kSearches ? (int)(count - i) : kSearches;
    for (int k = 0; k < m; k++) keys[k] = key(i + k);
    partition_points(at, n, [&](int64_t j, int k) { return before(j, keys[k]); });
    for (int k = 0; k < m; k++) found(i + k, at[k]);
  }
}

}  // namespace
}  // namespace lt
#endif
