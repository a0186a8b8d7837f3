// Vec<T>: one SIMD register of LT_VECTOR_BYTES bytes, built on the vector extensions of GCC and
// Clang.
// The same headers are compiled once per CPU tier into one library, so everything has internal
// linkage: a weak symbol shared between tiers would run AVX-512 code on a CPU without it.
#ifndef LT_VEC_H_
#define LT_VEC_H_

#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

#ifndef LT_VECTOR_BYTES
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define LT_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define LT_VECTOR_BYTES 32
#else
#define LT_VECTOR_BYTES 16
#endif
#endif

#include "intrinsics.h"

// LT_FMA: the tier has a fused multiply-add instruction.
#if defined(__FMA__) || defined(__aarch64__)
#define LT_FMA 1
#else
#define LT_FMA 0
#endif

// LT_BITMASK: comparisons return one bit per lane in a mask register instead of a vector of lanes.
#if LT_VECTOR_BYTES == 64 && defined(__AVX512F__) && defined(__AVX512DQ__)
#define LT_BITMASK 1
#else
#define LT_BITMASK 0
#endif

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define LT_INLINE inline __attribute__((always_inline))

namespace lt {
namespace {

// The signed integer type as wide as T, for masks and bit patterns.
template <class T>
using IntOf =
    std::conditional_t<sizeof(T) == 8, int64_t,
                       std::conditional_t<sizeof(T) == 4, int32_t,
                                          std::conditional_t<sizeof(T) == 2, int16_t, int8_t>>>;

template <class T>
struct RawOf {
  typedef T type __attribute__((vector_size(LT_VECTOR_BYTES)));
};
template <class T>
using Raw = typename RawOf<T>::type;

template <class T, size_t... I>
LT_INLINE Raw<T> broadcast(T x, std::index_sequence<I...>) {
  return Raw<T>{((void)I, x)...};
}

// GCC fuses a*b+c by default in FMA tiers, which breaks error-free transformations and makes a
// result depend on the code around it. An empty asm statement that "changes" the product prevents
// that.
template <class V>
LT_INLINE void keep_product(V& p) {
#if LT_FMA && !defined(__clang__)
#if defined(__x86_64__)
  __asm__("" : "+v"(p));
#else
  __asm__("" : "+w"(p));
#endif
#else
  (void)p;
#endif
}

template <class T>
struct Mask;

template <class T>
struct Vec {
  static_assert(std::is_arithmetic<T>::value, "Vec holds numbers");
  static constexpr int N = LT_VECTOR_BYTES / sizeof(T);
  Raw<T> v;

  Vec() = default;
  LT_INLINE Vec(Raw<T> raw) : v(raw) {}
  LT_INLINE Vec(T x) : v(broadcast(x, std::make_index_sequence<N>())) {}

  LT_INLINE T operator[](int i) const { return v[i]; }

  LT_INLINE friend Vec operator+(Vec a, Vec b) { return a.v + b.v; }
  LT_INLINE friend Vec operator-(Vec a, Vec b) { return a.v - b.v; }
  LT_INLINE friend Vec operator*(Vec a, Vec b) {
    Raw<T> p = a.v * b.v;
    if constexpr (std::is_floating_point<T>::value) keep_product(p);
    return p;
  }
  LT_INLINE friend Vec operator/(Vec a, Vec b) { return a.v / b.v; }
  LT_INLINE friend Vec operator-(Vec a) { return -a.v; }
  LT_INLINE friend Vec operator&(Vec a, Vec b) { return a.v & b.v; }
  LT_INLINE friend Vec operator|(Vec a, Vec b) { return a.v | b.v; }
  LT_INLINE friend Vec operator^(Vec a, Vec b) { return a.v ^ b.v; }
  LT_INLINE friend Vec operator~(Vec a) { return ~a.v; }
  LT_INLINE friend Vec operator<<(Vec a, int n) { return a.v << n; }
  LT_INLINE friend Vec operator>>(Vec a, int n) { return a.v >> n; }

