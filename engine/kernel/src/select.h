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
template <class E, class Before = ByKey>
void heap_put(E *e, int64_t hole, int64_t n, E x, Before before = {}) {
  const int64_t top = hole;
  for (int64_t child; (child = 2 * hole + 1) < n; hole = child) {
    if (child + 1 < n && !before(e[child + 1], e[child])) child++;
    e[hole] = e[child];
  }
  for (int64_t parent; hole > top && before(e[parent = (hole - 1) / 2], x); hole = parent)
    e[hole] = e[parent];
  e[hole] = x;
}

// Makes a heap of k elements.
template <class E, class Before = ByKey>
void make_heap(E *e, int64_t k, Before before = {}) {
  for (int64_t i = k / 2; i-- > 0;) heap_put(e, i, k, e[i], before);
}

// Puts the k elements of a heap in order.
template <class E, class Before = ByKey>
void sort_heap(E *e, int64_t k, Before before = {}) {
  for (int64_t i = k - 1; i > 0; i--) {
    const E x = e[i];
    e[i] = e[0];
    heap_put(e, 0, i, x, before);
  }
}

// The k smallest of n elements as a heap at the front.
template <class E, class Before = ByKey>
void heap_select(E *e, int64_t k, int64_t n, Before before = {}) {
  make_heap(e, k, before);
  for (int64_t i = k; i < n; i++) {
    if (!before(e[i], e[0])) continue;
    const E x = e[i];
    e[i] = e[0];
    heap_put(e, 0, k, x, before);
  }
}

// The k smallest of n elements in order at the front.
template <class E, class Before = ByKey>
void partial_sort(E *e, int64_t k, int64_t n, Before before = {}) {
  heap_select(e, k, n, before);
  sort_heap(e, k, before);
}

// Partitions n > 3 elements at the median of the second, middle and last, and returns the start of
// the larger part. It stays in bounds even if NaN makes `before` unordered; keys have an order, so
// that the pivot stops both scans.
template <class E, class Before = ByKey>
int64_t split(E *e, int64_t n, Before before = {}) {
  const int64_t a = 1, b = n / 2, c = n - 1;
  const bool ab = before(e[a], e[b]), bc = before(e[b], e[c]), ac = before(e[a], e[c]);
  exchange(e[0], ab ? (bc ? e[b] : ac ? e[c] : e[a]) : (ac ? e[a] : bc ? e[c] : e[b]));
  const E pivot = e[0];
  int64_t i = 1, j = n;
  constexpr bool ordered = __is_same(Before, ByKey);
  for (;; i++) {
    while ((ordered || i < n) && before(e[i], pivot)) i++;
    do j--;
    while ((ordered || j > 0) && before(pivot, e[j]));
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

constexpr int64_t kCoarse = 16;  // parts up to this length are sorted by insertion
constexpr int kWaiting = 40;     // each is at most half of the one before, and 16 << 40 fit nowhere

// Sorts all but parts of up to kCoarse elements. The smaller of two parts is sorted first and the
// larger one is stacked, which limits the stack. A device's threads have no stack for recursion.
template <class E, class Before>
void introsort_coarse(E *e, int64_t n, Before before) {
  struct Range {
    int64_t begin, length;
    int depth;
  } waiting[kWaiting], now = {0, n, splits(n)};
  for (int held = 0;; now = waiting[--held]) {
    while (now.length > kCoarse && now.depth > 0) {
      const int64_t at = split(e + now.begin, now.length, before);
      const Range front = {now.begin, at, now.depth - 1};
      const Range back = {now.begin + at, now.length - at, now.depth - 1};
      const bool short_front = front.length < back.length;
      waiting[held++] = short_front ? back : front;
      now = short_front ? front : back;
    }
    if (now.length > kCoarse) partial_sort(e + now.begin, now.length, now.length, before);
    if (held == 0) return;
  }
}

// Sorts n elements; the sort is not stable. The smallest of the first ones is moved to the front,
// which also detects a `before` that NaN makes unordered.
template <class E, class Before = ByKey>
void introsort(E *e, int64_t n, Before before = {}) {
  if (n < 2) return;
  introsort_coarse(e, n, before);
  for (int64_t i = 1; i < n; i++) {
    const E x = e[i];
    int64_t j = i;
    if (i < kCoarse && before(x, e[0]))
      for (; j > 0; j--) e[j] = e[j - 1];
    else
      for (; j > 0 && before(x, e[j - 1]); j--) e[j] = e[j - 1];
    e[j] = x;
  }
}

// Moves the element of rank k to position k. If the partitions remain uneven after kPasses * n
// comparisons, it continues with a heap.
template <class E>
void quickselect(E *e, int64_t k, int64_t n) {
  constexpr int64_t kPasses = 16;
  int64_t lo = 0, hi = n - 1, left = kPasses * n;
  while (hi > lo) {
    if ((left -= hi - lo) < 0) {
      heap_select(e + lo, k - lo + 1, hi - lo + 1);
      exchange(e[lo], e[k]);
      return;
    }
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
