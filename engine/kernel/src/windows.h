// Windows of images: their elements, and the windows that contain an element.
#ifndef LIBTENSOR_KERNEL_SRC_WINDOWS_H
#define LIBTENSOR_KERNEL_SRC_WINDOWS_H

#include "../pooling.h"
#include "cast.h"
#include "vec.h"

namespace lt {
namespace {

// The type in which elements are compared and summed.
template <class T>
using Value = decltype(load_value(T()));

// The kernel elements from begin to end, whose image elements have the window's step as stride.
struct Range {
  int64_t begin, end;
  bool empty() const { return begin >= end; }
};

LT_INLINE int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// i * n / of, of numbers whose product may be too large.
LT_INLINE int64_t portion(int64_t i, int64_t n, int64_t of) {
  return i / of * n + (i % of) * n / of;
}
LT_INLINE int64_t portion_up(int64_t i, int64_t n, int64_t of) {
  return i / of * n + up((i % of) * n, of);
}

// The elements of window i inside of the image.
LT_INLINE Range met(const lt_windows &w, int64_t i) {
  if (w.taps == 0) return {portion(i, w.size, w.positions), portion_up(i + 1, w.size, w.positions)};
  int64_t begin = i * w.stride + w.origin, end = begin + (w.taps - 1) * w.step + 1;
  if (begin < 0) begin = w.step == 1 ? 0 : begin + up(-begin, w.step) * w.step;
  return {begin, end < w.size ? end : w.size};
}

// The windows of adjacent elements that contain element i of the image.
LT_INLINE Range meeting(const lt_windows &w, int64_t i) {
  if (w.taps == 0) return {portion(i, w.positions, w.size), portion_up(i + 1, w.positions, w.size)};
  const int64_t last = i - w.origin, first = last - w.taps + 1, end = last / w.stride + 1;
  return {first > 0 ? up(first, w.stride) : 0, end < w.positions ? end : w.positions};
}

// The range of positions with complete windows, which move by one stride.
LT_INLINE Range whole(const lt_windows &w) {
  if (w.taps == 0) return {0, 0};
  const int64_t left = w.size - w.origin - (w.taps - 1) * w.step;  // where whole windows may begin
  int64_t begin = up(-w.origin, w.stride), end = left > 0 ? up(left, w.stride) : 0;
  if (end > w.positions) end = w.positions;
  if (begin >= end) return {0, 0};
  return {begin, end};
}

// The first, the third, and so on of 2 N - 1 elements.
template <class T, size_t... I>
LT_INLINE Vec<T> every_other(const T *from, std::index_sequence<I...>) {
  constexpr int N = sizeof...(I);
  const Raw<T> low = load(from).v, high = load(from + N - 1).v;
  using Places = Raw<IntOf<T>>;
  return __builtin_shuffle(low, high, Places{(2 * I < N ? 2 * I : 2 * I + 1)...});
}

// The values of a vector's lanes, with a stride; only the given number is read.
template <bool kWhole, class T>
LT_INLINE Vec<Value<T>> load_lanes(const T *from, int64_t stride, int lanes) {
  using V = Vec<Value<T>>;
  constexpr int N = V::N;
  if constexpr (__is_same(T, Value<T>)) {
    if (stride == 1) return kWhole ? load(from) : load_partial(from, lanes);
    if (kWhole && stride == 2) return every_other(from, std::make_index_sequence<N>());
  }
  Value<T> each[N];
  for (int l = 0; l < N; l++)
    each[l] = kWhole || l < lanes ? load_value(from[l * stride]) : Value<T>(0);
  return load(each);
}
template <bool kWhole, class T>
LT_INLINE void store_lanes(T *to, Vec<Value<T>> v, int lanes) {
  if constexpr (__is_same(T, Value<T>)) {
    if (kWhole)
      store(to, v);
    else
      store_partial(to, v, lanes);
  } else {
    Value<T> each[Vec<Value<T>>::N];
    store(each, v);
    for (int l = 0; l < (kWhole ? Vec<Value<T>>::N : lanes); l++) to[l] = convert<T>(each[l]);
  }
}

// The elements at N indices, as values.
template <class T>
LT_INLINE Vec<Value<T>> gather(const T *from, const int32_t *at) {
  constexpr int N = Vec<Value<T>>::N;
#if LT_VECTOR_BYTES == 64 && defined(__AVX512F__)
  if constexpr (__is_same(T, float))
    return (Raw<T>)_mm512_i32gather_ps(_mm512_loadu_si512(at), from, sizeof(T));
  if constexpr (__is_same(T, double))
    return (Raw<T>)_mm512_i32gather_pd(_mm256_loadu_si256((const __m256i *)at), from, sizeof(T));
#elif LT_VECTOR_BYTES == 32 && defined(__AVX2__)
  if constexpr (__is_same(T, float))
    return (Raw<T>)_mm256_i32gather_ps(from, _mm256_loadu_si256((const __m256i *)at), sizeof(T));
  if constexpr (__is_same(T, double))
    return (Raw<T>)_mm256_i32gather_pd(from, _mm_loadu_si128((const __m128i *)at), sizeof(T));
#endif
  Value<T> each[N];
  for (int l = 0; l < N; l++) each[l] = load_value(from[at[l]]);
  return load(each);
}

// f(whole, i, lanes) for vectors of lanes, n in all, from lane i on.
template <class S, class F>
LT_INLINE void in_lanes(int64_t n, F &&f) {
  constexpr int N = Vec<S>::N;
  int64_t i = 0;
  for (; i + N <= n; i += N) f(std::true_type(), i, N);
  if (i < n) f(std::false_type(), i, int(n - i));
}

LT_INLINE int64_t volume_of(const lt_pooling *p) {
  return p->windows[0].size * p->windows[1].size * p->windows[2].size;
}
LT_INLINE int64_t positions_of(const lt_pooling *p) {
  return p->windows[0].positions * p->windows[1].positions * p->windows[2].positions;
}

}  // namespace
}  // namespace lt
#endif
