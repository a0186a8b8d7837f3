// Convolutions with the tile registers of AMX, like units/gemm_amx.h.
#if defined(__clang__) && defined(__AVX512BW__)
#pragma clang attribute push(__attribute__((target("amx-tile,amx-bf16,amx-int8"))), \
                             apply_to = function)
#endif

#include "../convolution_amx.h"

LT_UNIT(convolution_amx){
#if LT_AMX
    LT_SINGLE("convolution_amx", lt::convolution_amx),
#else
    LT_SINGLE("convolution_amx", LT_NONE),
#endif
    LT_END,
};
#if defined(__clang__) && defined(__AVX512BW__)
#pragma clang attribute pop
#endif
