// Symbol versions of glibc functions. A linker binds to the newest version that it finds, and the
// library does not load with an older glibc. These declarations bind to the first version, which
// every glibc provides.
#ifndef LIBTENSOR_CAPI_GLIBC_H
#define LIBTENSOR_CAPI_GLIBC_H

#include <features.h>

// Sanitizers replace functions of glibc.
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#elif defined __GLIBC__ && defined __x86_64__
#define LT_GLIBC "GLIBC_2.2.5"
#elif defined __GLIBC__ && defined __aarch64__
#define LT_GLIBC "GLIBC_2.17"
#endif

// Says that `symbol` is the first version of the function `name`.
#ifdef LT_GLIBC
#define LT_FIRST(symbol, name) __asm__(".symver " #symbol "," #name "@" LT_GLIBC)
#else
#define LT_FIRST(symbol, name) _Static_assert(1, "")
#endif

#endif
