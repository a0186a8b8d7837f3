// Matrix products with the tile registers of AMX, which are not part of the tiers: amx.go uses
// these kernels if the CPU supports them and Linux permits them.
#if defined(__clang__) && defined(__AVX512BW__)
#pragma clang attribute push(__attribute__((target("amx-tile,amx-bf16,amx-int8"))), \
                             apply_to = function)
#endif

#include "../gemm_amx.h"

// clang-format off
#define LT_AMX_BYTES(UNSIGNED, SIGNED) LT_NONE, (void *)UNSIGNED, (void *)SIGNED, LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_NONE
#define LT_AMX_FLOATS(BFLOAT16) LT_NONE, (void *)BFLOAT16, LT_NONE, LT_NONE
// clang-format on

LT_UNIT(gemm_amx){
#if LT_AMX
    {"gemm_amx",
     "",
     {LT_AMX_BYTES((lt::gemm_amx<lt::AmxBytes<uint8_t, uint8_t>, uint8_t>),
                   (lt::gemm_amx<lt::AmxBytes<int8_t, int8_t>, int8_t>)),
      LT_AMX_FLOATS((lt::gemm_amx<lt::AmxPairs, lt::BFloat16>)), LT_NO_COMPLEX}},
    LT_SINGLE("gemm_rounded_amx", lt::gemm_rounded_amx<float>),
    LT_SINGLE("gemm_rounded_amx_pack", (lt::gemm_amx_pack<lt::AmxPairs, lt::BFloat16>)),
    {"gemm_quantized_amx",
     "",
     {LT_AMX_BYTES(lt::gemm_quantized_amx<uint8_t>, lt::gemm_quantized_amx<int8_t>), LT_NO_FLOATS,
      LT_NO_COMPLEX}},
    LT_SINGLE("gemm_quantized_amx_pack", (lt::gemm_amx_pack<lt::AmxBytes<int8_t, int8_t>, int8_t>)),
#else
    LT_SINGLE("gemm_amx", LT_NONE),
    LT_SINGLE("gemm_rounded_amx", LT_NONE),
    LT_SINGLE("gemm_rounded_amx_pack", LT_NONE),
    LT_SINGLE("gemm_quantized_amx", LT_NONE),
    LT_SINGLE("gemm_quantized_amx_pack", LT_NONE),
#endif
    LT_END,
};
#if defined(__clang__) && defined(__AVX512BW__)
#pragma clang attribute pop
#endif
