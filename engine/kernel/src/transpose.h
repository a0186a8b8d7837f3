// Copies between two layouts with different fast dimensions: square blocks are transposed in
// registers, so that both sides access whole cache lines.
#ifndef LIBTENSOR_KERNEL_TRANSPOSE_H
#define LIBTENSOR_KERNEL_TRANSPOSE_H

#include "prelude.h"

namespace lt {
namespace {

// N elements of an unsigned type T.
template <class T, int N>
struct Lanes {
  typedef T Vector __attribute__((vector_size(N * sizeof(T))));
};

// Interleaves a and b. Vectors are passed by reference, since the calling convention for values
// depends on the CPU tier.
template <int N, class V>
LT_INLINE void interleave(const V &a, const V &b, V &low, V &high) {
  if constexpr (N == 4) {
    low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  } else {
    low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
}

// Transposes one block of N x N elements: row i of src becomes column i of dst. Each of the log2(N)
// rounds interleaves the rows of the upper half with those of the lower half.
template <class T, int N>
LT_INLINE void turn_block(char *dst, int64_t dst_step, const char *src, int64_t src_step) {
  using V = typename Lanes<T, N>::Vector;
  V rows[N], next[N];
  for (int i = 0; i < N; i++) memcpy(&rows[i], src + i * src_step, sizeof(V));
  for (int round = 1; round < N; round *= 2) {
    for (int i = 0; i < N / 2; i++)
      interleave<N, V>(rows[i], rows[i + N / 2], next[2 * i], next[2 * i + 1]);
    for (int i = 0; i < N; i++) rows[i] = next[i];
  }
  for (int i = 0; i < N; i++) memcpy(dst + i * dst_step, &rows[i], sizeof(V));
}

// Copies a plane of columns x rows elements, which need no alignment: along its columns dst is
// dense and src moves by src_step, along its rows src is dense and dst moves by dst_step.
template <class T, int N>
void turn_plane(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t columns,
                int64_t rows) {
  constexpr int64_t kLines = 64 / sizeof(T);  // one cache line of src at a time
  const int64_t s = sizeof(T);
  for (int64_t top = 0; top < rows; top += kLines) {
    const int64_t bottom = rows - top < kLines ? rows : top + kLines;
    for (int64_t left = 0; left < columns; left += N) {
      const int64_t right = columns - left < N ? columns : left + N;
      int64_t r = top;
      if (right - left == N) {
        for (; r + N <= bottom; r += N)
          turn_block<T, N>(dst + r * dst_step + left * s, dst_step, src + left * src_step + r * s,
                           src_step);
      }
      for (; r < bottom; r++)
        for (int64_t c = left; c < right; c++)
          memcpy(dst + r * dst_step + c * s, src + c * src_step + r * s, sizeof(T));
    }
  }
}

using TurnPlane = void (*)(char *, int64_t, const char *, int64_t, int64_t, int64_t);

LT_INLINE TurnPlane find_turn(int64_t size) {
  switch (size) {
    case 2:
      return turn_plane<uint16_t, 8>;
    case 4:
      return turn_plane<uint32_t, 8>;
    case 8:
      return turn_plane<uint64_t, 4>;
  }
  return nullptr;
}

}  // namespace
}  // namespace lt
#endif
