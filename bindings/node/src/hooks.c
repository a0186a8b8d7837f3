// JavaScript callbacks of the library: hooks, saved-tensor hooks, and the derivatives of custom
// functions. They run on the environment's thread: directly if the library was called there, and by
// way of async.c for asynchronous calls.
#include <pthread.h>

#include "addon.h"

// --------------------------------------------------------------------------------------- answers

static bool given_array(napi_env env, const lt_question *q, napi_value *array) {
  if (!lt_ok(env, napi_create_array_with_length(env, (size_t)q->given_count, array))) return false;
  for (int64_t i = 0; i < q->given_count; i++) {
    tensor_t *handle = q->given[i];
    q->given[i] = NULL;
    napi_value item = lt_wrap(env, LT_TENSOR, handle, NULL);
    if (!item || !lt_ok(env, napi_set_element(env, *array, (uint32_t)i, item))) return false;
  }
  return true;
}

// A new handle to a tensor that the function gave.
static bool hand_over(napi_env env, napi_value value, tensor_t **to) {
  lt_js js;
  if (!lt_look(env, value, &js)) return false;
  if (js.kind == LT_JS_ABSENT || js.kind == LT_JS_NULL) return true;
  if (js.kind != LT_JS_TENSOR)
    return lt_throw_type(env, "a callback returned %s, which is not a tensor", lt_kind_name(&js));
  if (!lt_check_box(env, "backward", "result of a hook", js.box, LT_READS)) return false;
  tensor_status status = tensor_new_handle(js.box->handle, to);
  if (status) lt_throw_last(env, status, "savedTensorsHooks");
  return !status;
}

static bool hand_all_over(napi_env env, lt_question *q, napi_value result) {
  bool is;
  if (!lt_ok(env, napi_is_array(env, result, &is))) return false;
  for (int64_t i = 0; is && i < q->made_count; i++) {
    napi_value item;
    if (!lt_ok(env, napi_get_element(env, result, (uint32_t)i, &item)) ||
        !hand_over(env, item, &q->made[i]))
      return false;
  }
  return true;
}

static bool call(napi_env env, lt_question *q) {
  napi_value function, undefined, arguments[2], result;
  size_t count = 1;
  if (q->kind == LT_OPERATOR) return q->answer(env, q);
  if (!lt_kept_value(env, q->kept, q->kind == LT_UNPACK, &function) ||
      !lt_ok(env, napi_get_undefined(env, &undefined)))
    return false;
  if (q->kind == LT_UNPACK) {
    if (!lt_kept_value(env, q->packed, 0, &arguments[0])) return false;
  } else if (q->kind == LT_PACK) {
    tensor_t *handle = q->given[0];
    q->given[0] = NULL;
    if (!(arguments[0] = lt_wrap(env, LT_TENSOR, handle, NULL))) return false;
  } else {
    count = 2;
    if (!given_array(env, q, &arguments[0]) || !(arguments[1] = lt_from_int(env, q->made_count)))
      return false;
  }
  if (napi_call_function(env, undefined, function, count, arguments, &result) != napi_ok)
    return false;
  if (q->kind == LT_PACK) return (q->packed = lt_keep(env, &result, 1)) != NULL;
  return q->kind == LT_UNPACK ? hand_over(env, result, &q->made[0]) : hand_all_over(env, q, result);
}

// Puts the pending exception by, in an array, since anything can be thrown.
static void keep_raised(napi_env env, napi_ref *raised) {
  napi_value error, array;
  lt_take_raised(env, raised);
  if (napi_get_and_clear_last_exception(env, &error) != napi_ok ||
      napi_create_array_with_length(env, 1, &array) != napi_ok ||
      napi_set_element(env, array, 0, error) != napi_ok ||
      napi_create_reference(env, array, 1, raised) != napi_ok)
    *raised = NULL;
}

bool lt_answer(napi_env env, lt_question *q) {
  napi_handle_scope scope;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return false;
  bool answered = call(env, q);
  if (!answered) keep_raised(env, q->raised);
  napi_close_handle_scope(env, scope);
  return answered;
}

// ---------------------------------------------------------------------- questions of the library

