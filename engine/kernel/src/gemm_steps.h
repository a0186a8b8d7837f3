// How products are summed, one step after the other: each policy multiplies a vector of the first
// operand with one of the second and adds it to a vector of sums.
//
// Stored is the dtype of the second operand and of the result, Left that of the first one, which
// both are computed in. A Unit holds kSteps values that follow one another along the summed
// dimension, and becomes one Sum.
#ifndef LIBTENSOR_KERNEL_SRC_GEMM_STEPS_H
#define LIBTENSOR_KERNEL_SRC_GEMM_STEPS_H

#include "cast.h"
#include "vec.h"

namespace lt {
namespace {

// One product a step, rounded once where the tier has fused multiply-add.
template <class S, class L = S>
struct Each {
  using Stored = S;
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
template <class S>
struct IntegerPairs {
  using Stored = S;
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
  using type = IntegerPairs<int8_t>;
};
template <>
struct StepsOf<uint8_t> {
  using type = IntegerPairs<uint8_t>;
};
template <>
struct StepsOf<int16_t> {
  using type = IntegerPairs<int16_t>;
};
template <>
struct StepsOf<Float16> {
  using type = Each<Float16, float>;
};
template <>
struct StepsOf<BFloat16> {
  using type = Each<BFloat16, float>;
};

// A value of a pair as the low half of its unit.
template <class P>
LT_INLINE uint32_t low_half(typename P::Stored v) {
  if constexpr (__is_same(typename P::Left, BFloat16))
    return v.bits;
  else
    return uint16_t(int16_t(v));
}

// The unit at p, of which only the first step counts where half is set.
template <class P>
LT_INLINE typename P::Unit unit_at(const typename P::Left *p, bool half = false) {
  typename P::Unit u{};
  memcpy(&u, p, half ? sizeof(*p) : sizeof u);
  return u;
}

// c = alpha * sums + beta * c for one row of w columns, step elements apart; the sums are changed.
template <class P>
void finish(typename P::Sum *sums, typename P::Sum alpha, typename P::Sum beta,
            typename P::Stored *c, int64_t step, int64_t w) {
  using Stored = typename P::Stored;
  using Sum = typename P::Sum;
  if (alpha != Sum(1))
    for (int64_t k = 0; k < w; k++) sums[k] = alpha * sums[k];
  if (beta != Sum(0))
    for (int64_t k = 0; k < w; k++) sums[k] = sums[k] + beta * convert<Sum>(c[k * step]);
  cast_row<Sum, Stored>((const char *)sums, sizeof(Sum), (char *)c, step * int64_t(sizeof(Stored)),
                        w);
}

// A factor, which is given in the dtype that the stored one computes in.
template <class P>
typename P::Sum factor(const uint8_t *bytes) {
  using Stored = typename P::Stored;
  using Given = std::conditional_t<kind_of<Stored> == kInteger, Stored, typename P::Sum>;
  Given f;
  memcpy(&f, bytes, sizeof f);
  return typename P::Sum(f);
}

}  // namespace
}  // namespace lt
#endif
