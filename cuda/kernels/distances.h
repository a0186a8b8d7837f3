// Distances of rows, one for each thread, by the functors of units/distance.h, whose names the
// macro uses.
#ifndef LIBTENSOR_CUDA_DISTANCES_H
#define LIBTENSOR_CUDA_DISTANCES_H

#include "numbers.h"
#include "../../engine/kernel/src/search.h"

namespace lt {
namespace {

using ::fabs;

// The arguments of a launch: of `rows` rows of each matrix of a to `columns`
// rows of that of b; without b, of the rows of a to later rows.
struct Distances {
  uint64_t a, b, out;
  int64_t total, rows, columns, width;
  double p;
};

// The rows, counted through all matrices, that a distance is of.
struct RowPair {
  int64_t a, b;
};
LT_INLINE RowPair rows_of(const Distances &d, int64_t i) {
  if (d.b) {
    const int64_t row = i / d.columns;
    return {row, row / d.rows * d.columns + i % d.columns};
  }
  const int64_t n = d.rows;
  const auto start = [=](int64_t row) { return row * (2 * n - 1 - row) / 2; };
  const int64_t row = partition_point(n, [=](int64_t r) { return start(r) <= i; }) - 1;
  return {row, row + 1 + i - start(row)};
}

}  // namespace
}  // namespace lt

#define LT_DISTANCES(NAME, OP, T)                                                  \
  LT_KERNEL(NAME, lt::Distances) {                                                 \
    for (int64_t i = LT_THREAD; i < args.total; i += LT_THREADS) {                 \
      const lt::RowPair rows = lt::rows_of(args, i);                               \
      const int64_t size = args.width * sizeof(T);                                 \
      const uint64_t b = args.b ? args.b : args.a;                                 \
      lt::distance_args one;                                                       \
      one.a = size ? (uintptr_t)LT_PLACE(args.a + rows.a * size, size, false) : 0; \
      one.b = size ? (uintptr_t)LT_PLACE(b + rows.b * size, size, false) : 0;      \
      one.out = (uintptr_t)LT_PLACE(args.out + i * sizeof(T), sizeof(T), true);    \
      one.rows = 1, one.columns = 1, one.width = args.width, one.p = args.p;       \
      lt::OP::row<T>(&one);                                                        \
    }                                                                              \
  }

#endif
