#include "../casts.h"
#include "../elementwise.h"
#include "../rows.h"

lt::CastRow LT_FIND_CAST(int from, int to) { return lt::find_cast(from, to); }

LT_UNIT(driver){
    LT_SINGLE("elementwise", lt::run_elementwise),
    LT_SINGLE("copy", lt::run_copy),
    LT_END,
};
