// Checks of the arguments of exported functions.
#include "arguments.h"

#include <stdio.h>

#include "errors.h"
#include "gen_names.h"

// Releases the pins of the call, and returns the result of a failed check.
static _Bool reject_call(void) {
  lt_unpin();
  return 0;
}

static const char *kind_name(int kind) {
  static const char *const names[] = {"unknown",   "tensor", "storage",
                                      "generator", "node",   "program"};
  return names[kind >= LT_TENSOR && kind <= LT_PROGRAM ? kind : 0];
}

void lt_explain_handle(const void *handle, const lt_slot *slot, int kind, const char *op,
                       const char *argument) {
  if (!handle)
    lt_set_error("%s: argument '%s' is NULL; a %s is required", op, argument, kind_name(kind));
  else if (slot)
    lt_set_error("%s: argument '%s' is a %s; a %s is required", op, argument, kind_name(slot->kind),
                 kind_name(kind));
  else
    lt_set_error(
        "%s: argument '%s' (%p) is not a live %s: it was freed, or never came from this library",
        op, argument, handle, kind_name(kind));
}

lt_slot *lt_resolve(const void *handle, int kind, const char *op, const char *argument) {
  lt_slot *slot = lt_pin(handle);
  if (slot && slot->kind == kind) return slot;
  lt_explain_handle(handle, slot, kind, op, argument);
  lt_unpin();
  return NULL;
}

_Bool lt_resolve_optional(const void *handle, int kind, const char *op, const char *argument,
                          lt_slot **slot) {
  *slot = NULL;
  return !handle || (*slot = lt_resolve(handle, kind, op, argument)) != NULL;
}

_Bool lt_check_span(const void *data, int64_t length, const char *op, const char *argument) {
  if (length >= 0 && length <= LT_LONGEST && (length == 0 || data)) return 1;
  lt_set_error("%s: argument '%s' is a list at %p of length %lld%s", op, argument, data,
               (long long)length, length > LT_LONGEST ? ", which exceeds the maximum" : "");
  return reject_call();
}

_Bool lt_check_texts(const char *const *texts, int64_t length, const char *op,
                     const char *argument) {
  if (!lt_check_span(texts, length, op, argument)) return 0;
  for (int64_t i = 0; i < length; i++)
    if (!texts[i]) {
      lt_set_error("%s: argument '%s[%lld]' is NULL", op, argument, (long long)i);
      return reject_call();
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
  lt_explain_handle(handle, slot, LT_TENSOR, op, item_name(name, argument, i));
  return reject_call();
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
  if (high == INT64_MAX)
    lt_set_error("%s: argument '%s' is %lld; it must be at least %lld", op, argument,
                 (long long)value, (long long)low);
  else
    lt_set_error("%s: argument '%s' is %lld; it must be in the range from %lld to %lld", op,
                 argument, (long long)value, (long long)low, (long long)high);
  return reject_call();
}

_Bool lt_check_dtype(int64_t value, const char *op, const char *argument) {
  if (value < TENSOR_QUINT8 || value > TENSOR_QUINT2X4)
    return lt_check_range(value, TENSOR_DTYPE_NONE, LT_DTYPES - 1, op, argument);
  lt_set_error(
      "%s: argument '%s' is %s, a quantized dtype; use quantize_per_tensor() to create a quantized "
      "tensor",
      op, argument, tensor_dtype_name((tensor_dtype)value));
  return reject_call();
}

_Bool lt_check_pointer(const void *pointer, const char *op, const char *argument) {
  if (pointer) return 1;
  lt_set_error("%s: argument '%s' is NULL", op, argument);
  return reject_call();
}

_Bool lt_check_word(const char *text, const char *op, const char *argument) {
  if (*text) return 1;
  lt_set_error("%s: argument '%s' is an empty string; omit it, or pass one of its values", op,
               argument);
  return reject_call();
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
      return reject_call();
  }
  return 1;
}
