// Creation of the threads that Go's runtime uses, before it starts.
#ifndef LIBTENSOR_CAPI_THREADS_H
#define LIBTENSOR_CAPI_THREADS_H

// Go needs one for each worker of an operator, one for each concurrent piece of Go code, and some
// for its runtime: SPARE covers these.
enum { LT_SPARE_THREADS = 6 };

// Makes threads until there are `number`, those that Go has among them, or the system rejects.
// Returns how many there are.
int lt_make_threads(int number);

// Makes the waiting threads call malloc once, at which time a thread gets 64 MiB of addresses for
// an arena, if available. Later calls of free, the only ones of Go's threads, do not allocate.
void lt_settle_threads(void);

// Makes Go's threads block the signals that Go unblocks without using them here: SIGCHLD, SIGPROF,
// SIGRTMIN, SIGSTKFLT. Otherwise such a thread would receive them instead of a program that waits
// for them.
void lt_leave_signals(void);

// Whether the calling thread is one of Go's.
_Bool lt_runs_go(void);

// Ends the threads that wait.
void lt_dismiss_threads(void);

// Sets a signal stack that is large enough for handlers for the calling thread, if it has none:
// `stack`, or a new one if that is NULL. Returns the one in use, or NULL if it is neither.
void *lt_give_signal_stack(void *stack);

#endif
