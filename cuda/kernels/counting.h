// The bins of values, computed as in units/histogram.h, with names that are resolved where the
// macro is used.
#ifndef LIBTENSOR_CUDA_COUNTING_H
#define LIBTENSOR_CUDA_COUNTING_H

#include "numbers.h"

namespace lt {
namespace {

constexpr int kBinned = 16;

// The arguments of a launch: n points of `dims` values. bins receives the index of
// each point's bin, or total, the number of bins, for points outside of all bins.
struct Binning {
  uint64_t in, bins, edges[kBinned];
  int64_t counts[kBinned];
  int64_t n, dims, place, total;
};

}  // namespace
}  // namespace lt

#define LT_BINS(NAME, T)                                                                          \
  LT_KERNEL(NAME, lt::Binning) {                                                                  \
    for (int64_t i = LT_THREAD; i < args.n; i += LT_THREADS) {                                    \
      const int64_t size = args.dims * sizeof(T);                                                 \
      const T *x = (const T *)LT_PLACE(args.in + i * size, size, false);                          \
      const T *edges[lt::kBinned];                                                                \
      for (int d = 0; d < args.dims; d++)                                                         \
        edges[d] = (const T *)LT_PLACE(args.edges[d], (args.counts[d] + 1) * sizeof(T), false);   \
      const int64_t bin =                                                                         \
          args.place == lt::kSearch                                                               \
              ? lt::Histogram::bin_of<T, lt::kSearch>(x, edges, args.counts, args.dims)           \
          : args.place == lt::kDivide                                                             \
              ? lt::Histogram::bin_of<T, lt::kDivide>(x, edges, args.counts, args.dims)           \
              : lt::Histogram::bin_of<T, lt::kDivideAndSearch>(x, edges, args.counts, args.dims); \
      *(int64_t *)LT_PLACE(args.bins + i * 8, 8, true) = bin < 0 ? args.total : bin;              \
    }                                                                                             \
  }

#endif
