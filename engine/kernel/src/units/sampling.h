// Images as seen from the points of a grid.
#include "../rows.h"
#include "../sampling.h"

LT_UNIT(sampling){
    {"sample", "", LT_STORED_FLOATING(Sampled)},
    {"sample_slope", "", LT_STORED_FLOATING(SampledSlope)},
    {"sample_spread", "", LT_STORED_FLOATING(SampledSpread)},
    LT_END,
};
