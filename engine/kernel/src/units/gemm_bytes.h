// Matrix products of quantized integers with VNNI instructions, which are not part of the tiers:
// kernel.go uses this kernel on CPUs that support them.
#if defined(__AVX512BW__) && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512vnni"))), apply_to = function)
#elif defined(__AVX512BW__)
#pragma GCC target("avx512vnni")
#elif defined(__AVX2__) && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avxvnni"))), apply_to = function)
#elif defined(__AVX2__)
#pragma GCC target("avxvnni")
#endif

#include "../gemm_quantized.h"

#if defined(__AVX2__)
namespace lt {
namespace {

// Four products of a byte and a signed one a step.
struct Bytes {
  using Left = uint8_t;
  using Unit = int32_t;
  using Sum = int32_t;
  static constexpr int kSteps = 4;
  static LT_INLINE Vec<Sum> add(Vec<Sum> sum, Vec<Unit> x, Vec<Unit> y) {
#if defined(__AVX512BW__)
    return (Raw<Sum>)_mm512_dpbusd_epi32((__m512i)sum.v, (__m512i)x.v, (__m512i)y.v);
#else
    return (Raw<Sum>)_mm256_dpbusd_avx_epi32((__m256i)sum.v, (__m256i)x.v, (__m256i)y.v);
#endif
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(gemm_bytes){
    LT_SINGLE("gemm_bytes", lt::multiply_quantized<lt::Bytes>),
    LT_SINGLE("gemm_bytes_pack", lt::pack_quantized<lt::Bytes>),
    LT_END,
};
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
LT_UNIT(gemm_bytes){
    LT_SINGLE("gemm_bytes", LT_NONE),
    LT_SINGLE("gemm_bytes_pack", LT_NONE),
    LT_END,
};
#endif
