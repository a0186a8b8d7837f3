// The attributes of kernels, for NVRTC, and for the simulated driver's g++ if LT_SIMULATED is
// defined.
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

#define LT_EACH_DTYPE(F) \
  F(0, Bool)             \
  F(1, uint8_t)          \
  F(2, int8_t)           \
  F(3, int16_t)          \
  F(4, int32_t)          \
  F(5, int64_t)          \
  F(6, Float16)          \
  F(7, BFloat16)         \
  F(8, float)            \
  F(9, double)           \
  F(10, Complex64)       \
  F(11, Complex128)      \
  F(12, Complex32)       \
  F(13, BComplex32)      \
  F(19, uint16_t)        \
  F(20, uint32_t)        \
  F(21, uint64_t)

namespace lt {
namespace {

constexpr int64_t dtype_size(int d) {
  switch (d) {
#define LT_SIZE(NUMBER, T) \
  case NUMBER:             \
    return sizeof(T);
    LT_EACH_DTYPE(LT_SIZE)
#undef LT_SIZE
  }
  return 0;
}

// Converts one element of dtype from to dtype to, through an integer or a complex number that holds
// its value exactly: a separate conversion for each pair of dtypes would dominate the driver's
// compile time of a kernel.
[[maybe_unused]] LT_NOINLINE void convert_value(int from, int to, const char *source,
                                                char *target) {
  bool whole = false;
  int64_t integer = 0;
  Complex128 number = {0, 0};
  switch (from) {
#define LT_FROM(NUMBER, T)                                       \
  case NUMBER:                                                   \
    if (to == NUMBER) {                                          \
      *(T *)target = *(const T *)source;                         \
      return;                                                    \
    }                                                            \
    whole = kind_of<T> == kInteger || kind_of<T> == kBool;       \
    if constexpr (kind_of<T> == kInteger || kind_of<T> == kBool) \
      integer = convert<int64_t>(*(const T *)source);            \
    else                                                         \
      number = convert<Complex128>(*(const T *)source);          \
    break;
    LT_EACH_DTYPE(LT_FROM)
#undef LT_FROM
  }
  const bool huge = from == Traits<uint64_t>::number && integer < 0;
  switch (to) {
#define LT_TO(NUMBER, T)                                               \
  case NUMBER:                                                         \
    if (huge)                                                          \
      *(T *)target = convert<T>((uint64_t)integer);                    \
    else                                                               \
      *(T *)target = whole ? convert<T>(integer) : convert<T>(number); \
    return;
    LT_EACH_DTYPE(LT_TO)
#undef LT_TO
  }
}

}  // namespace
}  // namespace lt
#endif
