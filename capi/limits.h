// Checks of resource limits before Go's runtime starts, because the runtime ends the process if it
// cannot get threads or memory.
#ifndef LIBTENSOR_CAPI_LIMITS_H
#define LIBTENSOR_CAPI_LIMITS_H

#include <stddef.h>

// Makes the threads that Go will run on, and sees that the addresses that it reserves can be had.
// Returns 0, or writes why Go cannot start. It runs before lt_processors and lt_supply.
int lt_make_room(char *why, size_t size);

// The value for GOMAXPROCS; 0 for Go's default.
int lt_processors(void);

// Creates the threads that operators of `threads` threads need. Returns the number of these for
// which there are threads, at least 1.
int lt_supply(int threads);

#endif
