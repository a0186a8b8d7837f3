// Custom operators: functions of JavaScript that the library calls by the name of an operator.
#include <stdio.h>

#include "addon.h"

// The functions of a definition, in the array that the library keeps.
enum { FUNCTION, META, BACKWARD, VMAP, FUNCTIONS };

// A call of one of them.
typedef struct invocation {
  lt_question base;
  int function;
  const tensor_value *arguments;
  int32_t argument_count;
  const tensor_value *results, *gradients;  // of a backward function
  int32_t result_count;
  int64_t batch_size;  // of a vmap rule
  const bool *batched;
  tensor_value *made;
  int32_t made_count;
} invocation;

// ------------------------------------------------------------------------------------- arguments

static bool new_handle(napi_env env, tensor_t *from, tensor_t **to) {
  const tensor_status status = from ? tensor_new_handle(from, to) : TENSOR_OK;
  if (status) lt_throw_last(env, status, "defineOperator");
  return !status;
}

// A borrowed value as an object of JavaScript.
static napi_value show(napi_env env, const tensor_value *v) {
  tensor_value own = *v;
  napi_value made, item;
  tensor_t *handle = NULL;
  if (v->kind == TENSOR_VALUE_TENSOR)
    return new_handle(env, v->as.tensor, &own.as.tensor) ? lt_from_value(env, &own) : NULL;
  if (v->kind != TENSOR_VALUE_TENSORS) return lt_from_value(env, &own);
  if (!lt_ok(env, napi_create_array(env, &made))) return NULL;
  for (int64_t i = 0; i < v->length; i++) {
    tensor_value one = {.kind = v->as.tensors[i] ? TENSOR_VALUE_TENSOR : TENSOR_VALUE_NONE};
    if (!new_handle(env, v->as.tensors[i], &handle)) return NULL;
    one.as.tensor = handle;
    if (!(item = lt_from_value(env, &one)) ||
        !lt_ok(env, napi_set_element(env, made, (uint32_t)i, item)))
      return NULL;
  }
  return made;
}

static napi_value show_all(napi_env env, const tensor_value *values, int32_t count) {
  napi_value array;
  if (!lt_ok(env, napi_create_array(env, &array))) return NULL;
  for (int32_t i = 0; i < count; i++) {
    napi_value item = show(env, values + i);
    if (!item || !lt_ok(env, napi_set_element(env, array, (uint32_t)i, item))) return NULL;
  }
  return array;
}

static napi_value flags_of(napi_env env, const invocation *v) {
  napi_value array, flag;
  int64_t at = 0;
  if (!lt_ok(env, napi_create_array(env, &array))) return NULL;
  for (int32_t i = 0; i < v->argument_count; i++) {
    const tensor_value *a = v->arguments + i;
    bool batched = false;
    if (a->kind == TENSOR_VALUE_TENSOR) batched = v->batched[at++];
    for (int64_t k = 0; a->kind == TENSOR_VALUE_TENSORS && k < a->length; k++)
      if (a->as.tensors[k]) batched |= v->batched[at++];
    if (!lt_ok(env, napi_get_boolean(env, batched, &flag)) ||
        !lt_ok(env, napi_set_element(env, array, (uint32_t)i, flag)))
      return NULL;
  }
  return array;
}

// --------------------------------------------------------------------------------------- results

// Stores the name of a function, which lib/operators.js sets: the operator's, and the option's.
static void read_name(napi_env env, napi_value function, char *to, size_t room) {
  napi_value value;
  size_t length;
  snprintf(to, room, "a custom operator: a function");
  if (napi_get_named_property(env, function, "name", &value) == napi_ok)
    napi_get_value_string_utf8(env, value, to, room, &length);
}

// Throws a TypeError for a result of a function.
static bool reject_result(napi_env env, napi_value function, const char *text) {
  char name[160];
  read_name(env, function, name, sizeof name);
  return lt_throw_type(env, "%s %s", name, text);
}

// Checks a tensor that a function has returned. Errors begin with the name of the operator.
static bool check_tensor(napi_env env, napi_value function, lt_box *box) {
  char name[160];
  read_name(env, function, name, sizeof name);
  char *end = strstr(name, ": ");
  if (end) *end = 0;
  return lt_check_box(env, name, "result of the function", box, LT_READS);
}

static bool read_one(napi_env env, napi_value function, napi_value value, tensor_value *to,
                     bool in_list);

static bool read_list(napi_env env, napi_value function, napi_value array, tensor_value *to) {
  uint32_t n;
  if (!lt_ok(env, napi_get_array_length(env, array, &n))) return false;
  tensor_t **list = calloc((size_t)n + 1, sizeof *list);
  if (!list) return reject_result(env, function, "returned an array, for which there is no memory");
  *to = (tensor_value){.kind = TENSOR_VALUE_TENSORS, .length = n, .as.tensors = list};
  for (uint32_t i = 0; i < n; i++) {
    napi_value item;
    tensor_value one;
    if (!lt_ok(env, napi_get_element(env, array, i, &item)) ||
        !read_one(env, function, item, &one, true))
      return false;
    list[i] = one.kind == TENSOR_VALUE_TENSOR ? one.as.tensor : NULL;
  }
  return true;
}

