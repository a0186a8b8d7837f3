// Distinct elements and rows, and membership.
#include "../search.h"
#include "../select.h"

namespace lt {
namespace {

// n rows of `width` values, the first of which has number `begin`; kernels write the distinct ones
// contiguously to values, the position of each row among them to inverse, the number of occurrences
// of each to counts, and the number of distinct rows, added to those found before, to found. If
// values is 0 they only count; otherwise they stop at `limit`, in case the rows change after they
// were counted. inverse and counts may be 0. scratch has space for two entries of each row.
struct unique_args {
  uintptr_t in, values, inverse, counts, scratch;
  int64_t begin, n, width, found, limit;
};

template <class T>
bool is_nan(decltype(sort_key(T())) key) {
  return kind_of<T> == kFloating && key == decltype(key)(~decltype(key)(0));
}

// NaN equals nothing.
template <class T>
LT_INLINE bool same(T a, T b) {
  if constexpr (sizeof(T) > 2) return a == b;
  const auto k = sort_key(a);
  return k == sort_key(b) && !is_nan<T>(k);
}

template <class T>
bool same_row(const T *a, const T *b, int64_t width) {
  for (int64_t j = 0; j < width; j++)
    if (!same(a[j], b[j])) return false;
  return true;
}

constexpr int kFlags = 64;  // rows whose flags make one word

// For each of m rows from number i on, whether it differs from the one before.
template <class Fresh>
LT_INLINE void mark_fresh(uint8_t *flags, int64_t i, int m, Fresh fresh) {
  if (i > 0 && m == kFlags) {
    for (int k = 0; k < kFlags; k++) flags[k] = fresh(i + k);
  } else {
    for (int k = 0; k < kFlags; k++) flags[k] = k < m && (i + k == 0 || fresh(i + k));
  }
}

// Makes one word of the flags, and of each flag the number of those up to it.
LT_INLINE uint64_t count_flags(uint8_t *flags) {
  uint64_t bits = 0, counts = 0;
  for (int k = 0; k < kFlags; k += 8) {
    uint64_t bytes;
    memcpy(&bytes, flags + k, 8);
    bits |= (bytes * 0x0102040810204080u >> 56) << k;  // the lowest bits of eight bytes, in order
    counts = (bytes + (counts >> 56)) * 0x0101010101010101u;
    memcpy(flags + k, &counts, 8);
  }
  return bits;
}

// Iterates over rows begin to begin + n in the order of `at`, in which equal ones are adjacent:
// fresh(i) returns whether row at(i) differs from row at(i - 1). The start of each distinct row is
// written to counts.
template <class T, class Fresh, class At>
LT_INLINE void group(unique_args *a, Fresh fresh, At at) {
  const T *in = (const T *)a->in;
  T *values = (T *)a->values;
  int64_t *inverse = (int64_t *)a->inverse, *starts = (int64_t *)a->counts;
  const int64_t w = a->width, end = a->begin + a->n;
  int64_t found = a->found, i = a->begin;
  if (!values) {
    if (i == 0 && i < end) found++, i++;
    for (; i < end; i++) found += fresh(i);
  }
  for (; i < end; i += kFlags) {
    const int m = end - i < kFlags ? (int)(end - i) : kFlags;
    alignas(64) uint8_t flags[kFlags];
    mark_fresh(flags, i, m, fresh);
    uint64_t bits = count_flags(flags);
    if (inverse)
      for (int k = 0; k < m; k++) inverse[at(i + k)] = found - 1 + flags[k];
    for (; bits && found < a->limit; bits &= bits - 1, found++) {
      const int64_t row = i + __builtin_ctzll(bits);
      if (w == 1)
        values[found] = in[at(row)];
      else
        memcpy(values + found * w, in + at(row) * w, (size_t)w * sizeof(T));
      if (starts) starts[found] = row;
    }
    if (bits) found++;  // more than fit
    if (found > a->limit) break;
  }
  a->found = found;
}

// Turns the starts of `found` groups of n rows into their lengths.
void unique_counts(unique_args *a) {
  int64_t *starts = (int64_t *)a->counts;
  if (!starts || a->found == 0) return;
  for (int64_t i = 0; i + 1 < a->found; i++) starts[i] = starts[i + 1] - starts[i];
  starts[a->found - 1] = a->n - starts[a->found - 1];
}

struct UniqueConsecutive {
  template <class T>
  static void row(unique_args *a) {
    const T *in = (const T *)a->in;
    const int64_t w = a->width;
    const auto self = [](int64_t i) { return i; };
    if (w == 1)
      group<T>(a, [in](int64_t i) { return !same(in[i - 1], in[i]); }, self);
    else
      group<T>(a, [in, w](int64_t i) { return !same_row(in + (i - 1) * w, in + i * w, w); }, self);
  }
};

// The value of a key that is not that of 0.
template <class T, class K>
T from_key(K k) {
  constexpr K top = K(K(1) << (8 * sizeof(T) - 1));
  if constexpr (kind_of<T> == kFloating)
    k = K(k & top ? k ^ top : ~k);
  else if constexpr (kind_of<T> == kInteger)
    k = T(-1) < T(0) ? K(k ^ top) : k;
  T x;
  memcpy(&x, &k, sizeof(T));
  return x;
}

// Distinct values in order; NaN last, each by itself. Without inverse, keys alone are sorted.
struct Unique {
  template <class T>
  static void row(unique_args *a) {
    const T *in = (const T *)a->in;
    if (a->inverse) {
      auto *both = (EntryOf<T> *)a->scratch;
      const auto *e = sorted_entries(in, a->n, false, both, both + a->n);
      group<T>(
          a, [e](int64_t i) { return e[i].key != e[i - 1].key || is_nan<T>(e[i].key); },
          [e](int64_t i) { return (int64_t)e[i].index; });
      unique_counts(a);
      return;
    }
    using K = decltype(sort_key(T()));
    K *k = (K *)a->scratch;
    T zero{};
    bool zeros = false;
    for (int64_t i = 0; i < a->n; i++) k[i] = sort_key(in[i]);
    for (int64_t i = 0; i < a->n && kind_of<T> == kFloating && !zeros; i++)
      if ((zeros = k[i] == sort_key(T{}))) zero = in[i];  // the first, with its sign
    k = sorted_keys(k, k + a->n, a->n);
    T *values = (T *)a->values;
    int64_t *counts = (int64_t *)a->counts, found = 0;
    for (int64_t i = 0; i < a->n;) {
      int64_t end = i + 1;
      if (!is_nan<T>(k[i]))
        while (end < a->n && k[end] == k[i]) end++;
      values[found] = kind_of<T> == kFloating && k[i] == sort_key(T{}) ? zero : from_key<T>(k[i]);
      if (counts) counts[found] = end - i;
      found++;
      i = end;
    }
    a->found = found;
  }
};

// Distinct rows in lexicographic order, with NaN as the largest value; rows with NaN equal no
// other.
struct UniqueRows {
  template <class T>
  static void row(unique_args *a) {
    const T *in = (const T *)a->in;
    const int64_t w = a->width;
    uint32_t *e = (uint32_t *)a->scratch;
    for (int64_t i = 0; i < a->n; i++) e[i] = (uint32_t)i;
    const auto before = [in, w](uint32_t x, uint32_t y) {
      const T *a = in + x * w, *b = in + y * w;
      for (int64_t j = 0; j < w; j++) {
        if (is_greater(b[j], a[j])) return true;
        if (is_greater(a[j], b[j])) return false;
      }
      return x < y;
    };
    introsort(e, a->n, before);
    group<T>(
        a, [=](int64_t i) { return !same_row(in + e[i - 1] * w, in + e[i] * w, w); },
        [e](int64_t i) { return (int64_t)e[i]; });
    unique_counts(a);
  }
};

// in holds `width` sorted values, values n candidates; inverse, of bool, receives which of these
// are among them.
struct Member {
  template <class T>
  static void row(unique_args *a) {
    const T *sorted = (const T *)a->in, *values = (const T *)a->values;
    bool *out = (bool *)a->inverse;
    using K = decltype(sort_key(*sorted));
    search_all<K>(
        a->n, a->width, [=](int64_t i) { return sort_key(values[i]); },
        [=](int64_t j, K key) { return sort_key(sorted[j]) < key; },
        [=](int64_t i, int64_t at) { out[i] = at < a->width && same(sorted[at], values[i]); },
        true);
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(unique){
    {"unique", "", LT_SORTED(Unique)},
    {"unique_rows", "", LT_SORTED(UniqueRows)},
    {"unique_consecutive", "", LT_SORTED(UniqueConsecutive)},
    LT_SINGLE("unique_counts", lt::unique_counts),
    {"member", "", LT_SORTED(Member)},
    LT_END,
};
