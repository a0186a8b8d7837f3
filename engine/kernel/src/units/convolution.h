// Convolutions and the gradients of their weights.
#include "../convolution_weight.h"

LT_UNIT(convolution){
    {"convolution", "", LT_STORED_MODULAR(Convolve)},
    {"convolution_turn", "", LT_STORED_MODULAR(ConvolveTurn)},
    {"convolution_weight", "", LT_STORED_FLOATING_COMPLEX(ConvolveWeight)},
    LT_END,
};
