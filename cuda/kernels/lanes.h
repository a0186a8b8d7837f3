// Kernels that run along one dimension, with a thread for each lane, and sequences, with one for
// each element.
#ifndef LIBTENSOR_CUDA_LANES_H
#define LIBTENSOR_CUDA_LANES_H

#include "numbers.h"
#include "../../engine/kernel/scan.h"

#ifdef __CUDACC_RTC__
#define __typeof__(...) decltype(__VA_ARGS__)  // other compilers have it
#endif

namespace lt {
namespace {

// One launch; lanes of lanes.go mirrors it. The input is outer x n x inner elements, of which outer
// * inner are lanes; the outputs are outer x kept x inner.
struct Lanes {
  uint64_t in, with, out[2];
  int64_t lanes, n, kept, inner;
};

// The memory of a lane of n elements.
LT_INLINE uintptr_t lane_at(uint64_t begin, int64_t lane, int64_t n, int64_t inner, int64_t size,
                            bool writes) {
  if (!begin) return 0;
  const int64_t first = lane / inner * n * inner + lane % inner;
  return (uintptr_t)LT_PLACE(begin + first * size, ((n - 1) * inner + 1) * size, writes);
}

template <class OP, class T>
LT_INLINE void run_lane(const Lanes &l, int64_t i) {
  lt_scan s;
  s.in = lane_at(l.in, i, l.n, l.inner, sizeof(T), false);
  s.with = lane_at(l.with, i, l.n, l.inner, sizeof(T), false);
  s.out[0] = lane_at(l.out[0], i, l.kept, l.inner, sizeof(T), true);
  s.out[1] = lane_at(l.out[1], i, l.kept, l.inner, 8, true);
  s.scratch = 0;
  s.outer = 1, s.n = l.n, s.inner = l.inner, s.width = 1;
  OP::template row<T>(&s);
}

// An element of a sequence, by the functor of the whole.
template <class OP, class T, class Range>
LT_INLINE void range_element(const Range &r, int64_t i) {
  Range one = r;
  one.out = (uintptr_t)LT_PLACE(r.out + i * sizeof(T), sizeof(T), true) - i * sizeof(T);
  one.begin = i, one.end = i + 1;
  OP::template row<T>(&one);
}

}  // namespace
}  // namespace lt

#define LT_LANE(NAME, OP, ...)                                   \
  LT_KERNEL(NAME, lt::Lanes) {                                   \
    for (int64_t i = LT_THREAD; i < args.lanes; i += LT_THREADS) \
      lt::run_lane<lt::OP, __VA_ARGS__>(args, i);                \
  }

#define LT_RANGE(NAME, OP, ...)                                  \
  LT_KERNEL(NAME, lt::range_args) {                              \
    for (int64_t i = LT_THREAD; i < args.steps; i += LT_THREADS) \
      lt::range_element<lt::OP, __VA_ARGS__>(args, i);           \
  }

#endif
