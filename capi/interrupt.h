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
// Returns the status of a call that is about to end: TENSOR_ERROR_CANCELLED if it is the outermost
// call of a thread and was cancelled, also if it failed otherwise, since a callback may have failed
// because of the unspecified values of cancelled calls. The caller frees results.
tensor_status lt_report_cancelled(tensor_status status, const char *op);
// Ends the cancellation, when the thread is in no call.
void lt_end_cancelling(void);

#endif
