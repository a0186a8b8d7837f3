// The table of slots: their memory, the conversion between handles and slots, and the slots that
// running calls have pinned.
#ifndef LIBTENSOR_CAPI_TABLE_H
#define LIBTENSOR_CAPI_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "../include/tensor.h"

enum { LT_TENSOR = 1, LT_STORAGE = 2, LT_GENERATOR = 3, LT_NODE = 4, LT_PROGRAM = 5 };
enum { LT_EMPTY = 0, LT_LIVE = 1, LT_DEAD = 2 };
enum { LT_INLINE_DIMS = 8, LT_SLOT_BYTES = 256, LT_TAGS = 32, LT_MAX_SLOTS = 1 << 24 };

typedef struct lt_slot {
  _Atomic uint32_t state;
  uint32_t generation;
  void *name;             // of a Go object other than a tensor or a storage; a program itself
  struct lt_slot *next;   // in the queue of freed slots, or in a batch of free ones
  struct lt_slot *batch;  // the next batch, in the first slot of one
  int64_t queued;         // length of that queue from this slot on
  uint8_t kind;
  int8_t dtype, layout, device_type;
  int16_t device_index;
  uint8_t immediate;  // free at once: the memory is large or external
  uint8_t lazy;       // elements are conjugated or negated when they are read
  int32_t dim;
  int32_t room;     // capacity of the block behind sizes, in dimensions, unless it is inline_dims
  uint32_t number;  // of this slot among all
  int64_t numel, offset;
  int64_t *sizes, *strides;  // in inline_dims, or separately allocated for more dimensions
  int64_t inline_dims[2 * LT_INLINE_DIMS];
  uint64_t memory;  // identifies the storage of a tensor, 0 for none
} lt_slot;

// The settings of a thread for its calls: engine/dispatch's Modes, which reads and writes it in
// place.
typedef struct lt_modes {
  int8_t device_type;  // the default device
  int16_t device_index;
  uint8_t grad, inference;
  uint32_t saving;              // by which hooks operations save
  uint32_t level;               // the innermost transform that is under way
  uint8_t autocast_enabled[2];  // of the CPU and of CUDA
  int8_t autocast_dtypes[2];    // 0: the default
  uint8_t autocast_uncached;
  int32_t autocast_nesting;
} lt_modes;

// The objects that one thread's running calls use. A freed slot is unchanged until no pin refers to
// it. Records are never freed: a new thread reuses the record of a thread that ended.
typedef struct lt_thread {
  struct lt_thread *next;
  _Atomic int32_t owned;
  _Atomic int64_t used;  // pins, of all calls that this thread is in
  int64_t base;          // of them, those of calls around the present one
  int64_t around;        // of them, those of calls that run the present one in a hook
  int64_t calls;         // that the thread is in, one inside another
  int64_t room;          // pins that there is memory for
  lt_slot *_Atomic
      *_Atomic pins;  // grows; the former memory is kept, since other threads may be reading it
  // For Go, which uses these without locks: free slots, slots to return, and the number of slots
  // taken by the thread minus those returned.
  lt_slot *ready, *spent;
  int64_t spent_count, taken;
  lt_modes modes;
  // The function that may interrupt calls, when it was asked last, in milliseconds, and whether it
  // has cancelled the running call.
  tensor_interrupt interrupt;
  void *interrupt_context;
  int64_t interval, asked;
  _Bool asking, cancelled;
  void *signal_stack;  // that the library made for the threads of this record
} lt_thread;

// Adds slots to the table; returns the first, or NULL with errno if there is no memory or the table
// is full. They are adjacent.
lt_slot *lt_grow(int64_t slots);
// Removes slots of the last lt_grow from the table, until it has `made`, and no handle of them.
void lt_shrink(int64_t made);
// Clears the state of the parent's threads and runtime, in a forked child.
void lt_forget_threads(void);

// The live slot that a handle names, NULL where it names none.
lt_slot *lt_find(const void *handle);
// lt_find; keeps the slot valid until the call ends.
lt_slot *lt_pin(const void *handle);

// The calling thread's record; NULL before lt_join. Go's runtime makes the library's thread-local
// storage static: this keeps to it, and is read in one instruction.
extern _Thread_local __attribute__((tls_model("initial-exec"))) lt_thread *lt_me;
// Registers the calling thread, which must precede pins and frees; returns false without memory.
_Bool lt_join(void);
// Allocates more pins for the calling thread, which is registered first; returns false without
// memory.
_Bool lt_make_pins(void);

// Begins a call, after its objects are pinned, and ends it.
static inline int64_t lt_begin(void) {
  if (!lt_me) return 0;
  const int64_t before = lt_me->base;
  lt_me->base = atomic_load_explicit(&lt_me->used, memory_order_relaxed);
  lt_me->calls++;
  return before;
}
static inline void lt_end(int64_t before) {
  if (!lt_me) return;
  lt_me->base = before;
  lt_me->calls--;
  atomic_store_explicit(&lt_me->used, before, memory_order_release);
}
// Takes back the pins of a call that does not begin.
static inline void lt_unpin(void) {
  if (lt_me) atomic_store_explicit(&lt_me->used, lt_me->base, memory_order_release);
}

extern lt_thread *_Atomic lt_threads;     // the records
extern _Atomic int32_t lt_several;        // whether more than one thread has made calls
extern _Atomic int32_t lt_interruptible;  // the number of threads with an interrupt function

#endif