  LT_INLINE friend Mask<T> operator<(Vec a, Vec b) { return Mask<T>::lt(a.v, b.v); }
  LT_INLINE friend Mask<T> operator<=(Vec a, Vec b) { return Mask<T>::le(a.v, b.v); }
  LT_INLINE friend Mask<T> operator>(Vec a, Vec b) { return Mask<T>::lt(b.v, a.v); }
  LT_INLINE friend Mask<T> operator>=(Vec a, Vec b) { return Mask<T>::le(b.v, a.v); }
  LT_INLINE friend Mask<T> operator==(Vec a, Vec b) { return Mask<T>::eq(a.v, b.v); }
  LT_INLINE friend Mask<T> operator!=(Vec a, Vec b) { return !Mask<T>::eq(a.v, b.v); }
};

// ---- masks ---------------------------------------------------------------------------------

#if LT_BITMASK

// Defined for lanes of 4 and 8 bytes.
template <class T>
struct Mask {
  using Bits = std::conditional_t<sizeof(T) == 8, __mmask8, __mmask16>;
  Bits m;

#define LT_COMPARE(name, op)                                                   \
  static LT_INLINE Mask name(Raw<T> a, Raw<T> b) {                             \
    if constexpr (std::is_same<T, float>::value)                               \
      return {_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_##op##_OQ)};       \
    else if constexpr (std::is_same<T, double>::value)                         \
      return {_mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_##op##_OQ)};     \
    else if constexpr (sizeof(T) == 4 && std::is_signed<T>::value)             \
      return {_mm512_cmp_epi32_mask((__m512i)a, (__m512i)b, _MM_CMPINT_##op)}; \
    else if constexpr (sizeof(T) == 4)                                         \
      return {_mm512_cmp_epu32_mask((__m512i)a, (__m512i)b, _MM_CMPINT_##op)}; \
    else if constexpr (std::is_signed<T>::value)                               \
      return {_mm512_cmp_epi64_mask((__m512i)a, (__m512i)b, _MM_CMPINT_##op)}; \
    else                                                                       \
      return {_mm512_cmp_epu64_mask((__m512i)a, (__m512i)b, _MM_CMPINT_##op)}; \
  }
  LT_COMPARE(lt, LT)
  LT_COMPARE(le, LE)
  LT_COMPARE(eq, EQ)
#undef LT_COMPARE

  LT_INLINE friend Mask operator&(Mask a, Mask b) { return {(Bits)(a.m & b.m)}; }
  LT_INLINE friend Mask operator|(Mask a, Mask b) { return {(Bits)(a.m | b.m)}; }
  LT_INLINE friend Mask operator^(Mask a, Mask b) { return {(Bits)(a.m ^ b.m)}; }
  LT_INLINE friend Mask operator!(Mask a) { return {(Bits)~a.m}; }
};

template <class T>
LT_INLINE bool any(Mask<T> a) {
  return a.m != 0;
}

template <class T>
LT_INLINE Vec<T> select(Mask<T> m, Vec<T> a, Vec<T> b) {
  if constexpr (std::is_same<T, float>::value)
    return (Raw<T>)_mm512_mask_blend_ps(m.m, (__m512)b.v, (__m512)a.v);
  else if constexpr (std::is_same<T, double>::value)
    return (Raw<T>)_mm512_mask_blend_pd(m.m, (__m512d)b.v, (__m512d)a.v);
  else if constexpr (sizeof(T) == 4)
    return (Raw<T>)_mm512_mask_blend_epi32(m.m, (__m512i)b.v, (__m512i)a.v);
  else
    return (Raw<T>)_mm512_mask_blend_epi64(m.m, (__m512i)b.v, (__m512i)a.v);
}

// A mask of lanes of type T as a mask of lanes of type U, of the same width.
template <class U, class T>
LT_INLINE Mask<U> mask_cast(Mask<T> a) {
  static_assert(sizeof(U) == sizeof(T), "lanes must have the same width");
  return {a.m};
}

#else

template <class T>
struct Mask {
  using Bits = Raw<IntOf<T>>;
  Bits m;

  static LT_INLINE Mask lt(Raw<T> a, Raw<T> b) { return {(Bits)(a < b)}; }
  static LT_INLINE Mask le(Raw<T> a, Raw<T> b) { return {(Bits)(a <= b)}; }
  static LT_INLINE Mask eq(Raw<T> a, Raw<T> b) { return {(Bits)(a == b)}; }

  LT_INLINE friend Mask operator&(Mask a, Mask b) { return {a.m & b.m}; }
  LT_INLINE friend Mask operator|(Mask a, Mask b) { return {a.m | b.m}; }
  LT_INLINE friend Mask operator^(Mask a, Mask b) { return {a.m ^ b.m}; }
  LT_INLINE friend Mask operator!(Mask a) { return {~a.m}; }
};

template <class T>
LT_INLINE bool any(Mask<T> a) {
#if defined(__AVX__) && LT_VECTOR_BYTES == 32
  return _mm256_movemask_epi8((__m256i)a.m) != 0;
#elif defined(__SSE2__) && LT_VECTOR_BYTES == 16
  return _mm_movemask_epi8((__m128i)a.m) != 0;
#else
  Raw<uint64_t> w = (Raw<uint64_t>)a.m;
  uint64_t r = 0;
  for (int i = 0; i < Vec<uint64_t>::N; i++) r |= w[i];
  return r != 0;
#endif
}

template <class T>
LT_INLINE Vec<T> select(Mask<T> m, Vec<T> a, Vec<T> b) {
  return m.m ? a.v : b.v;
}

template <class U, class T>
LT_INLINE Mask<U> mask_cast(Mask<T> a) {
  static_assert(sizeof(U) == sizeof(T), "lanes must have the same width");
  return {a.m};
}

#endif

template <class T>
LT_INLINE bool all(Mask<T> a) {
  return !any(!a);
}

// ---- memory --------------------------------------------------------------------------------

// N values from p, which needs no alignment.
template <class T>
LT_INLINE Vec<T> load(const T* p) {
  Vec<T> r;
  memcpy(&r.v, p, sizeof r.v);
  return r;
}

template <class T>
LT_INLINE void store(T* p, Vec<T> a) {
  memcpy(p, &a.v, sizeof a.v);
}

// n values from p, 0 <= n <= N; the other lanes hold 1, which no function here treats as special.
template <class T>
LT_INLINE Vec<T> load_partial(const T* p, int n) {
#if LT_BITMASK
  if constexpr (std::is_same<T, float>::value)
    return (Raw<T>)_mm512_mask_loadu_ps(_mm512_set1_ps(1), (__mmask16)((1u << n) - 1), p);
  if constexpr (std::is_same<T, double>::value)
    return (Raw<T>)_mm512_mask_loadu_pd(_mm512_set1_pd(1), (__mmask8)((1u << n) - 1), p);
#endif
  T lanes[Vec<T>::N];
  for (int i = 0; i < Vec<T>::N; i++) lanes[i] = i < n ? p[i] : T(1);
  return load(lanes);
}

template <class T>
LT_INLINE void store_partial(T* p, Vec<T> a, int n) {
#if LT_BITMASK
  if constexpr (std::is_same<T, float>::value) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)a.v);
    return;
  }
  if constexpr (std::is_same<T, double>::value) {
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)a.v);
    return;
  }
#endif
  T lanes[Vec<T>::N];
  store(lanes, a);
  for (int i = 0; i < n; i++) p[i] = lanes[i];
}

// ---- bits ----------------------------------------------------------------------------------

// The same bits as lanes of type U.
template <class U, class T>
LT_INLINE Vec<U> bit_cast(Vec<T> a) {
  return (Raw<U>)a.v;
}

template <class T>
LT_INLINE Vec<T> sign_bit(Vec<T> a) {
  using I = IntOf<T>;
  return bit_cast<T>(bit_cast<I>(a) & Vec<I>(I(1) << (8 * sizeof(T) - 1)));
}

template <class T>
LT_INLINE Vec<T> abs(Vec<T> a) {
  using I = IntOf<T>;
  return bit_cast<T>(bit_cast<I>(a) & Vec<I>(~(I(1) << (8 * sizeof(T) - 1))));
}

template <class T>
LT_INLINE Vec<T> xor_bits(Vec<T> a, Vec<T> b) {
  using I = IntOf<T>;
  return bit_cast<T>(bit_cast<I>(a) ^ bit_cast<I>(b));
}

template <class T>
LT_INLINE Vec<T> copysign(Vec<T> magnitude, Vec<T> sign) {
  using I = IntOf<T>;
  return bit_cast<T>(bit_cast<I>(abs(magnitude)) | bit_cast<I>(sign_bit(sign)));
}

// ---- arithmetic that the language has no operator for -------------------------------------

// LT_PS(op, ...) and LT_PD(op, ...): the x86 instruction on a whole register.
#if defined(__x86_64__) && LT_VECTOR_BYTES == 64
#define LT_PS(op, ...) _mm512_##op##_ps(__VA_ARGS__)
#define LT_PD(op, ...) _mm512_##op##_pd(__VA_ARGS__)
using RawPs = __m512;
using RawPd = __m512d;
#elif defined(__x86_64__) && LT_VECTOR_BYTES == 32
#define LT_PS(op, ...) _mm256_##op##_ps(__VA_ARGS__)
#define LT_PD(op, ...) _mm256_##op##_pd(__VA_ARGS__)
using RawPs = __m256;
using RawPd = __m256d;
#elif defined(__x86_64__)
#define LT_PS(op, ...) _mm_##op##_ps(__VA_ARGS__)
#define LT_PD(op, ...) _mm_##op##_pd(__VA_ARGS__)
using RawPs = __m128;
using RawPd = __m128d;
#endif

// a*b + c: rounded once where LT_FMA, twice elsewhere.
template <class T>
LT_INLINE Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
#if LT_FMA && defined(__x86_64__)
  if constexpr (sizeof(T) == 4)
    return (Raw<T>)LT_PS(fmadd, (RawPs)a.v, (RawPs)b.v, (RawPs)c.v);
  else
    return (Raw<T>)LT_PD(fmadd, (RawPd)a.v, (RawPd)b.v, (RawPd)c.v);
#elif defined(__aarch64__)
  if constexpr (sizeof(T) == 4)
    return (Raw<T>)vfmaq_f32((float32x4_t)c.v, (float32x4_t)a.v, (float32x4_t)b.v);
  else
    return (Raw<T>)vfmaq_f64((float64x2_t)c.v, (float64x2_t)a.v, (float64x2_t)b.v);
#else
  return a * b + c;
#endif
}

template <class T>
LT_INLINE Vec<T> sqrt(Vec<T> a) {
#if defined(__x86_64__)
  if constexpr (sizeof(T) == 4)
    return (Raw<T>)LT_PS(sqrt, (RawPs)a.v);
  else
    return (Raw<T>)LT_PD(sqrt, (RawPd)a.v);
#elif defined(__aarch64__)
  if constexpr (sizeof(T) == 4)
    return (Raw<T>)vsqrtq_f32((float32x4_t)a.v);
  else
    return (Raw<T>)vsqrtq_f64((float64x2_t)a.v);
#else
  Vec<T> r;
  for (int i = 0; i < Vec<T>::N; i++) r.v[i] = T(__builtin_sqrt(a.v[i]));
  return r;
#endif
}

// The smaller and the larger of two values; b where either is NaN.
template <class T>
LT_INLINE Vec<T> min(Vec<T> a, Vec<T> b) {
#if defined(__x86_64__)
  if constexpr (std::is_same<T, float>::value) return (Raw<T>)LT_PS(min, (RawPs)a.v, (RawPs)b.v);
  if constexpr (std::is_same<T, double>::value) return (Raw<T>)LT_PD(min, (RawPd)a.v, (RawPd)b.v);
#endif
  return select(a < b, a, b);
}

template <class T>
LT_INLINE Vec<T> max(Vec<T> a, Vec<T> b) {
#if defined(__x86_64__)
  if constexpr (std::is_same<T, float>::value) return (Raw<T>)LT_PS(max, (RawPs)a.v, (RawPs)b.v);
  if constexpr (std::is_same<T, double>::value) return (Raw<T>)LT_PD(max, (RawPd)a.v, (RawPd)b.v);
#endif
  return select(a > b, a, b);
}

// The nearest integer, ties to even. The sign of zero is kept.
template <class T>
LT_INLINE Vec<T> round_even(Vec<T> a) {
#if defined(__x86_64__) && LT_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4)
    return (Raw<T>)_mm512_roundscale_ps((__m512)a.v, 8);
  else
    return (Raw<T>)_mm512_roundscale_pd((__m512d)a.v, 8);
#elif defined(__SSE4_1__)
  if constexpr (sizeof(T) == 4)
    return (Raw<T>)LT_PS(round, (RawPs)a.v, 8);
  else
    return (Raw<T>)LT_PD(round, (RawPd)a.v, 8);
#elif defined(__aarch64__)
  if constexpr (sizeof(T) == 4)
    return (Raw<T>)vrndnq_f32((float32x4_t)a.v);
  else
    return (Raw<T>)vrndnq_f64((float64x2_t)a.v);
#else
  // Adding 2^(mantissa bits) rounds the fraction away.
  const Vec<T> big = T(sizeof(T) == 4 ? 0x1p23 : 0x1p52);
  const Vec<T> m = abs(a);
  return copysign(select(m < big, (m + big) - big, m), a);
#endif
}

template <class T>
LT_INLINE Vec<T> floor(Vec<T> a) {
#if defined(__x86_64__) && LT_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4)
    return (Raw<T>)_mm512_roundscale_ps((__m512)a.v, 9);
  else
    return (Raw<T>)_mm512_roundscale_pd((__m512d)a.v, 9);
#elif defined(__SSE4_1__)
  if constexpr (sizeof(T) == 4)
    return (Raw<T>)LT_PS(round, (RawPs)a.v, 9);
  else
    return (Raw<T>)LT_PD(round, (RawPd)a.v, 9);
#else
  const Vec<T> r = round_even(a);
  return copysign(select(r > a, r - T(1), r), a);
#endif
}

// Towards zero.
template <class T>
LT_INLINE Vec<T> trunc(Vec<T> a) {
  return copysign(floor(abs(a)), a);
}

// ---- conversions ---------------------------------------------------------------------------

// Lane by lane, as static_cast does; T and U must be equally wide.
template <class U, class T>
LT_INLINE Vec<U> convert(Vec<T> a) {
  static_assert(sizeof(U) == sizeof(T), "lanes must have the same width");
  return __builtin_convertvector(a.v, Raw<U>);
}

// The two halves of a float vector as doubles.
struct Wide {
  Vec<double> lo, hi;
};

LT_INLINE Wide widen(Vec<float> a) {
#if defined(__x86_64__) && LT_VECTOR_BYTES == 64
  const __m512 x = (__m512)a.v;
  return {(Raw<double>)_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
          (Raw<double>)_mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
#elif defined(__x86_64__) && LT_VECTOR_BYTES == 32
  const __m256 x = (__m256)a.v;
  return {(Raw<double>)_mm256_cvtps_pd(_mm256_castps256_ps128(x)),
          (Raw<double>)_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
#elif defined(__x86_64__)
  const __m128 x = (__m128)a.v;
  return {(Raw<double>)_mm_cvtps_pd(x), (Raw<double>)_mm_cvtps_pd(_mm_movehl_ps(x, x))};
#else
  Wide w;
  for (int i = 0; i < Vec<double>::N; i++) {
    w.lo.v[i] = a.v[i];
    w.hi.v[i] = a.v[i + Vec<double>::N];
  }
  return w;
#endif
}

LT_INLINE Vec<float> narrow(Wide a) {
#if defined(__x86_64__) && LT_VECTOR_BYTES == 64
  const __m256 lo = _mm512_cvtpd_ps((__m512d)a.lo.v), hi = _mm512_cvtpd_ps((__m512d)a.hi.v);
  return (Raw<float>)_mm512_insertf32x8(_mm512_castps256_ps512(lo), hi, 1);
#elif defined(__x86_64__) && LT_VECTOR_BYTES == 32
  const __m128 lo = _mm256_cvtpd_ps((__m256d)a.lo.v), hi = _mm256_cvtpd_ps((__m256d)a.hi.v);
  return (Raw<float>)_mm256_set_m128(hi, lo);
#elif defined(__x86_64__)
  return (Raw<float>)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)a.lo.v), _mm_cvtpd_ps((__m128d)a.hi.v));
#else
  Vec<float> r;
  for (int i = 0; i < Vec<double>::N; i++) {
    r.v[i] = float(a.lo.v[i]);
    r.v[i + Vec<double>::N] = float(a.hi.v[i]);
  }
  return r;
#endif
}

}  // namespace
}  // namespace lt

#endif  // LT_VEC_H_
