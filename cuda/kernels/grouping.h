// Membership in sorted keys, and groups of equal rows, with the equality of the unit unique: its
// names are resolved where the macros are used.
#ifndef LIBTENSOR_CUDA_GROUPING_H
#define LIBTENSOR_CUDA_GROUPING_H

#include "merging.h"

namespace lt {
namespace {

// The arguments of a launch: `width` values for each line of n keys; lines have
// a stride of `step` elements.
struct Searching {
  uint64_t keys, values, order, found;
  int64_t count, width, n, step, right;
};

// The arguments of a launch: n rows of `width` elements, sorted by their numbers.
struct Rows {
  uint64_t in, from, to;
  int64_t n, width, run;
};

// The lexicographic order of rows, with NaN as the largest value; equal ones keep their order.
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
    return x < y;
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
              (uint32_t *)LT_PLACE(r.to, r.n * 4, true) + thread * kRun, r.n, r.run, thread * kRun,
              order_of<T>(r));
}

// The arguments of a launch. The numbers of n rows, sorted so that equal rows are
// adjacent, have a stride of `apart` bytes; without them the rows are in order. flags mark rows
// that differ from the row before, and become the number of groups that begin before each row.
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

#endif
