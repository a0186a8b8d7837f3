// Sorting by integer keys that order as the values do, NaN last: stable radix sort of (key, index)
// pairs, after D. E. Knuth, The Art of Computer Programming 3, 5.2.5; short rows are merged
// instead.
#ifndef LIBTENSOR_KERNEL_SRC_SORT_H
#define LIBTENSOR_KERNEL_SRC_SORT_H

#include "../scan.h"
#include "rows.h"

namespace lt {
namespace {

template <int kBytes>
struct KeyOf;
template <>
struct KeyOf<1> {
  using type = uint8_t;
};
template <>
struct KeyOf<2> {
  using type = uint16_t;
};
template <>
struct KeyOf<4> {
  using type = uint32_t;
};
template <>
struct KeyOf<8> {
  using type = uint64_t;
};

// The key of a value: unsigned integers in the order of the values. All NaN are equal and largest;
// -0 equals 0.
template <class T>
LT_INLINE auto sort_key(T x) {
  using K = typename KeyOf<sizeof(T)>::type;
  constexpr K top = K(K(1) << (8 * sizeof(T) - 1));
  K k;
  memcpy(&k, &x, sizeof(T));
  if constexpr (kind_of<T> == kBool) {
    return K(k != 0);
  } else if constexpr (kind_of<T> == kFloating) {
    constexpr K infinity = sizeof(T) == 8           ? (K)0x7ff0000000000000
                           : sizeof(T) == 4         ? (K)0x7f800000
                           : Traits<T>::number == 6 ? (K)0x7c00
                                                    : (K)0x7f80;
    const K magnitude = K(k & K(~top));
    if (magnitude > infinity) return K(~K(0));
    if (magnitude == 0) return top;
    return K(k & top ? ~k : k | top);
  } else {
    return T(-1) < T(0) ? K(k ^ top) : k;
  }
}

// The integer that a key is of.
template <class T, class K>
LT_INLINE T value_of_key(K key) {
  return T(-1) < T(0) ? T(key ^ K(K(1) << (8 * sizeof(T) - 1))) : T(key);
}

// The order of values in sorted results: NaN is the largest and equals NaN. 16-bit floats compare
// by their keys.
template <class T>
LT_INLINE bool is_at_least(T a, T b) {
  if constexpr (kind_of<T> == kFloating && sizeof(T) == 2)
    return sort_key(a) >= sort_key(b);
  else if constexpr (kind_of<T> == kFloating)
    return (a >= b) | (a != a);
  else
    return a >= b;
}
template <class T>
LT_INLINE bool is_greater(T a, T b) {
  return !is_at_least(b, a);
}

// Packed, since there is one for every element, so that it can share the memory of the resulting
// indices.
template <class K>
struct __attribute__((packed, may_alias)) Entry {
  K key;
  uint32_t index;
};
static_assert(sizeof(Entry<uint64_t>) == 8 + LT_SORT_INDEX, "as scratch is counted");

constexpr int64_t kMerged = 512;  // rows up to this length are merged

template <class K>
LT_INLINE K key_of(const Entry<K> &e) {
  return e.key;
}
LT_INLINE uint8_t key_of(uint8_t k) { return k; }
LT_INLINE uint16_t key_of(uint16_t k) { return k; }
LT_INLINE uint32_t key_of(uint32_t k) { return k; }
LT_INLINE uint64_t key_of(uint64_t k) { return k; }

// The order of keys, alone or in entries.
struct ByKey {
  template <class E>
  LT_INLINE bool operator()(const E &a, const E &b) const {
    return key_of(a) < key_of(b);
  }
};
template <class E, class Before = ByKey>
void insertion(E *e, int64_t n, Before before = {}) {
  for (int64_t i = 1; i < n; i++) {
    const E x = e[i];
    int64_t j = i;
    for (; j > 0 && before(x, e[j - 1]); j--) e[j] = e[j - 1];
    e[j] = x;
  }
}

// Sorts e with the help of other, which is as long; returns whichever of the two holds the result.
template <class E, class Before = ByKey>
E *merge_sort(E *e, E *other, int64_t n, Before before = {}) {
  constexpr int64_t kRun = 16;
  for (int64_t i = 0; i < n; i += kRun) insertion(e + i, n - i < kRun ? n - i : kRun, before);
  for (int64_t run = kRun; run < n; run *= 2) {
    for (int64_t i = 0; i < n; i += 2 * run) {
      const int64_t mid = i + run < n ? i + run : n, end = i + 2 * run < n ? i + 2 * run : n;
      int64_t a = i, b = mid;
      for (int64_t k = i; k < end; k++)
        other[k] = b >= end || (a < mid && !before(e[b], e[a])) ? e[a++] : e[b++];
    }
    E *swap = e;
    e = other;
    other = swap;
  }
  return e;
}

template <class E>
E *radix_sort(E *e, E *other, int64_t n) {
  constexpr int kDigits = sizeof(key_of(*e));
  int64_t counts[kDigits][256];
  memset(counts, 0, sizeof(counts));
  for (int64_t i = 0; i < n; i++)
    for (int d = 0; d < kDigits; d++) counts[d][(key_of(e[i]) >> (8 * d)) & 255]++;
  for (int d = 0; d < kDigits; d++) {
    if (counts[d][(key_of(e[0]) >> (8 * d)) & 255] == n)
      continue;  // the digit is the same everywhere
    int64_t at = 0;
    for (int64_t &c : counts[d]) {
      const int64_t size = c;
      c = at;
      at += size;
    }
    for (int64_t i = 0; i < n; i++) other[counts[d][(key_of(e[i]) >> (8 * d)) & 255]++] = e[i];
    E *swap = e;
    e = other;
    other = swap;
  }
  return e;
}

template <class T>
using EntryOf = Entry<typename KeyOf<sizeof(T)>::type>;

// The entry of value i; flip, all ones, turns the order round.
template <class T, class K>
LT_INLINE Entry<K> entry(const T *in, int64_t i, K flip) {
  return {K(sort_key(in[i]) ^ flip), (uint32_t)i};
}
template <class T>
LT_INLINE auto flip_of(bool descending) {
  using K = typename KeyOf<sizeof(T)>::type;
  return descending ? K(~K(0)) : K(0);
}

// Fills e with n values and their positions.
template <class T>
void entries(EntryOf<T> *e, const T *in, int64_t n, bool descending) {
  const auto flip = flip_of<T>(descending);
  for (int64_t i = 0; i < n; i++) e[i] = entry(in, i, flip);
}

// Sorts keys, or entries by their keys.
template <class E>
E *sorted_keys(E *e, E *other, int64_t n) {
  return n <= kMerged ? merge_sort(e, other, n) : radix_sort(e, other, n);
}

// Entries of n values in order, made at e with the help of other.
template <class T>
const EntryOf<T> *sorted_entries(const T *in, int64_t n, bool descending, EntryOf<T> *e,
                                 EntryOf<T> *other) {
  entries(e, in, n, descending);
  return sorted_keys(e, other, n);
}

}  // namespace
}  // namespace lt

// 16-bit floats are sorted by their bits, without conversion.
#define LT_SORTED(OP)                                                    \
  {LT_ROW(OP, lt::Bool),     LT_INTEGERS(OP),   LT_ROW(OP, lt::Float16), \
   LT_ROW(OP, lt::BFloat16), LT_ROW(OP, float), LT_ROW(OP, double)}

#endif
