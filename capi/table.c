#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "restart.h"

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

void lt_shrink(int64_t made) {
  for (int i = 0; i < filled; i++) {
    const int64_t usable = (int64_t)(segments[i].usable / LT_SLOT_BYTES);
    const int64_t kept = made < usable ? made : usable;
    segments[i].usable = (size_t)kept * LT_SLOT_BYTES;
    made -= kept;
  }
}

// The place of a handle: a slot and the tag of one of its generations; NULL for other pointers.
static inline lt_slot *find_slot(const void *handle, uint32_t *tag) {
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
  lt_slot *slot = find_slot(handle, &tag);
  return slot ? if_live(slot, tag) : NULL;
}

// -------------------------------------------------------------------------------------------- pins

// A call writes its pins, then checks whether the slot is live; a thread that frees writes the
// slot's state, then checks for pins. At least one of them sees the other, provided that each keeps
// this order, for which the processor needs a fence. A single-threaded program omits it; the second
// thread compensates with a barrier on all threads.

static inline int64_t pins_of(lt_thread *t) {
  return atomic_load_explicit(&t->used, memory_order_relaxed);
}

lt_slot *lt_pin(const void *handle) {
  uint32_t tag;
  lt_slot *slot = find_slot(handle, &tag);
  if (!slot || ((!lt_me || pins_of(lt_me) == lt_me->room) && !lt_make_pins())) return NULL;
  lt_thread *t = lt_me;
  const int64_t n = pins_of(t);
  atomic_store_explicit(&t->pins[n], slot, memory_order_relaxed);
  atomic_store_explicit(&t->used, n + 1, memory_order_release);
  if (lt_several) atomic_thread_fence(memory_order_seq_cst);
  atomic_signal_fence(memory_order_seq_cst);
  return if_live(slot, tag);
}
