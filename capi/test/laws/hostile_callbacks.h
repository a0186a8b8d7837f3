// Callbacks of a hostile program: hooks that steal, free and resize the tensors that they are
// given, fail, and call any function.
#ifndef LIBTENSOR_TEST_HOSTILE_CALLBACKS_H
#define LIBTENSOR_TEST_HOSTILE_CALLBACKS_H

#include "hostile_given.h"

static void (*call_any)(void);     // makes a call, as the main program does
static _Atomic int64_t callbacks;  // that were called
static _Thread_local int depth;    // of callbacks
static atomic_bool ending;         // the pools are emptied: callbacks do nothing
enum { DEEPEST = 3 };

static void reenter(void) {
  if (ending || depth >= DEEPEST) return;
  depth++;
  call_any();
  depth--;
}

static tensor_status failed_callback(void) {
  tensor_set_last_error("a hostile callback fails");
  return TENSOR_ERROR_VALUE;
}

static tensor_t *cloned(const tensor_t *from) {
  tensor_t *made = NULL;
  tensor_clone(from, TENSOR_FORMAT_NONE, &made);
  return made;
}

static tensor_status hostile_hook(void *context, tensor_t **tensors_given, int64_t given_len,
                                  tensor_t **made, int64_t made_len) {
  (void)context, callbacks++;
  if (ending) return TENSOR_OK;
  tensor_t **one = given_len ? &tensors_given[below((int)given_len)] : NULL;
  tensor_t **result = made_len ? &made[below((int)made_len)] : NULL;
  switch (below(10)) {
    case 0:  // steals
      if (one && *one) put_tensor(PLAIN + below(TENSORS - PLAIN), *one), *one = NULL;
      break;
    case 1:
      if (one) tensor_free(*one), *one = NULL;
      break;
    case 2:  // leaves a stale handle
      if (one) tensor_free(*one);
      break;
    case 3:
      if (one && *one)
        tensor_resize_(*one, (const int64_t[]){below(9), below(9)}, 1 + below(2),
                       TENSOR_FORMAT_NONE);
      break;
    case 4:
    case 5:
      reenter();
      break;
    case 6:
      if (result) *result = cloned(one && *one && below(3) ? *one : t[below(TENSORS)]);
      break;
    case 7:
      return failed_callback();
    case 8: {  // recursive calls
      const tensor_t *from = t[below(TENSORS)];
      if (depth < DEEPEST)
        depth++, tensor_backward(&from, 1, NULL, 0, 1, below(2), NULL, 0), depth--;
      break;
    }
  }
  return TENSOR_OK;
}

// The objects that pack keeps. A graph that contains the node which keeps it, after later writes,
// would never be freed: the end of a block frees it.
enum { PACKED = 1024 };
static _Atomic(tensor_t *) packed_tensors[PACKED];
static tensor_status keep_packed(tensor_t *made, void **packed) {
  int at = below(PACKED);
  *packed = made;
  tensor_free(atomic_exchange(&packed_tensors[at], made));  // which is stale from then on
  return TENSOR_OK;
}

static tensor_status hostile_pack(void *context, tensor_t **saved, void **packed) {
  (void)context, callbacks++;
  if (ending) return TENSOR_OK;
  switch (below(8)) {
    case 0:
      return failed_callback();
    case 1:
      reenter();
      break;
    case 2:
      return keep_packed(cloned(*saved), packed);
    case 3:
      tensor_free(*saved), *saved = NULL, *packed = NULL;
      return TENSOR_OK;
  }
  tensor_t *kept_tensor = *saved;
  *saved = NULL;
  return keep_packed(kept_tensor, packed);
}

static tensor_status hostile_unpack(void *context, void *packed, tensor_t **made) {
  (void)context, callbacks++;
  switch (ending ? 9 : below(10)) {
    case 0:
      return failed_callback();
    case 1:
      reenter();
      break;
    case 2:
      *made = cloned(t[below(TENSORS)]);
      return TENSOR_OK;
    case 3:
      return TENSOR_OK;
  }
  return packed ? tensor_new_handle(packed, made) : TENSOR_OK;
}

static void hostile_drop(void *packed) {
  tensor_free(packed);
  if (below(8) == 0) reenter();
}
static void hostile_deleter(void *context) {
  (void)context;
  if (below(8) == 0) reenter();
}
static void hostile_watcher(void *context, tensor_node_t *node, bool failed) {
  char *name = NULL;
  (void)context, (void)failed;
  if (!tensor_node_name(node, &name)) tensor_string_free(name);
  if (below(8) == 0) reenter();
}

static void end_callbacks(void) {
  ending = true;
  for (int i = 0; i < PACKED; i++) tensor_free(atomic_exchange(&packed_tensors[i], NULL));
  tensor_set_detect_anomaly(false, false);
  tensor_set_anomaly_watcher(NULL, NULL);
  while (tensor_pop_saved_tensors_hooks() == TENSOR_OK) continue;
}

#endif
