// Membership in sorted keys, and groups of equal rows, by what the unit unique takes for equal: its
// names are known where the macros are used.
#ifndef LIBTENSOR_CUDA_GROUPING_H
#define LIBTENSOR_CUDA_GROUPING_H

#include "merging.h"

namespace lt {
namespace {

// One launch; searching of search.go mirrors it: `width` values for each line of n keys, the lines
// `step` elements apart.
struct Searching {
  uint64_t keys, values, order, found;
  int64_t count, width, n, step, right;
};

// One launch; rows of unique.go mirrors it: n rows of `width` elements, sorted by their numbers.
struct Rows {
  uint64_t in, from, to;
  int64_t n, width, run;
};

// The lexicographic order of rows, in which NaN equals what it is compared to.
template <class T>
LT_INLINE auto order_of(const Rows &r) {
  const T *in = (const T *)LT_PLACE(r.in, r.n * r.width * sizeof(T), false);
  const int64_t w = r.width;
  return [=](uint32_t x, uint32_t y) {
    const T *a = in + x * w, *b = in + y * w;
    for (int64_t j = 0; j < w; j++) {
      if (is_greater(b[j], a[j])) return true;
      if (is_greater(a[j], b[j])) return false;
    }
    return false;
  };
}

template <class T>
LT_INLINE void rows_run(const Rows &r, int64_t thread) {
  const int64_t begin = thread * kRun, m = r.n - begin < kRun ? r.n - begin : kRun;
  auto *to = (uint32_t *)LT_PLACE(r.to + begin * 4, m * 4, true);
  for (int64_t i = 0; i < m; i++) to[i] = uint32_t(begin + i);
  insertion(to, m, order_of<T>(r));
}

template <class T>
LT_INLINE void rows_merge(const Rows &r, int64_t thread) {
  merge_piece((const uint32_t *)LT_PLACE(r.from, r.n * 4, false),
              (uint32_t *)LT_PLACE(r.to, r.n * 4, true), r.n, r.run, thread * kRun, order_of<T>(r));
}

// One launch; groups of unique.go mirrors it. The numbers of n rows, in an order in which equal
// ones are neighbours, lie `apart` bytes from each other; without them it is the order of the rows.
// flags, where a row differs from the one before, become the numbers of groups that begin before.
struct Groups {
  uint64_t in, order, flags, inverse, firsts, begins, counts, values;
  int64_t n, width, apart, found;
};

LT_INLINE int64_t row_at(const Groups &g, int64_t i) {
  return g.order ? *(const uint32_t *)LT_PLACE(g.order + i * g.apart, 4, false) : i;
}

template <class T>
LT_INLINE const T *row_of(const Groups &g, int64_t i) {
  const uint64_t size = g.width * sizeof(T);
  return (const T *)LT_PLACE(g.in + row_at(g, i) * size, size, false);
}

}  // namespace
}  // namespace lt

#define LT_EACH(NAME, ARGS, COUNT, ...)                                                \
  LT_KERNEL(NAME, lt::ARGS) {                                                          \
    for (int64_t i = LT_THREAD; i < args.COUNT; i += LT_THREADS) __VA_ARGS__(args, i); \
  }

#define LT_MEMBER(NAME, T)                                                                     \
  LT_KERNEL(NAME, lt::Searching) {                                                             \
    for (int64_t i = LT_THREAD; i < args.count; i += LT_THREADS) {                             \
      const T *keys =                                                                          \
          args.n ? (const T *)LT_PLACE(args.keys, args.n * sizeof(T), false) : nullptr;        \
      const T v = *(const T *)LT_PLACE(args.values + i * sizeof(T), sizeof(T), false);         \
      const auto key = lt::sort_key(v);                                                        \
      const int64_t at =                                                                       \
          lt::partition_point(args.n, [=](int64_t j) { return lt::sort_key(keys[j]) < key; }); \
      *(bool *)LT_PLACE(args.found + i, 1, true) = at < args.n && lt::same(keys[at], v);       \
    }                                                                                          \
  }

#define LT_GROUP_FLAGS(NAME, T)                                                            \
  LT_KERNEL(NAME, lt::Groups) {                                                            \
    for (int64_t i = LT_THREAD; i < args.n; i += LT_THREADS)                               \
      *(int64_t *)LT_PLACE(args.flags + i * 8, 8, true) =                                  \
          i == 0 || (args.width > 0 && !lt::same_row(lt::row_of<T>(args, i - 1),           \
                                                     lt::row_of<T>(args, i), args.width)); \
  }

#define LT_ROWS_RUNS(NAME, T)                                                        \
  LT_KERNEL(NAME, lt::Rows) {                                                        \
    const int64_t runs = lt::pieces_of_line(args.n);                                 \
    for (int64_t i = LT_THREAD; i < runs; i += LT_THREADS) lt::rows_run<T>(args, i); \
  }

#define LT_ROWS_MERGE(NAME, T)                                                           \
  LT_KERNEL(NAME, lt::Rows) {                                                            \
    const int64_t pieces = lt::pieces_of_line(args.n);                                   \
    for (int64_t i = LT_THREAD; i < pieces; i += LT_THREADS) lt::rows_merge<T>(args, i); \
  }

// Whether an element is NaN: then the order of rows is none, and what sorting gives depends on the
// way. One thread goes the CPU's.
#define LT_ROWS_NAN(NAME, T)                                                             \
  LT_KERNEL(NAME, lt::Rows) {                                                            \
    for (int64_t i = LT_THREAD; i < args.n * args.width; i += LT_THREADS) {              \
      const T v = *(const T *)LT_PLACE(args.in + i * sizeof(T), sizeof(T), false);       \
      if (lt::is_nan<T>(lt::sort_key(v))) *(uint32_t *)LT_PLACE(args.from, 4, true) = 1; \
    }                                                                                    \
  }

#define LT_ROWS_ALONE(NAME, T)                                                  \
  LT_KERNEL(NAME, lt::Rows) {                                                   \
    if (LT_THREAD || !*(const uint32_t *)LT_PLACE(args.from, 4, false)) return; \
    auto *to = (uint32_t *)LT_PLACE(args.to, args.n * 4, true);                 \
    for (int64_t i = 0; i < args.n; i++) to[i] = uint32_t(i);                   \
    lt::introsort(to, args.n, lt::order_of<T>(args));                           \
  }

#endif
