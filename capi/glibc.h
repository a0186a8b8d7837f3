// Which version of a function of glibc's the libraries are linked with. A linker takes the newest
// that it finds, without which they do not load where glibc is older: here it is the first one,
// which every glibc keeps.
#ifndef LIBTENSOR_CAPI_GLIBC_H
#define LIBTENSOR_CAPI_GLIBC_H

#include <features.h>

// Sanitizers put their own functions in the place of glibc's.
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
