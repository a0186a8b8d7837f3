#include "handle.h"

#include <stdlib.h>

#include "_cgo_export.h"
#include "interrupt.h"
#include "start.h"

#define LT_DRAIN_AT 64  // freed handles that may wait for the next call

// Not kept in a forked child, where capi/inherit.go visits all slots.
static lt_slot *_Atomic freed;     // slots whose handles were freed, for the next call to empty
static _Atomic int32_t postponed;  // whether one of them waits for a call to end

lt_slot *lt_take_freed(void) { return freed ? atomic_exchange(&freed, NULL) : NULL; }

// Returns a slot away, to those that lt_take_freed returns; reports how many they are.
static int64_t give_freed(lt_slot *slot) {
  lt_slot *head = freed;
  int64_t queued;
  do {
    slot->next = head;
    slot->queued = queued = head ? head->queued + 1 : 1;
  } while (!atomic_compare_exchange_weak(&freed, &head, slot));
  return queued;
}

void lt_postpone(lt_slot *slot) {
  give_freed(slot);
  postponed = 1;
}

void lt_settle(void) {
  if (postponed && atomic_exchange(&postponed, 0)) lt_empty(lt_me, lt_take_freed());
}

static inline tensor_status invoke_engine(lt_frame *frame, const char *op,
                                          int32_t (*enter)(lt_frame *)) {
  if (lt_state != LT_RUNNING) {
    const tensor_status status = lt_start(op);
    if (status) return status;
  }
  if (!lt_me && !lt_join()) {
    lt_set_error("%s: not enough memory to register the calling thread", op);
    lt_unpin();
    return TENSOR_ERROR_MEMORY;
  }
  frame->name = op;
  frame->thread = lt_me;
  frame->freed = lt_take_freed();
  const int64_t before = lt_begin(), around = lt_me->around;
  lt_me->around = before;
  tensor_status status = (tensor_status)enter(frame);
  lt_me->around = around;
  if (__builtin_expect(status != TENSOR_OK, 0)) status = lt_report_cancelled(status, op);
  lt_end(before);
  if (__builtin_expect(status != TENSOR_OK, 0)) lt_end_cancelling();
  lt_settle();
  return status;
}

tensor_status lt_invoke(lt_frame *frame, const char *op) {
  return invoke_engine(frame, op, lt_enter);
}

tensor_status lt_invoke_with(lt_frame *frame, const char *op, int32_t (*enter)(lt_frame *)) {
  return invoke_engine(frame, op, enter);
}

static tensor_status free_handle(void *handle, int kind, const char *op) {
  if (!handle) return TENSOR_OK;
  lt_slot *slot = lt_look(handle, kind, op);
  if (!slot) return TENSOR_ERROR_HANDLE;
  if (!lt_me && !lt_join()) return TENSOR_ERROR_MEMORY;
  uint32_t expected = LT_LIVE;
  if (!atomic_compare_exchange_strong(&slot->state, &expected, LT_DEAD)) {
    lt_set_error("%s: argument 'self' (%p) is being freed by another thread", op, handle);
    return TENSOR_ERROR_HANDLE;
  }
  const _Bool immediate = slot->immediate;
  const int64_t queued = give_freed(slot);
  if (lt_state != LT_RUNNING) return TENSOR_OK;  // a forked child empties them when it starts
  if (queued >= LT_DRAIN_AT || immediate) lt_empty(lt_me, lt_take_freed());
  return TENSOR_OK;
}

TENSOR_API tensor_status tensor_free(tensor_t *self) {
  return free_handle(self, LT_TENSOR, "free");
}
TENSOR_API tensor_status tensor_storage_free(tensor_storage_t *self) {
  return free_handle(self, LT_STORAGE, "storage_free");
}
TENSOR_API tensor_status tensor_generator_free(tensor_generator_t *self) {
  return free_handle(self, LT_GENERATOR, "generator_free");
}
TENSOR_API tensor_status tensor_node_free(tensor_node_t *self) {
  return free_handle(self, LT_NODE, "node_free");
}
TENSOR_API tensor_status tensor_program_free(tensor_program_t *self) {
  return free_handle(self, LT_PROGRAM, "program_free");
}

TENSOR_API tensor_status tensor_list_free(tensor_t **list, int64_t length) {
  tensor_status status = TENSOR_OK;
  if (!list) return status;
  for (int64_t i = 0; i < length; i++) {
    tensor_status s = tensor_free(list[i]);
    if (s) status = s;
  }
  free(list);
  return status;
}

TENSOR_API void tensor_string_free(char *string) { free(string); }
TENSOR_API void tensor_string_list_free(char **list, int64_t length) {
  if (!list) return;
  for (int64_t i = 0; i < length; i++) free(list[i]);
  free(list);
}
TENSOR_API int64_t tensor_live_handles(void) {
  int64_t taken = 0;
  for (lt_thread *t = lt_threads; t; t = t->next)
    taken += __atomic_load_n(&t->taken, __ATOMIC_RELAXED);
  lt_slot *head = freed;
  return taken - (head ? head->queued : 0);
}
TENSOR_API int32_t tensor_version(void) { return TENSOR_VERSION; }
