// Matrix products of quantized numbers.
#include "../gemm_quantized.h"

LT_UNIT(gemm_quantized){
    LT_SINGLE("gemm_quantized", lt::multiply_quantized<lt::IntegerPairs>),
    LT_SINGLE("gemm_quantized_pack", lt::pack_quantized<lt::IntegerPairs>),
    LT_END,
};
