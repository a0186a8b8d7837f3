// The conversions of rows that the unit `driver` compiles, for the other units of its tier: all
// pairs of dtypes are 200 kB of code.
#ifndef LIBTENSOR_KERNEL_CASTS_H
#define LIBTENSOR_KERNEL_CASTS_H

#include "conversions.h"

#define LT_FIND_CAST LT_SYMBOL(find_cast, LT_TIER)

// LT_FIND_CAST calls find_cast.
extern "C" lt::CastRow LT_FIND_CAST(int from, int to);

#endif
