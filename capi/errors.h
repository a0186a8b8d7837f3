// The error of a call: a message, and an errno, of the calling thread.
#ifndef LIBTENSOR_CAPI_ERRORS_H
#define LIBTENSOR_CAPI_ERRORS_H

#include <stdint.h>

// Sets the message of the last error.
__attribute__((format(printf, 1, 2))) void lt_set_error(const char *format, ...);
// Sets the last error, whose number is an errno or 0, and releases the pins of the call.
void lt_fail(int32_t number, const char *message);

#endif
