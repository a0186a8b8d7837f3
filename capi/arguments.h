// Checks of the arguments of exported functions: each sets the last error if it fails.
#ifndef LIBTENSOR_CAPI_ARGUMENTS_H
#define LIBTENSOR_CAPI_ARGUMENTS_H

#include "table.h"

// Finds the slot of a handle and pins it for the next call. On failure sets the last error, naming
// the operator and the argument, and returns NULL.
lt_slot *lt_resolve(const void *handle, int kind, const char *op, const char *argument);
// NULL-tolerant and list forms; false on failure. A longer list than LT_LONGEST is a length that
// was computed wrongly: nothing reads so far.
#define LT_LONGEST INT32_MAX
_Bool lt_resolve_optional(const void *handle, int kind, const char *op, const char *argument,
                          lt_slot **slot);
_Bool lt_check_list(const void *handles, int64_t length, _Bool optional, const char *op,
                    const char *argument);
_Bool lt_check_texts(const char *const *texts, int64_t length, const char *op,
                     const char *argument);
_Bool lt_check_span(const void *data, int64_t length, const char *op, const char *argument);
_Bool lt_check_index(const tensor_index *items, int64_t length, const char *op,
                     const char *argument);
_Bool lt_check_range(int64_t value, int64_t low, int64_t high, const char *op,
                     const char *argument);
_Bool lt_check_dtype(int64_t value, const char *op, const char *argument);
_Bool lt_check_pointer(const void *pointer, const char *op, const char *argument);
// Rejects an empty text where none may be given: nothing else represents none.
_Bool lt_check_word(const char *text, const char *op, const char *argument);

// Sets the error for a handle that is NULL, of another kind (slot is its live slot), or not live.
void lt_explain_handle(const void *handle, const lt_slot *slot, int kind, const char *op,
                       const char *argument);

// lt_resolve for as long as a plain read takes: the slot is not pinned.
static inline lt_slot *lt_look(const void *handle, int kind, const char *op) {
  lt_slot *slot = lt_find(handle);
  if (slot && slot->kind == kind) return slot;
  lt_explain_handle(handle, slot, kind, op, "self");
  return NULL;
}

#endif
