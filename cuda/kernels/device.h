// What a kernel is, for NVRTC, and for the simulated driver's g++ where LT_SIMULATED is defined.
#ifndef LIBTENSOR_CUDA_DEVICE_H
#define LIBTENSOR_CUDA_DEVICE_H

#include "scalar.h"
// Comes after scalar.h, whose names it uses.
#include "../../engine/kernel/src/cast.h"

#ifdef LT_SIMULATED
#include "../sim/thread.h"
#define LT_KERNEL(NAME, ARGS)                                                     \
  static void lt_body_##NAME(const ARGS &args);                                   \
  extern "C" void NAME(const void *args) { lt_body_##NAME(*(const ARGS *)args); } \
  static void lt_body_##NAME(const ARGS &args)
#define LT_NOINLINE __attribute__((noinline))
// The memory of n bytes at an address of the device.
#define LT_PLACE(ADDRESS, N, WRITES) lt_sim_place(ADDRESS, N, WRITES)
#define LT_THREAD lt_sim_thread.at
#define LT_THREADS lt_sim_thread.of
#else
#define LT_KERNEL(NAME, ARGS) extern "C" __global__ void NAME(const __grid_constant__ ARGS args)
#define LT_NOINLINE __noinline__
#define LT_PLACE(ADDRESS, N, WRITES) ((char *)(ADDRESS))
#define LT_THREAD (blockIdx.x * (int64_t)blockDim.x + threadIdx.x)
#define LT_THREADS (gridDim.x * (int64_t)blockDim.x)
#endif

#define LT_PAIR_OPERATION LT_NOINLINE  // of pair.h: kernels would be many times as long

namespace lt {
namespace {

constexpr int64_t dtype_size(int d) {
  constexpr int8_t sizes[] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 4, 4};
  return sizes[d];
}

template <class From>
LT_INLINE void convert_from(int to, From v, char *at) {
  switch (to) {
#define LT_TO(NUMBER, T)      \
  case NUMBER:                \
    *(T *)at = convert<T>(v); \
    return;
    LT_TO(0, Bool)
    LT_TO(1, uint8_t)
    LT_TO(2, int8_t)
    LT_TO(3, int16_t)
    LT_TO(4, int32_t)
    LT_TO(5, int64_t)
    LT_TO(6, Float16)
    LT_TO(7, BFloat16)
    LT_TO(8, float)
    LT_TO(9, double)
    LT_TO(10, Complex64)
    LT_TO(11, Complex128)
    LT_TO(12, Complex32)
    LT_TO(13, BComplex32)
#undef LT_TO
  }
}

// One element of dtype from to one of dtype to.
[[maybe_unused]] LT_NOINLINE void convert_value(int from, int to, const char *source,
                                                char *target) {
  switch (from) {
#define LT_FROM(NUMBER, T)                        \
  case NUMBER:                                    \
    convert_from(to, *(const T *)source, target); \
    return;
    LT_FROM(0, Bool)
    LT_FROM(1, uint8_t)
    LT_FROM(2, int8_t)
    LT_FROM(3, int16_t)
    LT_FROM(4, int32_t)
    LT_FROM(5, int64_t)
    LT_FROM(6, Float16)
    LT_FROM(7, BFloat16)
    LT_FROM(8, float)
    LT_FROM(9, double)
    LT_FROM(10, Complex64)
    LT_FROM(11, Complex128)
    LT_FROM(12, Complex32)
    LT_FROM(13, BComplex32)
#undef LT_FROM
  }
}

}  // namespace
}  // namespace lt
#endif
