// Start of Go's runtime in the host process, at the first call, with threads that block signals.
#ifndef LIBTENSOR_CAPI_START_H
#define LIBTENSOR_CAPI_START_H

#include <stdatomic.h>

#include "table.h"

// The state of Go in this process. A child that is forked after the start has none of Go's threads.
// LT_UNUSABLE: no kernel supports this CPU.
enum { LT_UNSTARTED = 0, LT_STARTING = 1, LT_RUNNING = 2, LT_FORKED = 3, LT_UNUSABLE = 4 };
extern _Atomic int lt_state;

// Go's entry (start.ld), which a program of Go's, such as a test, has not.
extern void (*const lt_entry[])(int, char **, char **) __attribute__((weak));

// Sets the state to LT_RUNNING, or returns an error that explains why op cannot be called.
tensor_status lt_start(const char *op);

// Registers an external thread with Go, and keeps the signal settings that Go would change.
void lt_meet_go(lt_thread *thread);
void lt_leave_go(lt_thread *thread);

#endif
