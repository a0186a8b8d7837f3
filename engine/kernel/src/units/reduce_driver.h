#include "../reduce_driver.h"

LT_UNIT(reduce_driver){
    LT_SINGLE("reduce", lt::run_reduction),
    LT_END,
};
