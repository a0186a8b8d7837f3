// Images with other sizes.
#include "../resampling.h"
#include "../rows.h"

LT_UNIT(resampling){
    {"resample",
     "",
     {LT_NONE, LT_ROW(Resampled, uint8_t), LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_NONE, LT_NONE,
      LT_NONE, LT_STORED_FLOATS(Resampled), LT_NO_COMPLEX}},
    LT_END,
};
