// Elements that a thread loads in sequence, without waiting for one before the next load.
#ifndef LIBTENSOR_CUDA_BATCHES_H
#define LIBTENSOR_CUDA_BATCHES_H

#include "halves.h"

namespace lt {
namespace {

template <class M, class T, int N>
LT_INLINE void load_as(uint64_t at, int64_t step, int n, T (&x)[N]) {
#pragma unroll
  for (int j = 0; j < N; j++) {
    const M *from = (const M *)LT_PLACE(at, sizeof(M), false);
    x[j] = convert_element<T>(*from);
    if (j + 1 < n) at += step;
  }
}

LT_INLINE bool is_half(int dtype) {
  return dtype == Traits<Float16>::number || dtype == Traits<BFloat16>::number;
}

// Loads n elements from `at` on, with a stride of `step` bytes, and fills the rest with the last
// one. They are of type T, or, if that is float, possibly of a half type.
template <class T, int N>
LT_INLINE void load_batch(int memory, uint64_t at, int64_t step, int n, T (&x)[N]) {
  if constexpr (std::is_same_v<T, float>) {
    if (memory == Traits<Float16>::number) return load_as<Float16>(at, step, n, x);
    if (memory == Traits<BFloat16>::number) return load_as<BFloat16>(at, step, n, x);
  }
  load_as<T>(at, step, n, x);
}

}  // namespace
}  // namespace lt
#endif
