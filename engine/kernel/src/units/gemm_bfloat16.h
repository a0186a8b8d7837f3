// Matrix products of bfloat16 with the instructions of AVX-512 BF16, which are not part of the
// tier: kernel.go uses these kernels on CPUs that support them.
#if defined(__AVX512BW__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512bf16"))), apply_to = function)
#else
#pragma GCC target("avx512bf16")
#endif
#endif

#include "../dots.h"
#include "../gemm.h"

// clang-format off
#define LT_BFLOAT16(OP) {LT_NONE, LT_NO_INTEGERS, LT_NONE, OP, LT_NONE, LT_NONE, LT_NO_COMPLEX}
// clang-format on

#if defined(__AVX512BW__)
namespace lt {
namespace {

// Two products of bfloat16 a step, summed in float32 without fusing or subnormal numbers.
struct BFloat16Pairs {
  using Left = BFloat16;
  using Unit = int32_t;
  using Sum = float;
  static constexpr int kSteps = 2;
  static LT_INLINE Vec<Sum> add(Vec<Sum> sum, Vec<Unit> x, Vec<Unit> y) {
    return (Raw<Sum>)_mm512_dpbf16_ps((__m512)sum.v, (__m512bh)x.v, (__m512bh)y.v);
  }
};

void gemm_bfloat16(const lt_gemm *g) { multiply<BFloat16Pairs, BFloat16>(g); }
void gemm_dots_bfloat16(const lt_gemm *g) { multiply_dots<BFloat16Pairs, BFloat16>(g); }

}  // namespace
}  // namespace lt

LT_UNIT(gemm_bfloat16){
    {"gemm_bfloat16", "", LT_BFLOAT16((void *)lt::gemm_bfloat16)},
    {"gemm_dots_bfloat16", "", LT_BFLOAT16((void *)lt::gemm_dots_bfloat16)},
    LT_END,
};
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
LT_UNIT(gemm_bfloat16){
    {"gemm_bfloat16", "", LT_BFLOAT16(LT_NONE)},
    {"gemm_dots_bfloat16", "", LT_BFLOAT16(LT_NONE)},
    LT_END,
};
#endif
