// Elementwise mathematics on Vec<float> and Vec<double>: every function is within 1 ulp of the
// exact value everywhere, follows C99 (Annex F) for zeros, infinities and NaN, and returns the same
// result in a lane whatever its position and the other lanes. accuracy/ measures that.
#ifndef LT_VMATH_H_
#define LT_VMATH_H_

#include "vmath_atrig.h"
#include "vmath_erf.h"
#include "vmath_exp.h"
#include "vmath_hyper.h"
#include "vmath_log.h"
#include "vmath_pow.h"
#include "vmath_trig.h"

#endif  // LT_VMATH_H_
