#include "../elementwise.h"
#include "../rows.h"

LT_UNIT(driver){
    LT_SINGLE("elementwise", lt::run_elementwise),
    LT_SINGLE("copy", lt::run_copy),
    LT_END,
};
