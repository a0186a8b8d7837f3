// Matrix products.
#include "../gemm.h"

LT_UNIT(gemm){
    {"gemm", "", LT_NUMBERS(Gemm)},
    {"dot", "", LT_NUMBERS(Dot)},
    LT_END,
};
