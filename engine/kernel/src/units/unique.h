// Distinct elements and rows, and membership.
#include "../search.h"
#include "../sort.h"

namespace lt {
namespace {

// n rows of `width` values; kernels write the distinct ones to values, one behind the other, for
// each row of in its position among them to inverse, how often each occurs to counts, and how many
// there are to found. inverse and counts may be 0. scratch has LT_SORT_ENTRY bytes for each row.
struct unique_args {
  uintptr_t in, values, inverse, counts, scratch;
  int64_t n, width, found;
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

// Goes through the rows in the order of `at`, in which equal ones are neighbours. What is written
// behind the rows found is written over by the next one.
template <class T, class At>
void group(unique_args *a, At at) {
  const T *in = (const T *)a->in;
  T *values = (T *)a->values;
  int64_t *inverse = (int64_t *)a->inverse, *starts = (int64_t *)a->counts;
  const int64_t w = a->width;
  int64_t found = 0, last = 0;
  for (int64_t i = 0; i < a->n; i++) {
    const int64_t from = at(i);
    const T *row = in + from * w;
    bool fresh = i == 0;
    if (w == 1) {
      fresh |= !same(in[last], *row);
      values[found] = *row;
    } else if (fresh |= !same_row(in + last * w, row, w)) {
      memcpy(values + found * w, row, (size_t)w * sizeof(T));
    }
    if (starts) starts[found] = i;
    found += fresh;
    if (inverse) inverse[from] = found - 1;
    last = from;
  }
  for (int64_t i = 0; starts && i < found; i++)
    starts[i] = (i + 1 < found ? starts[i + 1] : a->n) - starts[i];
  a->found = found;
}

struct UniqueConsecutive {
  template <class T>
  static void row(unique_args *a) {
    group<T>(a, [](int64_t i) { return i; });
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
      const auto *e = sorted_entries(in, a->n, false, (void *)a->scratch);
      group<T>(a, [e](int64_t i) { return (int64_t)e[i].index; });
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

// Distinct rows in lexicographic order.
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
        const auto p = sort_key(a[j]), q = sort_key(b[j]);
        if (p != q) return p < q;
      }
      return false;
    };
    e = merge_sort(e, e + a->n, a->n, before);
    group<T>(a, [e](int64_t i) { return (int64_t)e[i]; });
  }
};

// in holds `width` sorted values, values n candidates; inverse, of bool, tells which of these are
// among them.
struct Member {
  template <class T>
  static void row(unique_args *a) {
    const T *sorted = (const T *)a->in, *values = (const T *)a->values;
    bool *out = (bool *)a->inverse;
    using K = decltype(sort_key(*sorted));
    search_all<K>(
        a->n, a->width, [=](int64_t i) { return sort_key(values[i]); },
        [=](int64_t j, K key) { return sort_key(sorted[j]) < key; },
        [=](int64_t i, int64_t at) { out[i] = at < a->width && same(sorted[at], values[i]); });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(unique){
    {"unique", "", LT_SORTED(Unique)},
    {"unique_rows", "", LT_SORTED(UniqueRows)},
    {"unique_consecutive", "", LT_SORTED(UniqueConsecutive)},
    {"member", "", LT_SORTED(Member)},
    LT_END,
};
