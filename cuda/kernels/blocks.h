// Kernels with cooperating threads, one block at a time: in phases, each followed by a barrier. A
// thread keeps values between phases in its element of an Each, and threads exchange values through
// shared memory. The simulated device runs the threads of a phase sequentially, in a varying order.
#ifndef LIBTENSOR_CUDA_BLOCKS_H
#define LIBTENSOR_CUDA_BLOCKS_H

#include "device.h"

namespace lt {
namespace {

constexpr int kBlock = 256;  // threads of a block; threads of elementwise.go is as many

#ifdef LT_SIMULATED
template <class T>
struct Each {
  T of[kBlock];
  T &operator[](int thread) { return of[thread]; }
};

template <class F>
void phase(F f) {
  const bool backwards = lt_sim_backwards();
  for (int i = 0; i < kBlock; i++) f(backwards ? kBlock - 1 - i : i);
}

// The arguments after SHARED are those of __launch_bounds__: the threads of a block, and the blocks
// that a multiprocessor must be able to hold at once.
#define LT_BOUNDED_KERNEL(NAME, ARGS, SHARED, ...)                                    \
  static void lt_body_##NAME(const ARGS &args, SHARED &shared);                       \
  extern "C" void NAME(const void *args) {                                            \
    if (lt_sim_thread.at % lt::kBlock) return; /* the first thread does it for all */ \
    static SHARED shared;                                                             \
    memset((void *)&shared, 0xcb, sizeof shared);                                     \
    lt_sim_block(lt::kBlock);                                                         \
    lt_body_##NAME(*(const ARGS *)args, shared);                                      \
  }                                                                                   \
  static void lt_body_##NAME(const ARGS &args, SHARED &shared)
#define LT_GROUP (lt_sim_thread.at / lt::kBlock)
#define LT_GROUPS (lt_sim_thread.of / lt::kBlock)
#else
template <class T>
struct Each {
  T of;
  LT_INLINE T &operator[](int) { return of; }
};

template <class F>
LT_INLINE void phase(F f) {
  f((int)threadIdx.x);
  __syncthreads();
}

#define LT_BOUNDED_KERNEL(NAME, ARGS, SHARED, ...)                        \
  static LT_INLINE void lt_body_##NAME(const ARGS &args, SHARED &shared); \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__)               \
      NAME(const __grid_constant__ ARGS args) {                           \
    __shared__ alignas(16) char shared[sizeof(SHARED)];                   \
    lt_body_##NAME(args, *(SHARED *)shared);                              \
  }                                                                       \
  static LT_INLINE void lt_body_##NAME(const ARGS &args, SHARED &shared)
#define LT_GROUP ((int64_t)blockIdx.x)
#define LT_GROUPS ((int64_t)gridDim.x)
#endif
#define LT_BLOCK_KERNEL(NAME, ARGS, SHARED) LT_BOUNDED_KERNEL(NAME, ARGS, SHARED, lt::kBlock)

// Rows of shared memory, one element longer than they are: columns are read without conflicts.
template <class T, int ROWS, int COLUMNS>
struct Tile {
  T rows[ROWS][COLUMNS + 1];
  LT_INLINE T &at(int i, int j) {
#ifdef LT_SIMULATED
    if (i < 0 || i >= ROWS || j < 0 || j >= COLUMNS) lt_sim_fault();
#endif
    return rows[i][j];
  }
};

}  // namespace
}  // namespace lt
#endif
