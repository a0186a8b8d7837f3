// Sequences, with a thread for each element, and what kernels along one dimension share.
#ifndef LIBTENSOR_CUDA_LANES_H
#define LIBTENSOR_CUDA_LANES_H

#include "numbers.h"
#include "../../engine/kernel/scan.h"

#ifdef __CUDACC_RTC__
#define __typeof__(...) decltype(__VA_ARGS__)  // other compilers have it
#endif

namespace lt {
namespace {

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

#define LT_RANGE(NAME, OP, ...)                                  \
  LT_KERNEL(NAME, lt::range_args) {                              \
    for (int64_t i = LT_THREAD; i < args.steps; i += LT_THREADS) \
      lt::range_element<lt::OP, __VA_ARGS__>(args, i);           \
  }

#endif
