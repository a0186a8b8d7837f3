// Matrix products.
#include "../gemm.h"

LT_UNIT(gemm){
    {"gemm", "", LT_STORED_NUMBERS(Gemm)},
    LT_END,
};