static bool read_one(napi_env env, napi_value function, napi_value value, tensor_value *to,
                     bool in_list) {
  char text[160];
  lt_js js;
  *to = (tensor_value){.kind = TENSOR_VALUE_NONE};
  if (!lt_look(env, value, &js)) return false;
  switch (js.kind) {
    case LT_JS_ABSENT:
    case LT_JS_NULL:
      return true;
    case LT_JS_TENSOR:
      if (!check_tensor(env, function, js.box) || !new_handle(env, js.box->handle, &to->as.tensor))
        return false;
      to->kind = TENSOR_VALUE_TENSOR;
      return true;
    case LT_JS_BOOL:
      to->kind = TENSOR_VALUE_BOOL, to->as.b = js.scalar.value.i != 0;
      break;
    case LT_JS_INT:
      to->kind = TENSOR_VALUE_INT, to->as.i = js.scalar.value.i;
      break;
    case LT_JS_FLOAT:
      to->kind = TENSOR_VALUE_FLOAT, to->as.f = js.scalar.value.f.re;
      break;
    case LT_JS_COMPLEX:
      to->kind = TENSOR_VALUE_COMPLEX;
      to->as.c[0] = js.scalar.value.f.re, to->as.c[1] = js.scalar.value.f.im;
      break;
    case LT_JS_ARRAY:
      if (!in_list) return read_list(env, function, js.value, to);
      // fall through
    default:
      snprintf(text, sizeof text,
               "returned %s; it must return a tensor, an array of tensors or a number, and not a "
               "promise",
               lt_kind_name(&js));
      return reject_result(env, function, text);
  }
  if (!in_list) return true;
  snprintf(text, sizeof text, "returned an array with %s among tensors", lt_kind_name(&js));
  return reject_result(env, function, text);
}

// One result is the value of the function, several are in an array. A backward function of an
// operator with one parameter may return the gradient itself.
static bool read_results(napi_env env, napi_value function, napi_value result,
                         const invocation *v) {
  char text[160];
  bool is_array = false;
  uint32_t n = 0;
  if (v->made_count == 0) return true;
  if (!lt_ok(env, napi_is_array(env, result, &is_array))) return false;
  if (v->made_count == 1 && (!is_array || v->function != BACKWARD))
    return read_one(env, function, result, v->made, false);
  if (is_array && !lt_ok(env, napi_get_array_length(env, result, &n))) return false;
  if (!is_array || n != (uint32_t)v->made_count) {
    int length =
        snprintf(text, sizeof text, "must return an array of %d values", (int)v->made_count);
    if (is_array)
      snprintf(text + length, sizeof text - (size_t)length, ", but returned one of %u", n);
    return reject_result(env, function, text);
  }
  for (int32_t i = 0; i < v->made_count; i++) {
    napi_value item;
    if (!lt_ok(env, napi_get_element(env, result, (uint32_t)i, &item)) ||
        !read_one(env, function, item, v->made + i, false))
      return false;
  }
  return true;
}

// ------------------------------------------------------------------------------------- functions

static bool set(napi_env env, napi_value object, const char *name, napi_value value) {
  return value && lt_ok(env, napi_set_named_property(env, object, name, value));
}

// The first arguments of a function: those of a backward function are the call and the gradients.
static bool prepare(napi_env env, const invocation *v, napi_value *argv, size_t *argc) {
  const tensor_value *values = v->function == BACKWARD ? v->gradients : v->arguments;
  const int32_t count = v->function == BACKWARD ? v->result_count : v->argument_count;
  napi_value object;
  *argc = 0;
  if (v->function == BACKWARD || v->function == VMAP) {
    if (!lt_ok(env, napi_create_object(env, &object))) return false;
    argv[(*argc)++] = object;
  }
  if (v->function == BACKWARD &&
      (!set(env, object, "args", show_all(env, v->arguments, v->argument_count)) ||
       !set(env, object, "results", show_all(env, v->results, v->result_count))))
    return false;
  if (v->function == VMAP && (!set(env, object, "batchSize", lt_from_int(env, v->batch_size)) ||
                              !set(env, object, "isBatched", flags_of(env, v))))
    return false;
  for (int32_t i = 0; i < count; i++)
    if (!(argv[(*argc)++] = show(env, values + i))) return false;
  return true;
}

static bool answer(napi_env env, lt_question *q) {
  const invocation *v = (const invocation *)q;
  napi_value function, undefined, argv[LT_MOST_PARAMETERS + 2], result;
  size_t argc;
  return lt_kept_value(env, q->kept, (uint32_t)v->function, &function) &&
         lt_ok(env, napi_get_undefined(env, &undefined)) && prepare(env, v, argv, &argc) &&
         napi_call_function(env, undefined, function, argc, argv, &result) == napi_ok &&
         read_results(env, function, result, v);
}

