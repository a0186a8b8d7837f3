// Positions and elements that a mask selects.
#include "../intrinsics.h"
#include "../rows.h"

namespace lt {
namespace {

struct mask_args {
  uintptr_t mask, from, to;
  int64_t n, base, count;  // base: the position of the first mask byte; count: the result
  int64_t limit;  // elements that may be moved, were the mask to change after it was counted
};

void mask_count(mask_args *a) {
  const uint8_t *mask = (const uint8_t *)a->mask;
  int64_t count = 0;
  for (int64_t i = 0; i < a->n;) {
    int64_t end = a->n - i < 255 ? a->n : i + 255;
    uint8_t part = 0;  // holds 255 at most, which keeps the loop in bytes
    for (; i < end; i++) part = (uint8_t)(part + (mask[i] != 0));
    count += part;
  }
  a->count = count;
}

// Writes base + i for every i whose mask byte is set.
void mask_positions(mask_args *a) {
  const uint8_t *mask = (const uint8_t *)a->mask;
  int64_t *to = (int64_t *)a->to, *const end = to + a->limit;
  int64_t i = 0;
#ifdef __AVX512F__
  __m512i at =
      _mm512_add_epi64(_mm512_set1_epi64(a->base), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
  const __m512i eight = _mm512_set1_epi64(8);
  for (; i + 8 <= a->n; i += 8) {
    __mmask8 m = (__mmask8)_mm_test_epi8_mask(_mm_loadl_epi64((const __m128i *)(mask + i)),
                                              _mm_set1_epi8(-1));
    const int found = __builtin_popcount(m);
    if (found > end - to) break;
    _mm512_mask_storeu_epi64(to, (__mmask8)((1u << found) - 1), _mm512_maskz_compress_epi64(m, at));
    to += found;
    at = _mm512_add_epi64(at, eight);
  }
#endif
  for (; i < a->n; i++) {
    if (!mask[i]) continue;
    if (to == end) break;
    *to++ = a->base + i;
  }
  a->count = i < a->n ? a->limit + 1 : a->limit - (end - to);
}

// Copies the elements of from whose mask byte is set.
template <class T>
void mask_take(mask_args *a) {
  const uint8_t *mask = (const uint8_t *)a->mask;
  const T *from = (const T *)a->from;
  T *to = (T *)a->to, *const end = to + a->limit;
  int64_t i = 0;
#ifdef __AVX512F__
  if constexpr (sizeof(T) == 4) {
    for (; i + 16 <= a->n; i += 16) {
      __mmask16 m =
          _mm_test_epi8_mask(_mm_loadu_si128((const __m128i *)(mask + i)), _mm_set1_epi8(-1));
      const int found = __builtin_popcount(m);
      if (found > end - to) break;
      __m512i v = _mm512_maskz_compress_epi32(m, _mm512_loadu_si512(from + i));
      _mm512_mask_storeu_epi32(to, (__mmask16)((1u << found) - 1), v);
      to += found;
    }
  }
#endif
  for (; i < a->n; i++) {
    if (!mask[i]) continue;
    if (to == end) break;
    *to++ = from[i];
  }
  a->count = i < a->n ? a->limit + 1 : a->limit - (end - to);
}

// Writes the elements of from, one after another, where the mask byte is set.
template <class T>
void mask_give(mask_args *a) {
  const uint8_t *mask = (const uint8_t *)a->mask;
  const T *from = (const T *)a->from, *const end = from + a->limit;
  T *to = (T *)a->to;
  int64_t i = 0;
  for (; i < a->n; i++) {
    if (!mask[i]) continue;
    if (from == end) break;
    to[i] = *from++;
  }
  a->count = i < a->n ? a->limit + 1 : a->limit - (end - from);
}

}  // namespace
}  // namespace lt

// One function per element size, under a dtype of that size.
// clang-format off
#define LT_SIZES(F) {LT_NONE, (void *)lt::F<uint8_t>, LT_NONE, (void *)lt::F<int16_t>, (void *)lt::F<int32_t>, (void *)lt::F<int64_t>, \
                     LT_NONE, LT_NONE, LT_NONE, LT_NO_FLOATS, LT_NONE, (void *)lt::F<lt::Complex128>, LT_NONE, LT_NONE}
// clang-format on

LT_UNIT(masks){
    LT_SINGLE("mask_count", lt::mask_count),
    LT_SINGLE("mask_positions", lt::mask_positions),
    {"mask_take", "", LT_SIZES(mask_take)},
    {"mask_give", "", LT_SIZES(mask_give)},
    LT_END,
};
