#include "handle.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "_cgo_export.h"
#include "export.h"
#include "gen_names.h"
#include "interrupt.h"
#include "restart.h"
#include "start.h"

#define LT_DRAIN_AT 64  // freed handles that may wait for the next call

LT_KEPT static lt_slot
    *_Atomic freed;  // slots whose handles were freed, for the next call to empty
LT_KEPT static _Atomic int32_t postponed;  // whether one of them waits for a call to end

// The message is on the heap: Go's runtime makes the library's thread-local storage static, and a
// library that is loaded late gets only a few hundred bytes of that.
enum { LT_MESSAGE_BYTES = 4096 };
static _Thread_local char *message;
static _Thread_local int32_t error_number;
LT_KEPT static pthread_key_t message_key;

// Calls that other destructors of the ending thread make find no message, and make another.
static void forget(void *text) {
  message = NULL;
  free(text);
}

__attribute__((constructor)) static void prepare(void) {
  if (!pthread_key_create(&message_key, forget)) lt_keep_key(message_key);
}

// Notes why a call fails.
__attribute__((format(printf, 1, 2))) static void explain(const char *format, ...) {
  error_number = 0;
  if (!message) {
    if (!(message = malloc(LT_MESSAGE_BYTES))) return;
    pthread_setspecific(message_key, message);
  }
  va_list values;
  va_start(values, format);
  vsnprintf(message, LT_MESSAGE_BYTES, format, values);
  va_end(values);
}

void lt_fail(int32_t number, const char *text) {
  explain("%s", text);
  lt_unpin();
  error_number = number;
}

// Returns the result of a failed check, after releasing the pins of the call.
static _Bool refused(void) {
  lt_unpin();
  return 0;
}

static const char *kind_name(int kind) {
  static const char *const names[] = {"unknown",   "tensor", "storage",
                                      "generator", "node",   "program"};
  return names[kind >= LT_TENSOR && kind <= LT_PROGRAM ? kind : 0];
}

static void explain_handle(const void *handle, const lt_slot *slot, int kind, const char *op,
                           const char *argument) {
  if (!handle)
    explain("%s: argument '%s' is NULL; a %s is required", op, argument, kind_name(kind));
  else if (slot)
    explain("%s: argument '%s' is a %s; a %s is required", op, argument, kind_name(slot->kind),
            kind_name(kind));
  else
    explain(
        "%s: argument '%s' (%p) is not a live %s: it was freed, or never came from this library",
        op, argument, handle, kind_name(kind));
}

lt_slot *lt_resolve(const void *handle, int kind, const char *op, const char *argument) {
  lt_slot *slot = lt_pin(handle);
  if (slot && slot->kind == kind) return slot;
  explain_handle(handle, slot, kind, op, argument);
  lt_unpin();
  return NULL;
}

// lt_resolve for as long as a plain read takes.
static lt_slot *look(const void *handle, int kind, const char *op) {
  lt_slot *slot = lt_find(handle);
  if (slot && slot->kind == kind) return slot;
  explain_handle(handle, slot, kind, op, "self");
  return NULL;
}

_Bool lt_resolve_optional(const void *handle, int kind, const char *op, const char *argument,
                          lt_slot **slot) {
  *slot = NULL;
  return !handle || (*slot = lt_resolve(handle, kind, op, argument)) != NULL;
}

_Bool lt_check_span(const void *data, int64_t length, const char *op, const char *argument) {
  if (length >= 0 && length <= LT_LONGEST && (length == 0 || data)) return 1;
  explain("%s: argument '%s' is a list at %p of length %lld%s", op, argument, data,
          (long long)length, length > LT_LONGEST ? ", which exceeds the maximum" : "");
  return refused();
}

_Bool lt_check_texts(const char *const *texts, int64_t length, const char *op,
                     const char *argument) {
  if (!lt_check_span(texts, length, op, argument)) return 0;
  for (int64_t i = 0; i < length; i++)
    if (!texts[i]) {
      explain("%s: argument '%s[%lld]' is NULL", op, argument, (long long)i);
      return refused();
    }
  return 1;
}

enum { LT_NAME_BYTES = 96 };
static const char *item_name(char *name, const char *argument, int64_t i) {
  snprintf(name, LT_NAME_BYTES, "%s[%lld]", argument, (long long)i);
  return name;
}

// lt_resolve of a tensor in a list; its name is written only for errors.
static _Bool resolve_item(const void *handle, const char *op, const char *argument, int64_t i) {
  const lt_slot *slot = lt_pin(handle);
  if (slot && slot->kind == LT_TENSOR) return 1;
  char name[LT_NAME_BYTES];
  explain_handle(handle, slot, LT_TENSOR, op, item_name(name, argument, i));
  return refused();
}