static tensor_status ask(lt_question *q) {
  bool asked;
  const lt_env *job = lt_env_of_job();
  if (job ? job != q->kept->e : !pthread_equal(pthread_self(), q->kept->e->thread)) {
    tensor_set_last_error(
        "the function belongs to another thread of JavaScript; define it in the thread that calls "
        "it");
    return TENSOR_ERROR_CALLBACK;
  }
  tensor_dtype dtype = lt_pause();
  bool answered = lt_ask(q, &asked);
  if (!asked) {
    q->raised = &q->kept->e->raised;
    answered = lt_answer(q->kept->e->env, q);
  }
  tensor_status status = lt_resume(dtype);
  if (answered) return status;
  tensor_set_last_error("a JavaScript callback failed");
  return TENSOR_ERROR_CALLBACK;
}

tensor_status lt_ask_function(lt_question *question) { return ask(question); }

tensor_status lt_call_back(void *kept, tensor_t **given, int64_t given_count, tensor_t **made,
                           int64_t made_count) {
  lt_question q = {.kind = LT_CALL,
                   .kept = kept,
                   .given = given,
                   .given_count = given_count,
                   .made = made,
                   .made_count = made_count};
  return ask(&q);
}

static tensor_status pack(void *kept, tensor_t **saved, void **packed) {
  lt_question q = {.kind = LT_PACK, .kept = kept, .given = saved, .given_count = 1};
  tensor_status status = ask(&q);
  if (status && q.packed) lt_let_go(q.packed);
  *packed = status ? NULL : q.packed;
  return status;
}

static tensor_status unpack(void *kept, void *packed, tensor_t **made) {
  lt_question q = {
      .kind = LT_UNPACK, .kept = kept, .packed = packed, .made = made, .made_count = 1};
  return ask(&q);
}

// ------------------------------------------------------------------------------------------------
// saved-tensor hooks

// Hooks that the thread has pushed. The library keeps the functions as long as it needs them.
struct lt_saving {
  napi_ref functions;  // in an array
  lt_saving *below;
};

lt_kept *lt_keep_saving(napi_env env, lt_env *e) {
  napi_value array, functions[2];
  if (!e->saving || !lt_ok(env, napi_get_reference_value(env, e->saving->functions, &array)) ||
      !lt_ok(env, napi_get_element(env, array, 0, &functions[0])) ||
      !lt_ok(env, napi_get_element(env, array, 1, &functions[1])))
    return NULL;
  return lt_keep(env, functions, 2);
}

tensor_status lt_push_saving(lt_kept *hooks) {
  return tensor_push_saved_tensors_hooks(pack, unpack, lt_let_go, hooks, lt_let_go);
}

void lt_drop_saving(lt_env *e) {
  lt_saving *saving = e->saving;
  e->saving = saving->below;
  napi_delete_reference(e->env, saving->functions);
  free(saving);
}

// pushSavedTensorsHooks([pack, unpack])
static napi_value push_saving(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value functions;
  lt_env *e = lt_get_env(env);
  lt_saving *saving = calloc(1, sizeof *saving);
  if (!saving) return lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for hooks");
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &functions, NULL, NULL)) ||
      !lt_ok(env, napi_create_reference(env, functions, 1, &saving->functions))) {
    free(saving);
    return NULL;
  }
  saving->below = e->saving;
  e->saving = saving;
  lt_kept *hooks = lt_keep_saving(env, e);
  tensor_status status = hooks ? lt_push_saving(hooks) : TENSOR_ERROR_MEMORY;
  if (!status) return NULL;
  lt_drop_saving(e);
  if (!hooks) return NULL;
  lt_throw_last(env, status, "savedTensorsHooks");
  lt_let_go(hooks);
  return NULL;
}

static napi_value pop_saving(napi_env env, napi_callback_info info) {
  (void)info;
  lt_env *e = lt_get_env(env);
  if (!e->saving) return NULL;
  lt_drop_saving(e);
  tensor_status status = tensor_pop_saved_tensors_hooks();
  return status ? lt_throw_last(env, status, "savedTensorsHooks") : NULL;
}

bool lt_define_hooks(napi_env env, napi_value exports) {
  const napi_property_descriptor functions[] = {
      {"pushSavedTensorsHooks", NULL, push_saving, NULL, NULL, NULL, napi_default, NULL},
      {"popSavedTensorsHooks", NULL, pop_saving, NULL, NULL, NULL, napi_default, NULL},
  };
  return lt_ok(
      env, napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions));
}
