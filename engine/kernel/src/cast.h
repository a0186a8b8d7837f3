// Conversions of elements between every pair of dtypes, and of strided rows.
#ifndef LIBTENSOR_KERNEL_CAST_H
#define LIBTENSOR_KERNEL_CAST_H

#include "intrinsics.h"
#include "prelude.h"

namespace lt {
namespace {

LT_INLINE float widen(BFloat16 h) {
  uint32_t b = (uint32_t)h.bits << 16;
  float f;
  memcpy(&f, &b, 4);
  return f;
}

LT_INLINE float widen(Float16 h) {
#ifdef __F16C__
  return _cvtsh_ss(h.bits);
#else
  const uint32_t magnitude = (uint32_t)(h.bits & 0x7fff) << 13;
  const uint32_t sign = (uint32_t)(h.bits & 0x8000) << 16;
  // Infinity and NaN keep their exponent of ones; the product rebiases the others' exponent,
  // normalising subnormals on the way.
  const float finite = __builtin_bit_cast(float, magnitude) * 0x1p112f;
  const uint32_t special = magnitude | 0x7f800000, rest = __builtin_bit_cast(uint32_t, finite);
  return __builtin_bit_cast(float, (magnitude >= 0x0f800000 ? special : rest) | sign);
#endif
}

LT_INLINE void narrow(float f, BFloat16 *h) {
  uint32_t b;
  memcpy(&b, &f, 4);
  uint32_t rounded = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
  h->bits = (uint16_t)(f != f ? 0x7fc0 : rounded);
}

LT_INLINE void narrow(float f, Float16 *h) {
#ifdef __F16C__
  h->bits = _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT);
#else
  uint32_t b;
  memcpy(&b, &f, 4);
  uint16_t sign = (uint16_t)((b >> 16) & 0x8000);
  b &= 0x7fffffff;
  uint32_t out;
  if (b > 0x7f800000) {
    out = 0x7e00;
  } else if (b >= 0x477ff000) {
    out = 0x7c00;
  } else if (b < 0x38800000) {  // subnormal: let an addition round at the last place of 2^-24
    float v;
    memcpy(&v, &b, 4);
    v += 0.5f;
    memcpy(&out, &v, 4);
    out -= 0x3f000000;
  } else {
    out = (b + 0xfff + ((b >> 13) & 1) - 0x38000000) >> 13;
  }
  h->bits = (uint16_t)(sign | out);
#endif
}

template <class From>
LT_INLINE auto load_value(From v) {
  if constexpr (Traits<From>::number == 6 || Traits<From>::number == 7)
    return widen(v);
  else if constexpr (Traits<From>::number == 12 || Traits<From>::number == 13)
    return Complex64(widen(v.re), widen(v.im));
  else if constexpr (kind_of<From> == kBool)
    return (uint8_t)(v.v != 0);
  else
    return v;
}

template <class To, class V>
LT_INLINE To store_real(V v) {
  if constexpr (kind_of<To> == kBool) {
    return To(v != V(0));
  } else if constexpr (Traits<To>::number == 6 || Traits<To>::number == 7) {
    To h;
    narrow((float)v, &h);
    return h;
  } else if constexpr (kind_of<To> == kInteger && sizeof(To) < 4 &&
                       (__is_same(V, float) || __is_same(V, double))) {
    return (To)(int32_t)v;  // through 32 bits, so that negative values wrap
  } else if constexpr (kind_of<To> == kInteger && sizeof(To) >= 4 && To(-1) > 0 &&
                       (__is_same(V, float) || __is_same(V, double))) {
    // Negative values wrap around here too, on every CPU.
    constexpr V beyond = V(0x1p63);
    if constexpr (sizeof(To) == 4)
      return (To)(int64_t)v;
    else
      return v < beyond ? (To)(int64_t)v : (To)(int64_t)(v - beyond) ^ (To(1) << 63);
  } else {
    return (To)v;
  }
}

// Between equal dtypes the bits are copied, including those of signalling NaNs.
template <class To, class From>
LT_INLINE To convert(From from) {
  if constexpr (__is_same(To, From)) return from;
  auto v = load_value(from);
  if constexpr (kind_of<From> == kComplex) {
    if constexpr (kind_of<To> == kComplex) {
      using R = RealOf<To>;
      To out;
      out.re = store_real<R>(v.re);
      out.im = store_real<R>(v.im);
      return out;
    } else if constexpr (kind_of<To> == kBool) {
      return To(v.re != 0 || v.im != 0);
    } else {
      return store_real<To>(v.re);
    }
  } else if constexpr (kind_of<To> == kComplex) {
    using R = RealOf<To>;
    To out;
    out.re = store_real<R>(v);
    out.im = store_real<R>((decltype(v))0);
    return out;
  } else {
    return store_real<To>(v);
  }
}

// Contiguous runs between float16 and float32, as the instructions for them convert; the number of
// elements done.
LT_INLINE int64_t cast_halves(const Float16 *s, float *d, int64_t n) {
  int64_t i = 0;
#ifdef __AVX512F__
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(d + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(s + i))));
#endif
#ifdef __F16C__
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + i))));
#endif
  (void)s, (void)d, (void)n;
  return i;
}
LT_INLINE int64_t cast_halves(const float *s, Float16 *d, int64_t n) {
  int64_t i = 0;
#ifdef __AVX512F__
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256((__m256i *)(d + i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(s + i), _MM_FROUND_TO_NEAREST_INT));
#endif
#ifdef __F16C__
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i *)(d + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(s + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  (void)s, (void)d, (void)n;
  return i;
}

// A contiguous row. float16 is converted to and from other real dtypes through float32, as single
// elements are, but in blocks that are converted with vectors.
template <class From, class To>
LT_INLINE void cast_run(const From *__restrict s, To *__restrict d, int64_t n) {
  constexpr bool half = __is_same(From, Float16) != __is_same(To, Float16);
  constexpr bool single = __is_same(From, float) || __is_same(To, float);
  int64_t i = 0;
  if constexpr (half && single) {
    i = cast_halves(s, d, n);
  } else if constexpr (half && kind_of<From> != kComplex && kind_of<To> != kComplex) {
    constexpr int64_t kRun = 256;
    alignas(64) float block[kRun];
    for (; i + kRun <= n; i += kRun) {
      cast_run(s + i, block, kRun);
      cast_run(block, d + i, kRun);
    }
  }
  for (; i < n; i++) d[i] = convert<To>(s[i]);
}

// memmove, except for the cases in which it takes two to twenty times as long on some CPUs: a few
// thousand bytes, by rep movsb, or backwards if the target is further into its page than the
// source. Here cache lines are filled in order.
[[gnu::noinline]] void copy_bytes(const char *src, char *dst, int64_t n) {
  constexpr int64_t kShort = 512, kLong = 1 << 20;
  const int64_t ahead = dst - src;
  if (n >= kShort && n < kLong && (ahead >= n || -ahead >= n)) {
    struct Line {
      char bytes[64];
    };
    constexpr int64_t kLine = sizeof(Line);
    const int64_t head = -(intptr_t)dst & (kLine - 1);
    memcpy(dst, src, (size_t)head);
    for (src += head, dst += head, n -= head; n >= kLine; n -= kLine) {
      *(Line *)dst = *(const Line *)src;
      asm volatile("" ::: "memory");  // else compilers make a call of memmove of it
      src += kLine, dst += kLine;
    }
  }
  memmove(dst, src, (size_t)n);
}

template <class From, class To>
void cast_row(const char *src, int64_t ss, char *dst, int64_t ds, int64_t n) {
  if (ss == (int64_t)sizeof(From) && ds == (int64_t)sizeof(To)) {
    if constexpr (__is_same(From, To)) {
      copy_bytes(src, dst, n * (int64_t)sizeof(To));
    } else {
      cast_run((const From *)src, (To *)dst, n);
    }
    return;
  }
  if constexpr (__is_same(From, To)) {
    if (ss == -(int64_t)sizeof(From) && ds == (int64_t)sizeof(To)) {
      const From *__restrict s = (const From *)src;
      To *__restrict d = (To *)dst;
      for (int64_t i = 0; i < n; i++) d[i] = s[-i];
      return;
    }
  }
  if (ss == 0 && ds == (int64_t)sizeof(To)) {
    const To v = convert<To>(*(const From *)src);
    To *d = (To *)dst;
    for (int64_t i = 0; i < n; i++) d[i] = v;
    return;
  }
  for (int64_t i = 0; i < n; i++)
    *(To *)(dst + i * ds) = convert<To>(*(const From *)(src + i * ss));
}

}  // namespace
}  // namespace lt
#endif
