// The error of a call: a message, and an errno, of the calling thread.
#ifndef LIBTENSOR_CAPI_ERRORS_H
#define LIBTENSOR_CAPI_ERRORS_H

#include <stdint.h>

#include "../include/tensor.h"

// Sets the message of the last error.
__attribute__((format(printf, 1, 2))) void lt_set_error(const char *format, ...);
// Sets the last error, whose number is an errno or 0, and releases the pins of the call.
void lt_fail(int32_t number, const char *message);
// Sets the last error and returns the status. Releases the pins of the call.
__attribute__((format(printf, 2, 3))) tensor_status lt_reject(tensor_status status,
                                                              const char *format, ...);

#endif
