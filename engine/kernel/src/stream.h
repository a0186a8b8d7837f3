// Stores that bypass the caches, for outputs larger than these: a plain store reads a cache line
// before it writes it, and evicts lines that are still to be read.
#ifndef LIBTENSOR_KERNEL_STREAM_H
#define LIBTENSOR_KERNEL_STREAM_H

#include "conversions.h"

namespace lt {
namespace {

#if defined(__x86_64__)

constexpr int64_t kLine = 64;  // bytes

// The fewer stores fill a line, the less often it is written in parts: one store of 64 bytes takes
// two thirds of the time of four of 16.
LT_INLINE void stream_line(const char *src, char *dst) {
#if defined(__AVX512F__)
  _mm512_stream_si512((__m512i *)dst, _mm512_loadu_si512((const __m512i *)src));
#elif defined(__AVX__)
  for (int64_t i = 0; i < kLine; i += 32)
    _mm256_stream_si256((__m256i *)(dst + i), _mm256_loadu_si256((const __m256i *)(src + i)));
#else
  for (int64_t i = 0; i < kLine; i += 16)
    _mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(src + i)));
#endif
}

template <int64_t kSize>
void stream_row(const char *src, int64_t, char *dst, int64_t, int64_t n) {
  int64_t left = n * kSize, head = -(intptr_t)dst & (kLine - 1);
  if (head > left) head = left;
  memcpy(dst, src, (size_t)head);
  for (src += head, dst += head, left -= head; left >= kLine; left -= kLine) {
    stream_line(src, dst);
    src += kLine, dst += kLine;
  }
  memcpy(dst, src, (size_t)left);
}

// The function that stores n dense elements of a size; nullptr for none.
LT_INLINE CastRow find_stream(int64_t size) {
  switch (size) {
    case 1:
      return stream_row<1>;
    case 2:
      return stream_row<2>;
    case 4:
      return stream_row<4>;
    case 8:
      return stream_row<8>;
    case 16:
      return stream_row<16>;
  }
  return nullptr;
}

// Other threads see streamed bytes only after this.
LT_INLINE void finish_streams() { _mm_sfence(); }

#else

LT_INLINE CastRow find_stream(int64_t) { return nullptr; }
LT_INLINE void finish_streams() {}

#endif

}  // namespace
}  // namespace lt
#endif
