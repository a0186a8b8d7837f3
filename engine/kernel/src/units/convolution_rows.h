// Convolutions with positions as rows of products.
#include "../convolution_rows.h"

LT_UNIT(convolution_rows){
#if LT_VECTOR_BYTES >= 32
    LT_SINGLE("convolution_rows", lt::convolution_rows),
#else
    LT_SINGLE("convolution_rows", LT_NONE),
#endif
    LT_END,
};
