// Waiting for asynchronous calls.
#include "addon.h"

typedef struct lt_waiter {
  napi_deferred deferred;
  napi_ref tensors;  // an array
  struct lt_waiter *next;
} lt_waiter;

// Whether asynchronous calls use one of the tensors in an array, or, for an empty one, whether any
// run.
static bool in_use(napi_env env, const lt_env *e, napi_value tensors) {
  uint32_t count = 0;
  napi_value item;
  if (napi_get_array_length(env, tensors, &count) != napi_ok || count == 0) return e->pending > 0;
  for (uint32_t i = 0; i < count; i++) {
    lt_box *box = napi_get_element(env, tensors, i, &item) == napi_ok ? lt_unwrap(env, item) : NULL;
    if (box && box->users > 0) return true;
  }
  return false;
}

// Notifies those that wait for tensors which no call uses any more.
void lt_tell_waiters(napi_env env, lt_env *e) {
  for (lt_waiter **at = &e->waiters, *w; (w = *at);) {
    napi_handle_scope scope;
    napi_value tensors, undefined;
    if (napi_open_handle_scope(env, &scope) != napi_ok) return;
    bool waits =
        napi_get_reference_value(env, w->tensors, &tensors) == napi_ok && in_use(env, e, tensors);
    if (!waits && napi_get_undefined(env, &undefined) == napi_ok)
      napi_resolve_deferred(env, w->deferred, undefined);
    napi_close_handle_scope(env, scope);
    if (waits) {
      at = &w->next;
      continue;
    }
    *at = w->next;
    napi_delete_reference(env, w->tensors);
    free(w);
  }
}

// settled(tensors): a promise that is kept when asynchronous calls are done with them.
napi_value lt_settled(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value tensors, promise = NULL;
  lt_env *e = lt_get_env(env);
  lt_waiter *w = calloc(1, sizeof *w);
  if (!w) return lt_throw_status(env, TENSOR_ERROR_MEMORY, "settled: no memory");
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &tensors, NULL, NULL)) ||
      !lt_ok(env, napi_create_reference(env, tensors, 1, &w->tensors)) ||
      !lt_ok(env, napi_create_promise(env, &w->deferred, &promise))) {
    if (w->tensors) napi_delete_reference(env, w->tensors);
    free(w);
    return NULL;
  }
  w->next = e->waiters;
  e->waiters = w;
  lt_tell_waiters(env, e);
  return promise;
}

void lt_free_waiters(lt_env *e) {
  for (lt_waiter *w = e->waiters, *next; w; w = next) {
    next = w->next;
    free(w);
  }
}
