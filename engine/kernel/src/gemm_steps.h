// How products are summed, one step after the other: each policy P multiplies a vector of the first
// operand with one of the second and adds it to a vector of sums.
//
// T is the dtype that the second operand and the result are stored in, P::Left the one of the first
// operand, in which both are multiplied. A Unit holds kSteps values that follow one another along
// the summed dimension k.
#ifndef LIBTENSOR_KERNEL_SRC_GEMM_STEPS_H
#define LIBTENSOR_KERNEL_SRC_GEMM_STEPS_H

#include "cast.h"
#include "vec.h"

namespace lt {
namespace {

// One product a step, rounded once where the tier has fused multiply-add.
template <class L>
struct Each {
  using Left = L;
  using Unit = L;
  using Sum = L;
  static constexpr int kSteps = 1;
  static LT_INLINE Vec<Sum> add(Vec<Sum> sum, Vec<Unit> x, Vec<Unit> y) {
    if constexpr (kind_of<L> == kFloating)
      return fma(x, y, sum);
    else
      return sum + x * y;
  }
};

// Two products of 16-bit integers a step. Sums wrap at 32 bits, so that their low bits are those of
// sums that wrap at 8 or 16.
struct IntegerPairs {
  using Left = int16_t;
  using Unit = int32_t;
  using Sum = int32_t;
  static constexpr int kSteps = 2;
  static LT_INLINE Vec<Sum> add(Vec<Sum> sum, Vec<Unit> x, Vec<Unit> y) {
#if defined(__AVX512BW__)
    return sum + Vec<Sum>((Raw<Sum>)_mm512_madd_epi16((__m512i)x.v, (__m512i)y.v));
#elif defined(__AVX2__)
    return sum + Vec<Sum>((Raw<Sum>)_mm256_madd_epi16((__m256i)x.v, (__m256i)y.v));
#elif defined(__SSE2__)
    return sum + Vec<Sum>((Raw<Sum>)_mm_madd_epi16((__m128i)x.v, (__m128i)y.v));
#else
    const Vec<Sum> low = (x.v << 16 >> 16) * (y.v << 16 >> 16), high = (x.v >> 16) * (y.v >> 16);
    return sum + low + high;
#endif
  }
};

// The policy for a stored dtype.
template <class T>
struct StepsOf {
  using type = Each<T>;
};
template <>
struct StepsOf<int8_t> {
  using type = IntegerPairs;
};
template <>
struct StepsOf<uint8_t> {
  using type = IntegerPairs;
};
template <>
struct StepsOf<int16_t> {
  using type = IntegerPairs;
};
template <>
struct StepsOf<Float16> {
  using type = Each<float>;
};
template <>
struct StepsOf<BFloat16> {
  using type = Each<float>;
};

// As many values along k as a vector holds.
template <class P, class T>
LT_INLINE Vec<typename P::Unit> along(const T *p) {
  using Left = typename P::Left;
  using Unit = typename P::Unit;
  if constexpr (__is_same(T, Left)) {
    return load((const Unit *)p);
#if defined(__AVX512F__)
  } else if constexpr (__is_same(T, Float16)) {
    return (Raw<float>)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#elif defined(__F16C__)
  } else if constexpr (__is_same(T, Float16)) {
    return (Raw<float>)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#endif
  } else if constexpr (__is_same(T, BFloat16)) {
    typedef IntOf<T> Narrow __attribute__((vector_size(Vec<Left>::N * sizeof(T))));
    Narrow v;
    memcpy(&v, p, sizeof v);
    return bit_cast<Unit>(Vec<int32_t>(__builtin_convertvector(v, Raw<int32_t>)) << 16);
  } else if constexpr (kind_of<T> == kInteger) {
    typedef T Narrow __attribute__((vector_size(Vec<Left>::N * sizeof(T))));
    Narrow v;
    memcpy(&v, p, sizeof v);
    return bit_cast<Unit>(Vec<Left>(__builtin_convertvector(v, Raw<Left>)));
  } else {
    Left values[Vec<Left>::N];
    for (int i = 0; i < Vec<Left>::N; i++) values[i] = convert<Left>(p[i]);
    return load(values);
  }
}

// The elements of a and b by turns.
template <class V, size_t... I>
LT_INLINE auto by_turns(const V &a, const V &b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, int(I / 2 + I % 2 * (sizeof...(I) / 2))...);
}

// As many adjacent columns as a vector holds units of kSteps values each, with stride row in
// elements, or of fewer values.
template <class P, class T>
LT_INLINE Vec<typename P::Unit> across(const T *p, [[maybe_unused]] int64_t row,
                                       [[maybe_unused]] int64_t values) {
  using Unit = typename P::Unit;
  if constexpr (P::kSteps == 1) {
    return along<P>(p);
  } else {
    using Value = std::conditional_t<sizeof(T) == 2, int16_t, T>;
    constexpr int N = Vec<Unit>::N;
    typedef Value Values __attribute__((vector_size(N * sizeof(Value))));
    Values rows[P::kSteps] = {};
    for (int s = 0; s < P::kSteps; s++)
      if (s < values) memcpy(&rows[s], p + s * row, sizeof(Values));
    if constexpr (P::kSteps == 2) {
      const auto pairs = by_turns(rows[0], rows[1], std::make_index_sequence<2 * N>());
      return bit_cast<Unit>(Vec<int16_t>(__builtin_convertvector(pairs, Raw<int16_t>)));
    } else {
      const auto even = by_turns(rows[0], rows[2], std::make_index_sequence<2 * N>());
      const auto odd = by_turns(rows[1], rows[3], std::make_index_sequence<2 * N>());
      return bit_cast<Unit>(Vec<Value>(by_turns(even, odd, std::make_index_sequence<4 * N>())));
    }
  }
}

// The unit at p, of kSteps values or fewer.
template <class P>
LT_INLINE typename P::Unit unit_at(const typename P::Left *p, int64_t values = P::kSteps) {
  typename P::Unit u{};
  memcpy(&u, p, size_t(values) * sizeof(*p));
  return u;
}

// c = alpha * sums + beta * d for one row of w columns, with strides step and d_step in elements;
// the sums are overwritten.
template <class Sum, class T>
void finish(Sum *sums, Sum alpha, Sum beta, const T *d, int64_t d_step, T *c, int64_t step,
            int64_t w) {
  if (alpha != Sum(1))
    for (int64_t k = 0; k < w; k++) sums[k] = alpha * sums[k];
  if (beta != Sum(0))
    for (int64_t k = 0; k < w; k++) sums[k] = sums[k] + beta * convert<Sum>(d[k * d_step]);
  if (__is_same(Sum, T) && step == 1)
    for (int64_t k = 0; k < w; k++) c[k] = convert<T>(sums[k]);
  else
    cast_row<Sum, T>((const char *)sums, sizeof(Sum), (char *)c, step * int64_t(sizeof(T)), w);
}

// A factor of products of T: integers are given as T, floats in the dtype of their sums.
template <class Sum, class T>
Sum factor(const uint8_t *bytes) {
  std::conditional_t<kind_of<T> == kInteger, T, Sum> f;
  memcpy(&f, bytes, sizeof f);
  return Sum(f);
}

}  // namespace
}  // namespace lt
#endif
