#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interrupt.h"
#include "restart.h"
#include "start.h"
#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#endif

_Static_assert(sizeof(lt_slot) <= LT_SLOT_BYTES, "slots are spaced LT_SLOT_BYTES apart");

// ------------------------------------------------------------------------------------------- slots

// Segments double, so that few handles reserve little address space and the search for the one of
// any pointer stays short.
enum { SEGMENTS = 13, FIRST_SLOTS = 1 << 12 };
_Static_assert((int64_t)FIRST_SLOTS * ((1 << SEGMENTS) - 1) >= LT_MAX_SLOTS,
               "segments hold all slots");

LT_KEPT static struct {
  char *base;
  _Atomic size_t usable;  // bytes
  size_t size;
} segments[SEGMENTS];
LT_KEPT static int filled;  // segments in use

lt_slot *lt_grow(int64_t slots) {
  const size_t wanted = (size_t)slots * LT_SLOT_BYTES;
  int last = filled - 1;
  if (last < 0 || segments[last].usable + wanted > segments[last].size) {
    if (++last == SEGMENTS) return errno = ENOMEM, NULL;
    const size_t size = ((size_t)FIRST_SLOTS << last) * LT_SLOT_BYTES;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED) return NULL;
    segments[last].base = p, segments[last].size = size;
    filled = last + 1;
  }
  lt_slot *first = (lt_slot *)(segments[last].base + segments[last].usable);
  segments[last].usable += wanted;
  return first;
}

int64_t lt_made_slots(void) {
  int64_t made = 0;
  for (int i = 0; i < filled; i++) made += (int64_t)(segments[i].usable / LT_SLOT_BYTES);
  return made;
}

// The place of a handle: a slot and the tag of one of its generations; NULL for other pointers.
static inline lt_slot *place(const void *handle, uint32_t *tag) {
  const size_t address = (size_t)handle;
  if (address % 8) return NULL;
  for (int i = 0; i < SEGMENTS; i++) {  // those that are not there have nothing usable
    const size_t at = address - (size_t)segments[i].base;
    if (at >= segments[i].usable) continue;
    *tag = (uint32_t)(at % LT_SLOT_BYTES / 8);
    return (lt_slot *)(segments[i].base + at / LT_SLOT_BYTES * LT_SLOT_BYTES);
  }
  return NULL;
}

static lt_slot *if_live(lt_slot *slot, uint32_t tag) {
  return slot->state == LT_LIVE && slot->generation % LT_TAGS == tag ? slot : NULL;
}

lt_slot *lt_find(const void *handle) {
  uint32_t tag;
  lt_slot *slot = place(handle, &tag);
  return slot ? if_live(slot, tag) : NULL;
}

// -------------------------------------------------------------------------------------------- pins

// A call writes its pins, then checks whether the slot is live; a thread that frees writes the
// slot's state, then checks for pins. At least one of them sees the other, provided that each keeps
// this order, for which the processor needs a fence. A single-threaded program omits it; the second
// thread compensates with a barrier on all threads.

enum { FIRST_PINS = 64 };

LT_KEPT lt_thread *_Atomic lt_threads;
LT_KEPT _Atomic int32_t lt_several;
_Thread_local __attribute__((tls_model("initial-exec"))) lt_thread *lt_me;
LT_KEPT static pthread_key_t leaving;
LT_KEPT static pthread_once_t prepared = PTHREAD_ONCE_INIT;

// Makes a thread's record available to new threads; calls during the rest of its exit join again.
static void leave(void *record) {
  lt_thread *t = record;
  lt_me = NULL;
  t->used = t->base = t->calls = 0;
  lt_drop_interrupt(t);
  lt_leave_go(t);
  t->owned = 0;
}

static void prepare(void) {
  if (!pthread_key_create(&leaving, leave)) lt_keep_key(leaving);
#ifdef __linux__
  if (syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) return;
#endif
  lt_several = 1;
}

static void barrier(void) {
#ifdef __linux__
  syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}

_Bool lt_join(void) {
  pthread_once(&prepared, prepare);
  lt_thread *t = lt_threads;
  int32_t expected = 0;
  while (t && !atomic_compare_exchange_strong(&t->owned, &expected, 1)) t = t->next, expected = 0;
  if (!t) {
    lt_slot *_Atomic *pins = calloc(FIRST_PINS, sizeof *pins);
    t = calloc(1, sizeof *t);
    if (!t || !pins) return free(t), free(pins), 0;
    t->owned = 1;
    t->pins = pins;
    t->room = FIRST_PINS;
    t->next = lt_threads;
    while (!atomic_compare_exchange_weak(&lt_threads, &t->next, t));
    if (t->next) {
      lt_several = 1;
      barrier();
    }
  }
  t->modes = (lt_modes){.device_type = TENSOR_CPU, .device_index = -1, .grad = 1};
  pthread_setspecific(leaving, t);
  lt_me = t;
  lt_meet_go(t);
  return 1;
}

// The calling thread's pins are of the call that found the library in a forked child. Modes that
// represent objects of the parent's runtime go back to none.
void lt_forget_threads(void) {
  for (lt_thread *t = lt_threads; t; t = t->next) {
    if (t != lt_me) t->interrupt = NULL;
    t->asking = t->cancelled = false;
    t->ready = t->spent = NULL;
    t->spent_count = t->taken = 0;
    t->modes.saving = t->modes.level = 0;
    if (t != lt_me) t->used = t->base = t->calls = t->owned = 0;
  }
  lt_interruptible = lt_me && lt_me->interrupt;
}

// Allocates more pins, and the record if there is none.
__attribute__((cold, noinline)) static _Bool make_room(void) {
  lt_thread *t = lt_me;
  if (!t) return lt_join();
  lt_slot *_Atomic *more = calloc((size_t)t->room * 2, sizeof *more);
  if (!more) return 0;
  for (int64_t i = 0; i < t->room; i++) more[i] = t->pins[i];
  t->pins = more;
  t->room *= 2;
  return 1;
}

static inline int64_t pins_of(lt_thread *t) {
  return atomic_load_explicit(&t->used, memory_order_relaxed);
}

lt_slot *lt_pin(const void *handle) {
  uint32_t tag;
  lt_slot *slot = place(handle, &tag);
  if (!slot || ((!lt_me || pins_of(lt_me) == lt_me->room) && !make_room())) return NULL;
  lt_thread *t = lt_me;
  const int64_t n = pins_of(t);
  atomic_store_explicit(&t->pins[n], slot, memory_order_relaxed);
  atomic_store_explicit(&t->used, n + 1, memory_order_release);
  if (lt_several) atomic_thread_fence(memory_order_seq_cst);
  atomic_signal_fence(memory_order_seq_cst);
  return if_live(slot, tag);
}
