// Restart of Go's runtime in a child that was forked after the first call.
#ifndef LIBTENSOR_CAPI_RESTART_H
#define LIBTENSOR_CAPI_RESTART_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

// The state of Go in this process. A child that is forked after the start has none of Go's threads.
// LT_UNUSABLE: no kernel supports this CPU.
enum { LT_UNSTARTED = 0, LT_STARTING = 1, LT_RUNNING = 2, LT_FORKED = 3, LT_UNUSABLE = 4 };
extern _Atomic int lt_state;

// Marks a variable of C that a forked child keeps from its parent.
#define LT_KEPT __attribute__((section("lt_kept")))

// Records the library's writable data and the process's signal handlers before Go starts. Returns
// false if an allocation fails.
_Bool lt_snapshot(void);
// Records Go's signal handlers after it has started. In a child, also reinstalls the handlers that
// the program had installed after those of the parent's runtime.
void lt_note_handlers(void);

// lt_note_key records a key of thread-specific data, which lt_reset deletes. lt_keep_key removes
// the last recorded key if it is `key`, for keys that the library's C code creates.
void lt_note_key(pthread_key_t key);
void lt_keep_key(pthread_key_t key);

// Returns whether lt_reset can be called in a child of this process. It cannot if the library is
// linked statically into a program or another library, whose data would be reset too.
_Bool lt_can_reset(void);
// Resets the library's writable data to the snapshot, except variables marked LT_KEPT, and zeroes
// the calling thread's thread-local variables. Returns false if an allocation fails; nothing has
// changed then.
_Bool lt_reset(void);

// Registers a Go variable of `size` bytes at `address` whose value a forked child reads. Returns a
// copy of the parent's value in such a child, NULL otherwise. Free it with lt_free_carried.
void *lt_carry(uintptr_t address, size_t size);
void lt_free_carried(void *parents);

#endif
