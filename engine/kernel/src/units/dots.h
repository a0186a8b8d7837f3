// Products that sum along memory. Those of matrices have no complex rows.
#include "../dots.h"

// clang-format off
#define LT_STORED_REALS(OP) {LT_NONE, LT_MODULAR(OP), LT_STORED_FLOATS(OP), LT_NO_COMPLEX}
// clang-format on

LT_UNIT(dots){
    {"gemm_dots", "", LT_STORED_REALS(GemmDots)},
    {"dot", "", LT_STORED_MODULAR(Dot)},
    LT_END,
};