_Bool lt_check_list(const void *handles, int64_t length, _Bool optional, const char *op,
                    const char *argument) {
  if (!lt_check_span(handles, length, op, argument)) return 0;
  const void *const *list = handles;
  for (int64_t i = 0; i < length; i++)
    if (!(optional && !list[i]) && !resolve_item(list[i], op, argument, i)) return 0;
  return 1;
}

_Bool lt_check_range(int64_t value, int64_t low, int64_t high, const char *op,
                     const char *argument) {
  if (value >= low && value <= high) return 1;
  explain("%s: argument '%s' is %lld, which is not one of the values %lld to %lld", op, argument,
          (long long)value, (long long)low, (long long)high);
  return refused();
}

_Bool lt_check_dtype(int64_t value, const char *op, const char *argument) {
  if (value < TENSOR_QUINT8 || value > TENSOR_QUINT2X4)
    return lt_check_range(value, TENSOR_DTYPE_NONE, LT_DTYPES - 1, op, argument);
  explain(
      "%s: argument '%s' is %s, a quantized dtype; use quantize_per_tensor() to create a quantized "
      "tensor",
      op, argument, tensor_dtype_name((tensor_dtype)value));
  return refused();
}

_Bool lt_check_pointer(const void *pointer, const char *op, const char *argument) {
  if (pointer) return 1;
  explain("%s: argument '%s' is NULL", op, argument);
  return refused();
}

_Bool lt_check_word(const char *text, const char *op, const char *argument) {
  if (*text) return 1;
  explain("%s: argument '%s' is an empty string; omit it, or pass one of its values", op, argument);
  return refused();
}

_Bool lt_check_index(const tensor_index *items, int64_t length, const char *op,
                     const char *argument) {
  if (!lt_check_span(items, length, op, argument)) return 0;
  for (int64_t i = 0; i < length; i++) {
    if (items[i].kind < TENSOR_INDEX_INT || items[i].kind > TENSOR_INDEX_BOOL) {
      char name[LT_NAME_BYTES];
      return lt_check_range(items[i].kind, TENSOR_INDEX_INT, TENSOR_INDEX_BOOL, op,
                            item_name(name, argument, i));
    }
    if (items[i].kind == TENSOR_INDEX_TENSOR && !resolve_item(items[i].tensor, op, argument, i))
      return refused();
  }
  return 1;
}

void lt_forget_freed(void) {
  freed = NULL;
  postponed = 0;
}

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

void lt_drop_results(lt_frame *frame) {
  const lt_operator *op = lt_operators + frame->op;
  if (frame->mode != LT_FUNCTION) return;
  for (int i = 0; op->results[i]; i++) {
    lt_value *v = frame->results + i;
    switch (op->results[i]) {
      case 'T':
        tensor_free(v->pointer);
        break;
      case 'G':
        tensor_generator_free(v->pointer);
        break;
      case 'W':
        tensor_storage_free(v->pointer);
        break;
      case 'J':
        tensor_node_free(v->pointer);
        break;
      case 'U':
        tensor_string_free(v->pointer);
        break;
      case 'A':
        tensor_list_free((tensor_t **)v->list.data, v->list.length);
        break;
      case 'K':
        tensor_string_list_free((char **)v->list.data, v->list.length);
        break;
      case 'L':
        free((void *)v->list.data);
    }
  }
}

static inline tensor_status invoke(lt_frame *frame, const char *op, int32_t (*enter)(lt_frame *)) {
  if (lt_state != LT_RUNNING) {
    const tensor_status status = lt_start(op);
    if (status) return status;
  }
  if (!lt_me && !lt_join()) {
    explain("%s: not enough memory to register the calling thread", op);
    lt_unpin();
    return TENSOR_ERROR_MEMORY;
  }
  frame->name = op;
  frame->thread = lt_me;
  frame->freed = lt_take_freed();
  const int64_t before = lt_begin(), around = lt_me->around;
  lt_me->around = before;
  const tensor_status status = (tensor_status)enter(frame);
  lt_me->around = around;
  lt_end(before);
  if (__builtin_expect(status != TENSOR_OK, 0)) lt_end_cancelling();
  lt_settle();
  return status;
}

tensor_status lt_invoke(lt_frame *frame, const char *op) { return invoke(frame, op, lt_enter); }

tensor_status lt_invoke_with(lt_frame *frame, const char *op, int32_t (*enter)(lt_frame *)) {
  return invoke(frame, op, enter);
}

