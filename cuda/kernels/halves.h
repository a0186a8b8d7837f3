// Conversions between float and the 16-bit floats by instructions of the device; the simulated
// device uses those of cast.h.
#ifndef LIBTENSOR_CUDA_HALVES_H
#define LIBTENSOR_CUDA_HALVES_H

#include "device.h"

// Whether the device has instructions for bfloat16.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define LT_BFLOAT16 1
#else
#define LT_BFLOAT16 0
#endif

namespace lt {
namespace {

template <class To, class From>
LT_INLINE To convert_element(From x) {
#ifndef LT_SIMULATED
  if constexpr (std::is_same_v<From, Float16> && std::is_same_v<To, float>) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Float16>) {
    Float16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  } else
#if LT_BFLOAT16
      if constexpr (std::is_same_v<From, float> && std::is_same_v<To, BFloat16>) {
    BFloat16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  } else
#endif
#endif
      if constexpr (std::is_same_v<From, To>)
    return x;
  else
    return convert<To>(x);
}

// Two 16-bit floats in a word.
template <class To>
LT_INLINE uint32_t convert_pair(float low, float high) {
#if LT_BFLOAT16
  if constexpr (std::is_same_v<To, BFloat16>) {
    uint32_t y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
  }
#endif
  return convert_element<To>(low).bits | (uint32_t)convert_element<To>(high).bits << 16;
}

}  // namespace
}  // namespace lt
#endif
