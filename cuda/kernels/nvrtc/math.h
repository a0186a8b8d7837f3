// The builtins of other compilers, implemented by NVRTC's functions.
#pragma once
#define __builtin_inff() __builtin_bit_cast(float, 0x7f800000u)
#define __builtin_inf() __builtin_bit_cast(double, 0x7ff0000000000000ul)
#define __builtin_nanf(text) __builtin_bit_cast(float, 0x7fc00000u)
#define __builtin_nan(text) __builtin_bit_cast(double, 0x7ff8000000000000ul)
#define __builtin_fabsf ::fabsf
#define __builtin_fabs ::fabs
#define __builtin_floorf ::floorf
#define __builtin_floor ::floor
#define __builtin_truncf ::truncf
#define __builtin_trunc ::trunc
#define __builtin_rint ::rint
#define __builtin_sqrt ::sqrt
#define __builtin_fmodf ::fmodf
#define __builtin_fmod ::fmod
#define __builtin_fmaf ::fmaf
#define __builtin_fma ::fma
#define __builtin_copysign ::copysign
#define __builtin_ldexpf ::ldexpf
#define __builtin_ldexp ::ldexp
#define __builtin_hypot ::hypot
#define __builtin_pow ::pow
#define __builtin_cbrt ::cbrt
#define __builtin_exp ::exp
#define __builtin_expm1 ::expm1
#define __builtin_log ::log
#define __builtin_log1p ::log1p
#define __builtin_sinf ::sinf
#define __builtin_sin ::sin
#define __builtin_cos ::cos
#define __builtin_atan2f ::atan2f
#define __builtin_atan2 ::atan2
#define __builtin_asinh ::asinh
#define __builtin_tgamma ::tgamma
#define __builtin_nextafterf ::nextafterf
#define __builtin_nextafter ::nextafter
#define __builtin_frexp ::frexp
#define __builtin_ilogb ::ilogb
#define __builtin_signbit signbit
#define __builtin_popcount __popc
#define __builtin_clzll __clzll
#define __builtin_ctzll(x) (__ffsll(x) - 1)
#define __builtin_expect(x, likely) (x)
#define __builtin_prefetch(...)
#define __FLT_MAX__ 0x1.fffffep127f
#define __DBL_MAX__ 0x1.fffffffffffffp1023
