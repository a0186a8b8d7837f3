// The application's observer of operator calls.
#include "observer.h"

#include "clock.h"
#include "restart.h"
#include "value.h"

#include <stdlib.h>

LT_KEPT lt_callback_slot lt_observer = LT_CALLBACK_SLOT;
// Whether calls of the thread are not observed: in the observer, and where lt_hide_calls hides
// them.
static _Thread_local __attribute__((tls_model("initial-exec"))) _Bool is_hidden;

_Bool lt_hide_calls(_Bool hidden) {
  const _Bool before = is_hidden;
  is_hidden = hidden;
  return before;
}

TENSOR_API tensor_status tensor_set_observer(tensor_observer function, void *context,
                                             tensor_deleter deleter) {
  const lt_callback set = {{(void (*)(void))function}, context, deleter, 0};
  return lt_set_callback(&lt_observer, set, "set_observer");
}

TENSOR_API tensor_status tensor_replace_observer(tensor_observer function, void *context,
                                                 tensor_deleter deleter, int64_t *previous) {
  const lt_callback set = {{(void (*)(void))function}, context, deleter, 0};
  if (!lt_check_pointer(previous, "replace_observer", "previous")) return TENSOR_ERROR_VALUE;
  return lt_replace_callback(&lt_observer, set, "replace_observer", previous);
}

TENSOR_API tensor_status tensor_restore_observer(int64_t previous) {
  if (lt_restore_callback(&lt_observer, previous)) return TENSOR_OK;
  return lt_reject(TENSOR_ERROR_VALUE,
                   "restore_observer: argument 'previous' is %lld; it must be an id that "
                   "tensor_replace_observer() returned and that was not restored yet, or 0",
                   (long long)previous);
}

static void call_observer(lt_callback *o, tensor_event *event, lt_slot *const *tensors,
                          int32_t count) {
  tensor_event_tensor described[LT_MOST_OBSERVED];
  for (int32_t i = 0; i < count; i++) {
    const lt_slot *s = tensors[i];
    const int64_t bytes = s->numel * tensor_dtype_size((tensor_dtype)s->dtype);
    described[i] = (tensor_event_tensor){s->dtype, s->dim, s->sizes, bytes};
    event->bytes += bytes;
  }
  event->tensors = described, event->tensor_count = count;
  const _Bool before = lt_hide_calls(1);
  ((tensor_observer)o->functions[0])(o->context, event);
  lt_hide_calls(before);
}

void lt_observe_begin(lt_observation *o, const char *name, lt_slot *const *tensors, int32_t count) {
  o->observer = NULL;
  if (is_hidden || !(o->observer = lt_hold_callback(&lt_observer))) return;
  o->name = name;
  tensor_event event = {.name = name, .time = lt_read_clock(CLOCK_MONOTONIC)};
  call_observer(o->observer, &event, tensors, count);
  o->began = lt_read_clock(CLOCK_MONOTONIC);
}

void lt_observe_end(lt_observation *o, tensor_status status, lt_slot *const *tensors,
                    int32_t count) {
  if (!o->observer) return;
  const int64_t ended = lt_read_clock(CLOCK_MONOTONIC);
  tensor_event event = {.name = o->name,
                        .is_end = true,
                        .status = status,
                        .time = ended,
                        .nanoseconds = ended - o->began};
  call_observer(o->observer, &event, tensors, count);
  lt_drop_callback(&lt_observer, o->observer);
}

static int32_t find_slots(tensor_t *const *tensors, int64_t count, lt_slot **slots) {
  int32_t n = 0;
  for (int64_t i = 0; i < count && n < LT_MOST_OBSERVED; i++)
    if ((slots[n] = lt_find(tensors[i]))) n++;
  return n;
}

void lt_observe_tensors(lt_observation *o, const char *name, tensor_t *const *tensors,
                        int64_t count) {
  lt_slot *slots[LT_MOST_OBSERVED];
  lt_observe_begin(o, name, slots, find_slots(tensors, count, slots));
}

void lt_observe_end_tensors(lt_observation *o, tensor_status status, tensor_t *const *tensors,
                            int64_t count) {
  lt_slot *slots[LT_MOST_OBSERVED];
  lt_observe_end(o, status, slots, status ? 0 : find_slots(tensors, count, slots));
}

bool tensor_is_observed(void) { return lt_is_observed(); }

void *tensor_begin_observed(const char *name, tensor_t *const *tensors, int64_t count) {
  lt_observation *o = malloc(sizeof *o);
  if (!o) return NULL;
  lt_observe_tensors(o, name, tensors, count);
  if (o->observer) return o;
  free(o);
  return NULL;
}

void tensor_end_observed(void *call, tensor_status status, tensor_t *const *tensors,
                         int64_t count) {
  if (!call) return;
  lt_observe_end_tensors(call, status, tensors, count);
  free(call);
}

// --------------------------------------------------------------------- operators of the table

static int32_t add_slot(lt_slot **list, int32_t n, lt_slot *slot) {
  if (slot && slot->kind == LT_TENSOR && n < LT_MOST_OBSERVED) list[n++] = slot;
  return n;
}

static int32_t add_handles(lt_slot **list, int32_t n, const void *const *handles, int64_t length) {
  for (int64_t i = 0; i < length; i++) n = add_slot(list, n, lt_find(handles[i]));
  return n;
}

int32_t lt_add_observed(lt_slot **list, int32_t n, char kind, const lt_value *value) {
  switch (kind | 32) {
    case 'o':
    case 't':
    case 'p':
      return add_slot(list, n, lt_find(value->pointer));
    case 'a':
    case 'r':
    case 'z':
      return add_handles(list, n, value->list.data, value->list.length);
  }
  return n;
}

void lt_observe_arguments(lt_observation *o, const lt_operator *op, const char *name,
                          const lt_frame *frame) {
  lt_slot *list[LT_MOST_OBSERVED];
  int32_t n = 0;
  for (int i = 0; i < op->count; i++) {
    const lt_value *v = frame->args + i;
    switch (op->parameters[i].kind | 32) {
      case 'o':
        if (frame->number == i + 1) break;
        // fall through
      case 't':
      case 'p':
        n = add_slot(list, n, v->slot);
        break;
      case 'a':
      case 'r':
      case 'z':
        n = add_handles(list, n, v->list.data, v->list.length);
    }
  }
  lt_observe_begin(o, name, list, n);
}

void lt_observe_results(lt_observation *o, const lt_operator *op, const lt_frame *frame,
                        tensor_status status) {
  lt_slot *list[LT_MOST_OBSERVED];
  int32_t n = 0;
  for (int i = 0; !status && op->results[i]; i++) {
    const lt_value *v = frame->results + i;
    if (frame->mode == LT_OUT) {
      n = add_slot(list, n, frame->out[i]);
    } else if (frame->mode == LT_INPLACE) {
      n = add_slot(list, n, frame->args[0].slot);
      break;
    } else {
      n = lt_add_observed(list, n, op->results[i], v);
    }
  }
  lt_observe_end(o, status, list, n);
}
