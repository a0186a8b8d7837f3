// Matrix products.
#include "../gemm.h"

LT_UNIT(gemm){
    {"gemm", "", LT_STORED_MODULAR(Gemm)},
    LT_END,
};
