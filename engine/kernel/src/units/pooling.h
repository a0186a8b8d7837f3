// Largest elements and means of windows, and their gradients.
#include "../fractional.h"
#include "../pooling.h"
#include "../pooling_average.h"
#include "../rows.h"

#define LT_STORED_REALS(OP) {LT_NONE, LT_INTEGERS(OP), LT_STORED_FLOATS(OP), LT_NO_COMPLEX}

LT_UNIT(pooling){
    {"max_pool", "", LT_STORED_REALS(MaxPool)},
    {"max_pool_gradient", "", LT_STORED_FLOATING(MaxPoolGradient)},
    {"fractional_pool", "", LT_STORED_FLOATING(FractionalPool)},
    {"average_pool", "", LT_STORED_REALS(AveragePool)},
    {"average_pool_gradient", "", LT_STORED_FLOATING(AveragePoolGradient)},
    LT_END,
};
