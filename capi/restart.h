// Go's runtime begins anew in a child that was forked after the first call.
#ifndef LIBTENSOR_CAPI_RESTART_H
#define LIBTENSOR_CAPI_RESTART_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

// Marks a variable of C that a forked child keeps from its parent.
#define LT_KEPT __attribute__((section("lt_kept")))

// Records the library's writable data and the process's signal handlers before Go starts. Returns
// false without memory.
_Bool lt_snapshot(void);
// Records Go's signal handlers after its start, and puts handlers back that the program had
// installed over those of the parent's runtime.
void lt_note_handlers(void);

// Records a key of thread-specific data that Go's runtime creates; lt_keep_key excludes the last
// one, which is C's.
void lt_note_key(pthread_key_t key);
void lt_keep_key(pthread_key_t key);

// Whether lt_reset can be called in a child of this process: not where the library is part of a
// program or of another library, whose data would be reset too.
_Bool lt_can_reset(void);
// Resets the library's writable data to those of lt_snapshot, but for variables marked LT_KEPT.
// Returns false without memory, having changed nothing.
_Bool lt_reset(void);

// Registers a variable of Go whose value a forked child reads, and returns the parent's value in
// such a child, NULL elsewhere. The value is valid until lt_free_carried is called with it.
void *lt_carry(uintptr_t address, size_t size);
void lt_free_carried(void *parents);

#endif
