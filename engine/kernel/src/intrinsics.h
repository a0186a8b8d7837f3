// The compiler's header of vector instructions, without the warnings of GCC 12 about its own
// _mm512_undefined_ps().
#ifndef LIBTENSOR_KERNEL_INTRINSICS_H
#define LIBTENSOR_KERNEL_INTRINSICS_H

#if defined(__x86_64__)
#ifdef __clang__
#include <immintrin.h>
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#endif
