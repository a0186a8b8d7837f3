// Windows of images as columns of a matrix (im2col).
#include "../columns.h"
#include "../rows.h"

LT_UNIT(columns){
    {"columns",
     "",
     {LT_ROW(Columns, lt::Bool), LT_MODULAR(Columns), LT_STORED_FLOATS(Columns),
      LT_COMPLEX(Columns)}},
    {"from_columns", "", LT_STORED_MODULAR(FromColumns)},
    LT_END,
};
