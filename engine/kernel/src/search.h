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

constexpr int kSearches = 16;  // interleaved, so that their loads overlap

// kSearches partition points; `before` also takes the number of the search.
template <class F>
LT_INLINE void partition_points(int64_t *base, int64_t n, F before) {
  for (int k = 0; k < kSearches; k++) base[k] = 0;
  if (n == 0) return;
  for (; n > 1; n -= n / 2) {
    const int64_t half = n / 2;
    for (int k = 0; k < kSearches; k++)
      base[k] = before(base[k] + half - 1, k) ? base[k] + half : base[k];
  }
  for (int k = 0; k < kSearches; k++) base[k] += before(base[k], k);
}

// The same where `before` may turn true again for lack of order: every search halves its
// range at the middle element, for the results of the textbook's search. Ranges differ by one at
// most, so that none is empty before the last step.
template <class F>
LT_INLINE void bisections(int64_t *base, int64_t n, F before) {
  int64_t size[kSearches];
  for (int k = 0; k < kSearches; k++) base[k] = 0, size[k] = n;
  if (n == 0) return;
  for (; n > 1; n >>= 1) {
    for (int k = 0; k < kSearches; k++) {
      const int64_t half = size[k] >> 1, after = -(int64_t)before(base[k] + half, k);
      base[k] += (half + 1) & after;
      size[k] = half + (after & ((size[k] & 1) - 1));
    }
  }
  for (int k = 0; k < kSearches; k++) {
    const int64_t some = -(int64_t)(size[k] != 0);
    base[k] += some & (int64_t)before(base[k] & some, k);
  }
}

// Searches for count keys in turn: calls found(i, position) for each. `ordered`: `before` does not
// become true again.
template <class K, class Key, class F, class Found>
LT_INLINE void search_all(int64_t count, int64_t n, Key key, F before, Found found, bool ordered) {
  K keys[kSearches] = {};
  int64_t at[kSearches];
  for (int64_t i = 0; i < count; i += kSearches) {
    const int m = count - i < kSearches ? (int)(count - i) : kSearches;
    for (int k = 0; k < m; k++) keys[k] = key(i + k);
    const auto before_key = [&](int64_t j, int k) { return before(j, keys[k]); };
    if (ordered)
      partition_points(at, n, before_key);
    else
      bisections(at, n, before_key);
    for (int k = 0; k < m; k++) found(i + k, at[k]);
  }
}

}  // namespace
}  // namespace lt
#endif