static tensor_status release(void *handle, int kind, const char *op) {
  if (!handle) return TENSOR_OK;
  lt_slot *slot = look(handle, kind, op);
  if (!slot) return TENSOR_ERROR_HANDLE;
  if (!lt_me && !lt_join()) return TENSOR_ERROR_MEMORY;
  uint32_t expected = LT_LIVE;
  if (!atomic_compare_exchange_strong(&slot->state, &expected, LT_DEAD)) {
    explain("%s: argument 'self' (%p) is being freed by another thread", op, handle);
    return TENSOR_ERROR_HANDLE;
  }
  const _Bool immediate = slot->immediate;
  const int64_t queued = give_freed(slot);
  if (lt_state != LT_RUNNING) return TENSOR_OK;  // a forked child empties them when it starts
  if (queued >= LT_DRAIN_AT || immediate) lt_empty(lt_me, lt_take_freed());
  return TENSOR_OK;
}

TENSOR_API tensor_status tensor_free(tensor_t *self) {
  return release(self, LT_TENSOR, "tensor_free");
}
TENSOR_API tensor_status tensor_storage_free(tensor_storage_t *self) {
  return release(self, LT_STORAGE, "tensor_storage_free");
}
TENSOR_API tensor_status tensor_generator_free(tensor_generator_t *self) {
  return release(self, LT_GENERATOR, "tensor_generator_free");
}
TENSOR_API tensor_status tensor_node_free(tensor_node_t *self) {
  return release(self, LT_NODE, "tensor_node_free");
}
TENSOR_API tensor_status tensor_program_free(tensor_program_t *self) {
  return release(self, LT_PROGRAM, "tensor_program_free");
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
TENSOR_API const char *tensor_last_error(void) { return message ? message : ""; }
TENSOR_API void tensor_set_last_error(const char *text) {
  if (text) explain("%s", text);
}
TENSOR_API int32_t tensor_last_errno(void) { return error_number; }
TENSOR_API int32_t tensor_version(void) { return TENSOR_VERSION; }

#define GETTER(name) lt_slot *slot = look(self, LT_TENSOR, "tensor_" name)

TENSOR_API int64_t tensor_dim(const tensor_t *self) {
  GETTER("dim");
  return slot ? slot->dim : -1;
}
TENSOR_API int64_t tensor_numel(const tensor_t *self) {
  GETTER("numel");
  return slot ? slot->numel : -1;
}
TENSOR_API bool tensor_same_memory(const tensor_t *self, const tensor_t *other) {
  GETTER("same_memory");
  const lt_slot *beside = look(other, LT_TENSOR, "tensor_same_memory");
  return slot && beside && slot->memory && slot->memory == beside->memory;
}
TENSOR_API uint8_t tensor_lazy(const tensor_t *self) {
  GETTER("lazy");
  return slot ? slot->lazy : 0;
}
TENSOR_API int64_t tensor_storage_offset(const tensor_t *self) {
  GETTER("storage_offset");
  return slot ? slot->offset : -1;
}
TENSOR_API const int64_t *tensor_sizes(const tensor_t *self) {
  GETTER("sizes");
  return slot ? slot->sizes : NULL;
}
TENSOR_API const int64_t *tensor_strides(const tensor_t *self) {
  GETTER("strides");
  return slot ? slot->strides : NULL;
}
TENSOR_API tensor_dtype tensor_get_dtype(const tensor_t *self) {
  GETTER("get_dtype");
  return slot ? (tensor_dtype)slot->dtype : TENSOR_DTYPE_NONE;
}
TENSOR_API tensor_device tensor_get_device(const tensor_t *self) {
  GETTER("get_device");
  tensor_device d = tensor_device_default();
  if (slot) d.type = slot->device_type, d.index = slot->device_index;
  return d;
}
TENSOR_API tensor_layout tensor_get_layout(const tensor_t *self) {
  GETTER("get_layout");
  return slot ? (tensor_layout)slot->layout : TENSOR_LAYOUT_NONE;
}

static const struct {
  const char *name;
  int64_t size;
} dtypes[] = LT_DTYPES_BY_NUMBER;

static _Bool known(tensor_dtype d) { return d >= 0 && (size_t)d < sizeof dtypes / sizeof *dtypes; }
TENSOR_API int64_t tensor_dtype_size(tensor_dtype dtype) {
  return known(dtype) ? dtypes[dtype].size : 0;
}
TENSOR_API const char *tensor_dtype_name(tensor_dtype dtype) {
  return known(dtype) ? dtypes[dtype].name : "none";
}
