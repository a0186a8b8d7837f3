// Cancellation of running calls (tensor_set_interrupt).
#ifndef LIBTENSOR_CAPI_INTERRUPT_H
#define LIBTENSOR_CAPI_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "table.h"

extern _Atomic int32_t lt_cancelling;

// Calls the interrupt function of the calling thread, at most once in its interval. Returns whether
// the running call is cancelled.
bool lt_poll_interrupt(void);
bool lt_is_cancelled(void);
// Returns the status of a run of a program: TENSOR_ERROR_CANCELLED if it is the outermost call of a
// thread that was cancelled, whose results the caller frees.
tensor_status lt_report_cancelled(tensor_status status, const char *op);
// Ends the cancellation, when the thread is in no call.
void lt_end_cancelling(void);

#endif
