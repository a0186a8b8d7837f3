// Selection by rank: partial orders whose choice among equal elements is fixed, so that indices are
// the same everywhere. Quickselect after C. A. R. Hoare, Algorithm 65, and W. H. Press et al.,
// Numerical Recipes 8.5; introsort and introselect after D. R. Musser, Introspective Sorting and
// Selection Algorithms (1997), with heapsort after Floyd and Williams.
#ifndef LIBTENSOR_KERNEL_SRC_SELECT_H
#define LIBTENSOR_KERNEL_SRC_SELECT_H

#include "sort.h"

namespace lt {
namespace {

template <class E>
LT_INLINE void exchange(E &a, E &b) {
  const E x = a;
  a = b;
  b = x;
}

// Puts x into the heap of n elements (largest first) whose position `hole` is free: the hole sinks
// to a leaf and x rises.
template <class E>
void heap_put(E *e, int64_t hole, int64_t n, E x) {
  const int64_t top = hole;
  for (int64_t child; (child = 2 * hole + 1) < n; hole = child) {
    if (child + 1 < n && !(e[child + 1].key < e[child].key)) child++;
    e[hole] = e[child];
  }
  for (int64_t parent; hole > top && e[parent = (hole - 1) / 2].key < x.key; hole = parent)
    e[hole] = e[parent];
  e[hole] = x;
}

// The k smallest of n elements as a heap at the front.
template <class E>
void heap_select(E *e, int64_t k, int64_t n) {
  for (int64_t i = k / 2; i-- > 0;) heap_put(e, i, k, e[i]);
  for (int64_t i = k; i < n; i++) {
    if (!(e[i].key < e[0].key)) continue;
    const E x = e[i];
    e[i] = e[0];
    heap_put(e, 0, k, x);
  }
}

// The k smallest of n elements in order at the front.
template <class E>
void partial_sort(E *e, int64_t k, int64_t n) {
  heap_select(e, k, n);
  for (int64_t i = k - 1; i > 0; i--) {
    const E x = e[i];
    e[i] = e[0];
    heap_put(e, 0, i, x);
  }
}

// Splits n > 3 elements at the median of the second, middle and last, and gives where the larger
// part begins.
template <class E>
int64_t split(E *e, int64_t n) {
  const int64_t a = 1, b = n / 2, c = n - 1;
  const bool ab = e[a].key < e[b].key, bc = e[b].key < e[c].key, ac = e[a].key < e[c].key;
  exchange(e[0], ab ? (bc ? e[b] : ac ? e[c] : e[a]) : (ac ? e[a] : bc ? e[c] : e[b]));
  const auto pivot = e[0].key;
  int64_t i = 1, j = n;
  for (;; i++) {
    while (e[i].key < pivot) i++;
    do j--;
    while (pivot < e[j].key);
    if (i >= j) return i;
    exchange(e[i], e[j]);
  }
}

// How often a range may be split before the pivots count as bad.
LT_INLINE int splits(int64_t n) { return 2 * (63 - __builtin_clzll((uint64_t)n)); }

// Moves the element of rank k to position k, nothing larger before it.
template <class E>
void introselect(E *e, int64_t k, int64_t n) {
  for (int depth = splits(n); n > 3; depth--) {
    if (depth == 0) {
      heap_select(e, k + 1, n);
      exchange(e[0], e[k]);
      return;
    }
    const int64_t at = split(e, n);
    if (at <= k) {
      e += at;
      k -= at;
      n -= at;
    } else {
      n = at;
    }
  }
  insertion(e, n);
}

template <class E>
void introsort_coarse(E *e, int64_t n, int depth) {
  for (; n > 16; depth--) {
    if (depth == 0) return partial_sort(e, n, n);
    const int64_t at = split(e, n);
    introsort_coarse(e + at, n - at, depth - 1);
    n = at;
  }
}

// Sorts n elements; the order among equal ones is not that of their positions.
template <class E>
void introsort(E *e, int64_t n) {
  if (n < 2) return;
  introsort_coarse(e, n, splits(n));
  insertion(e, n);
}

// Moves the element of rank k to position k.
template <class E>
void quickselect(E *e, int64_t k, int64_t n) {
  int64_t lo = 0, hi = n - 1;
  while (hi > lo) {
    if (hi == lo + 1) {
      if (e[hi].key < e[lo].key) exchange(e[lo], e[hi]);
      return;
    }
    exchange(e[lo + (hi - lo) / 2], e[lo + 1]);
    if (e[hi].key < e[lo + 1].key) exchange(e[lo + 1], e[hi]);
    if (e[hi].key < e[lo].key) exchange(e[lo], e[hi]);
    if (e[lo].key < e[lo + 1].key) exchange(e[lo + 1], e[lo]);
    int64_t i = lo + 1, j = hi;
    const auto pivot = e[lo].key;
    for (;;) {
      do i++;
      while (e[i].key < pivot);
      do j--;
      while (pivot < e[j].key);
      if (j < i) break;
      exchange(e[i], e[j]);
    }
    exchange(e[lo], e[j]);
    if (j <= k) lo = i;
    if (j >= k) hi = j - 1;
  }
}

}  // namespace
}  // namespace lt
#endif
