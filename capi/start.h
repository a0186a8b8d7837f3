// Start of Go's runtime in the host process, at the first call, with threads that block signals.
#ifndef LIBTENSOR_CAPI_START_H
#define LIBTENSOR_CAPI_START_H

#include "../include/tensor.h"
#include "restart.h"

// Go's entry (start.ld), which a program of Go's, such as a test, has not.
extern void (*const lt_entry[])(int, char **, char **) __attribute__((weak));

// Sets the state to LT_RUNNING, or returns an error that explains why op cannot be called.
tensor_status lt_start(const char *op);

#endif
