// Cancellation of running calls by the interrupt function of their thread. Kernels poll it, through
// Go, on the thread of the call between chunks of work.
#include "interrupt.h"

#include <pthread.h>
#include <stdio.h>

#include "_cgo_export.h"
#include "clock.h"
#include "handle.h"
#include "restart.h"

_Atomic int32_t lt_cancelling;  // threads whose running call is cancelled

// The lock orders the notifications of Go.
static void count_cancelled(int32_t change) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  const int32_t before = atomic_fetch_add(&lt_cancelling, change);
  if (!before || !(before + change)) lt_cancel(before + change > 0);
  pthread_mutex_unlock(&lock);
}

void lt_end_cancelling(void) {
  if (!lt_me || !lt_me->cancelled || lt_me->calls) return;
  lt_me->cancelled = false;
  count_cancelled(-1);
}

tensor_status lt_report_cancelled(tensor_status status, const char *op) {
  char text[256];
  if (!lt_me || !lt_me->cancelled || lt_me->calls > 1 || status == TENSOR_ERROR_CANCELLED)
    return status;
  snprintf(text, sizeof text, "%s: the call was cancelled", op);
  lt_fail(0, text);
  return TENSOR_ERROR_CANCELLED;
}

bool lt_is_cancelled(void) { return lt_me && lt_me->cancelled; }

bool lt_poll_interrupt(void) {
  lt_thread *me = lt_me;
  if (!me || me->cancelled) return me && me->cancelled;
  if (!me->interrupt || me->asking) return false;
  const int64_t time = lt_read_clock(CLOCK_MONOTONIC_COARSE) / 1000000;
  if (me->asked && time - me->asked < me->interval) return false;
  me->asked = time;
  me->asking = true;
  const bool cancels = me->interrupt(me->interrupt_context);
  me->asking = false;
  if (cancels) me->cancelled = true, count_cancelled(1);
  return cancels;
}

TENSOR_API tensor_status tensor_set_interrupt(tensor_interrupt function, void *context,
                                              int64_t interval) {
  if (!lt_check_range(interval, 0, INT64_MAX, "set_interrupt", "interval"))
    return TENSOR_ERROR_VALUE;
  if (!lt_me && !lt_join()) {
    lt_fail(0, "set_interrupt: not enough memory to register the calling thread");
    return TENSOR_ERROR_MEMORY;
  }
  atomic_fetch_add(&lt_interruptible, (function != NULL) - (lt_me->interrupt != NULL));
  lt_me->interrupt = function, lt_me->interrupt_context = context;
  lt_me->interval = interval, lt_me->asked = 0;
  return TENSOR_OK;
}