static tensor_status invoke(invocation *v, void *context) {
  v->base.kind = LT_OPERATOR, v->base.kept = context, v->base.answer = answer;
  return lt_ask_function(&v->base);
}

static tensor_status run_function(void *context, const tensor_value *arguments, int32_t count,
                                  tensor_value *results, int32_t result_count) {
  invocation v = {.function = FUNCTION,
                  .arguments = arguments,
                  .argument_count = count,
                  .made = results,
                  .made_count = result_count};
  return invoke(&v, context);
}

static tensor_status run_meta(void *context, const tensor_value *arguments, int32_t count,
                              tensor_value *results, int32_t result_count) {
  invocation v = {.function = META,
                  .arguments = arguments,
                  .argument_count = count,
                  .made = results,
                  .made_count = result_count};
  return invoke(&v, context);
}

static tensor_status run_backward(void *context, const tensor_value *arguments, int32_t count,
                                  const tensor_value *results, const tensor_value *gradients,
                                  int32_t result_count, tensor_value *made) {
  invocation v = {.function = BACKWARD,
                  .arguments = arguments,
                  .argument_count = count,
                  .results = results,
                  .gradients = gradients,
                  .result_count = result_count,
                  .made = made,
                  .made_count = count};
  return invoke(&v, context);
}

static tensor_status run_vmap(void *context, int64_t batch_size, const tensor_value *arguments,
                              int32_t count, const bool *batched, tensor_value *results,
                              int32_t result_count, bool *batched_results) {
  (void)batched_results;  // all are
  invocation v = {.function = VMAP,
                  .arguments = arguments,
                  .argument_count = count,
                  .batch_size = batch_size,
                  .batched = batched,
                  .made = results,
                  .made_count = result_count};
  return invoke(&v, context);
}

// ----------------------------------------------------------------------------------- definitions

// The operators of an environment, which are removed with it.
struct lt_defined {
  int64_t id;
  lt_defined *next;
};

void lt_remove_operators(lt_env *e) {
  while (e->defined) {
    lt_defined *next = e->defined->next;
    tensor_remove_operator(e->defined->id);
    free(e->defined);
    e->defined = next;
  }
}

// defineOperator(schema, [function, meta, backward, vmap], composite): the id of the definition.
static napi_value define(napi_env env, napi_callback_info info) {
  size_t argc = 3, length;
  napi_value argv[3], functions[FUNCTIONS];
  bool has[FUNCTIONS], composite;
  char schema[4096];
  lt_env *e = lt_get_env(env);
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL)) ||
      !lt_ok(env, napi_get_value_string_utf8(env, argv[0], schema, sizeof schema, &length)) ||
      !lt_ok(env, napi_get_value_bool(env, argv[2], &composite)))
    return NULL;
  if (length == sizeof schema - 1)
    return lt_throw_type(env, "defineOperator: the schema is too long"), NULL;
  for (uint32_t i = 0; i < FUNCTIONS; i++) {
    napi_valuetype type;
    if (!lt_ok(env, napi_get_element(env, argv[1], i, functions + i)) ||
        !lt_ok(env, napi_typeof(env, functions[i], &type)))
      return NULL;
    has[i] = type == napi_function;
  }
  lt_defined *defined = malloc(sizeof *defined);
  lt_kept *kept = defined ? lt_keep(env, functions, FUNCTIONS) : NULL;
  if (!kept) return free(defined), NULL;
  const tensor_operator_options options = {.size = sizeof options,
                                           .meta = has[META] ? run_meta : NULL,
                                           .backward = has[BACKWARD] ? run_backward : NULL,
                                           .vmap = has[VMAP] ? run_vmap : NULL,
                                           .composite = composite};
  const tensor_status status =
      tensor_define_operator(schema, run_function, &options, kept, lt_let_go, &defined->id);
  if (status) {
    lt_throw_last(env, status, "defineOperator");
    lt_let_go(kept);
    return free(defined), NULL;
  }
  defined->next = e->defined;
  e->defined = defined;
  return lt_from_int(env, defined->id);
}

static napi_value drop(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argument;
  int64_t id;
  lt_env *e = lt_get_env(env);
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &argument, NULL, NULL)) ||
      !lt_ok(env, napi_get_value_int64(env, argument, &id)))
    return NULL;
  for (lt_defined **at = &e->defined; *at; at = &(*at)->next)
    if ((*at)->id == id) {
      lt_defined *found = *at;
      *at = found->next;
      free(found);
      break;
    }
  tensor_remove_operator(id);
  lt_drain_inbox(env, e);
  return NULL;
}

bool lt_define_custom(napi_env env, napi_value exports) {
  const napi_property_descriptor functions[] = {
      {"operatorDefine", NULL, define, NULL, NULL, NULL, napi_default, NULL},
      {"operatorRemove", NULL, drop, NULL, NULL, NULL, napi_default, NULL},
  };
  return lt_ok(
      env, napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions));
}
