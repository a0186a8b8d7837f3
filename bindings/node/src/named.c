// Calls of operators by name: values are tagged by their JavaScript type, and the library converts
// them (tensor_call).
#include <ctype.h>
#include <stdio.h>

#include "addon.h"

enum { MOST_VALUES = 33, MOST_RESULTS = 9, MOST_NAME = 160 };

// The memory of a call: lists and strings.
typedef struct lt_piece {
  struct lt_piece *next;
  _Alignas(16) char data[];
} lt_piece;

typedef struct lt_named {
  char name[MOST_NAME];
  const tensor_operator_info *info;  // of the first overload
  tensor_value values[MOST_VALUES];
  const char *keywords[MOST_VALUES];
  napi_value objects[MOST_VALUES];  // the arguments
  lt_box *boxes[MOST_VALUES];
  int count;
  lt_piece *pieces;
} lt_named;

static void *take(napi_env env, lt_named *c, size_t bytes) {
  lt_piece *piece = malloc(sizeof *piece + bytes);
  if (!piece) {
    lt_throw_status(env, TENSOR_ERROR_MEMORY, "call: no memory for the arguments");
    return NULL;
  }
  piece->next = c->pieces, c->pieces = piece;
  return piece->data;
}

static void leave(lt_named *c) {
  while (c->pieces) {
    lt_piece *next = c->pieces->next;
    free(c->pieces);
    c->pieces = next;
  }
}

static const char *copy_text(napi_env env, lt_named *c, napi_value value) {
  size_t length;
  if (!lt_ok(env, napi_get_value_string_utf8(env, value, NULL, 0, &length))) return NULL;
  char *text = take(env, c, length + 1);
  if (!text || !lt_ok(env, napi_get_value_string_utf8(env, value, text, length + 1, &length)))
    return NULL;
  if (strlen(text) == length) return text;
  lt_throw_type(env, "%s: a string must not have NUL characters", c->name);
  return NULL;
}

// The parameter of an argument, by its keyword or its place; -1 if there is none.
static int parameter_of(const lt_named *c, const char *keyword, int place) {
  if (!keyword) return place < c->info->parameter_count ? place : -1;
  for (int i = 0; i < c->info->parameter_count; i++)
    if (strcmp(c->info->parameters[i].name, keyword) == 0) return i;
  return -1;
}

static bool set_tensor(napi_env env, lt_named *c, const lt_js *js, int at, tensor_value *to) {
  const int parameter = parameter_of(c, c->keywords[at], at);
  const bool writes = parameter >= 0 && c->info->parameters[parameter].is_written;
  const char *shown = parameter < 0 ? "argument" : c->info->parameters[parameter].name;
  if (!lt_check_box(env, c->name, shown, js->box, writes ? LT_WRITES : LT_READS)) return false;
  to->kind = TENSOR_VALUE_TENSOR, to->as.tensor = js->box->handle;
  return true;
}

static bool set_value(napi_env env, lt_named *c, napi_value value, int at, tensor_value *to);

// A list whose items have one type.
static bool set_list(napi_env env, lt_named *c, napi_value array, int at, tensor_value *to) {
  uint32_t n;
  if (!lt_ok(env, napi_get_array_length(env, array, &n))) return false;
  tensor_value *items = take(env, c, (n + 1) * sizeof *items);
  tensor_scalar *list = items ? take(env, c, (n + 1) * sizeof *list) : NULL;
  bool has[TENSOR_VALUE_INDICES + 1] = {false};
  if (!list) return false;
  for (uint32_t i = 0; i < n; i++) {
    napi_value item;
    lt_js js;
    if (!lt_ok(env, napi_get_element(env, array, i, &item)) || !lt_look(env, item, &js))
      return false;
    if (js.kind == LT_JS_ARRAY)  // which could contain itself
      return lt_throw_type(
          env, "%s: item %u of an array is an array; operators take no nested arrays", c->name, i);
    if (!set_value(env, c, item, at, items + i)) return false;
    has[items[i].kind] = true;
  }
  const bool tensors = has[TENSOR_VALUE_TENSOR] || has[TENSOR_VALUE_NONE];
  to->kind = tensors                    ? TENSOR_VALUE_TENSORS
             : has[TENSOR_VALUE_STRING] ? TENSOR_VALUE_STRINGS
             : has[TENSOR_VALUE_FLOAT]  ? TENSOR_VALUE_FLOATS
             : has[TENSOR_VALUE_BOOL]   ? TENSOR_VALUE_BOOLS
                                        : TENSOR_VALUE_INTS;
  to->length = n, to->as.ints = (const int64_t *)list;
  for (uint32_t i = 0; i < n; i++) {
    const tensor_value *v = items + i;
    bool fits = true;
    switch (to->kind) {
      case TENSOR_VALUE_TENSORS:
        fits = v->kind == TENSOR_VALUE_TENSOR || v->kind == TENSOR_VALUE_NONE;
        ((tensor_t **)list)[i] = v->kind == TENSOR_VALUE_TENSOR ? v->as.tensor : NULL;
        break;
      case TENSOR_VALUE_STRINGS:
        fits = v->kind == TENSOR_VALUE_STRING;
        ((const char **)list)[i] = v->as.string;
        break;
      case TENSOR_VALUE_FLOATS:
        fits = v->kind == TENSOR_VALUE_FLOAT || v->kind == TENSOR_VALUE_INT;
        ((double *)list)[i] = v->kind == TENSOR_VALUE_INT ? (double)v->as.i : v->as.f;
        break;
      case TENSOR_VALUE_BOOLS:
        fits = v->kind == TENSOR_VALUE_BOOL;
        ((bool *)list)[i] = v->as.b;
        break;
      default:
        fits = v->kind == TENSOR_VALUE_INT;
        ((int64_t *)list)[i] = v->as.i;
    }
    if (!fits)
      return lt_throw_type(env, "%s: item %u of an array has another type than the items before it",
                           c->name, i);
  }
  return true;
}

static bool set_value(napi_env env, lt_named *c, napi_value value, int at, tensor_value *to) {
  lt_js js;
  *to = (tensor_value){.kind = TENSOR_VALUE_NONE};
  if (!lt_look(env, value, &js)) return false;
  switch (js.kind) {
    case LT_JS_ABSENT:
    case LT_JS_NULL:
      return true;
    case LT_JS_BOOL:
      to->kind = TENSOR_VALUE_BOOL, to->as.b = js.scalar.value.i != 0;
      return true;
    case LT_JS_INT:
      to->kind = TENSOR_VALUE_INT, to->as.i = js.scalar.value.i;
      return true;
    case LT_JS_UINT:
      to->kind = TENSOR_VALUE_UINT, to->as.u = js.scalar.value.u;
      return true;
    case LT_JS_FLOAT:
      to->kind = TENSOR_VALUE_FLOAT, to->as.f = js.scalar.value.f.re;
      return true;
    case LT_JS_COMPLEX:
      to->kind = TENSOR_VALUE_COMPLEX;
      to->as.c[0] = js.scalar.value.f.re, to->as.c[1] = js.scalar.value.f.im;
      return true;
    case LT_JS_STRING:
      to->kind = TENSOR_VALUE_STRING;
      return (to->as.string = copy_text(env, c, value)) != NULL;
    case LT_JS_TENSOR:
      c->boxes[at] = js.box;
      return set_tensor(env, c, &js, at, to);
    case LT_JS_GENERATOR:
      if (!lt_check_box(env, c->name, "generator", js.box, LT_WRITES)) return false;
      to->kind = TENSOR_VALUE_GENERATOR, to->as.generator = js.box->handle;
      return true;
    case LT_JS_ARRAY:
      return set_list(env, c, js.value, at, to);
    default:
      return lt_throw_type(env,
                           "%s: an argument is %s; it must be a tensor, a number, a boolean, "
                           "a string, a generator, null or an array of these",
                           c->name, lt_kind_name(&js));
  }
}

// A name in camel case as the schema has it.
static const char *snake_name(napi_env env, lt_named *c, const char *name) {
  char *made = take(env, c, 2 * strlen(name) + 1), *to = made;
  for (; made && *name; name++) {
    if (isupper((unsigned char)*name)) *to++ = '_';
    *to++ = (char)tolower((unsigned char)*name);
  }
  if (made) *to = 0;
  return made;
}

static bool is_parameter(const lt_named *c, const char *name) {
  return parameter_of(c, name, 0) >= 0;
}

// The properties of the last argument, if it is an object of options.
static bool read_options(napi_env env, lt_named *c, napi_value object) {
  napi_value names;
  uint32_t n;
  if (!lt_ok(env, napi_get_property_names(env, object, &names)) ||
      !lt_ok(env, napi_get_array_length(env, names, &n)))
    return false;
  for (uint32_t i = 0; i < n; i++) {
    napi_value key, value;
    if (c->count == MOST_VALUES) return lt_throw_type(env, "%s: too many arguments", c->name);
    if (!lt_ok(env, napi_get_element(env, names, i, &key)) ||
        !lt_ok(env, napi_get_property(env, object, key, &value)))
      return false;
    const char *name = copy_text(env, c, key);
    if (!name) return false;
    if (!is_parameter(c, name) && !(name = snake_name(env, c, name))) return false;
    const int at = c->count++;
    c->keywords[at] = name, c->objects[at] = value;
    if (!set_value(env, c, value, at, c->values + at)) return false;
  }
  return true;
}

napi_value lt_from_value(napi_env env, tensor_value *v) {
  napi_value made = NULL, item;
  switch (v->kind) {
    case TENSOR_VALUE_TENSOR:
      v->kind = TENSOR_VALUE_NONE;  // the object owns the handle
      return lt_wrap(env, LT_TENSOR, v->as.tensor, NULL);
    case TENSOR_VALUE_INT:
      return lt_from_int(env, v->as.i);
    case TENSOR_VALUE_FLOAT:
      lt_ok(env, napi_create_double(env, v->as.f, &made));
      return made;
    case TENSOR_VALUE_BOOL:
      lt_ok(env, napi_get_boolean(env, v->as.b, &made));
      return made;
    case TENSOR_VALUE_COMPLEX:
      return lt_from_scalar(env, tensor_complex(v->as.c[0], v->as.c[1]));
    case TENSOR_VALUE_UINT:
      return lt_from_scalar(env, tensor_uint(v->as.u));
    case TENSOR_VALUE_STRING:
      return lt_from_text(env, v->as.string);
    case TENSOR_VALUE_DTYPE:
      return lt_from_text(env, tensor_dtype_name(v->as.dtype));
    case TENSOR_VALUE_DEVICE:
      return lt_from_device(env, v->as.device);
    case TENSOR_VALUE_LAYOUT:
      return lt_from_text(env, lt_layout_name(v->as.layout));
    case TENSOR_VALUE_TENSORS:
    case TENSOR_VALUE_INTS:
    case TENSOR_VALUE_FLOATS:
    case TENSOR_VALUE_BOOLS:
    case TENSOR_VALUE_SCALARS:
    case TENSOR_VALUE_STRINGS:
      if (!lt_ok(env, napi_create_array(env, &made))) return NULL;
      for (int64_t i = 0; i < v->length; i++) {
        if (v->kind == TENSOR_VALUE_INTS) {
          item = lt_from_int(env, v->as.ints[i]);
        } else if (v->kind == TENSOR_VALUE_FLOATS) {
          if (!lt_ok(env, napi_create_double(env, v->as.floats[i], &item))) return NULL;
        } else if (v->kind == TENSOR_VALUE_BOOLS) {
          if (!lt_ok(env, napi_get_boolean(env, v->as.bools[i], &item))) return NULL;
        } else if (v->kind == TENSOR_VALUE_SCALARS) {
          item = lt_from_scalar(env, v->as.scalars[i]);
        } else if (v->kind == TENSOR_VALUE_STRINGS) {
          item = lt_from_text(env, v->as.strings[i]);
        } else {
          tensor_t **slot = (tensor_t **)v->as.tensors + i, *handle = *slot;
          *slot = NULL;
          item = lt_wrap(env, LT_TENSOR, handle, NULL);
        }
        if (!item || !lt_ok(env, napi_set_element(env, made, (uint32_t)i, item))) return NULL;
      }
      return made;
    default:
      lt_ok(env, napi_get_null(env, &made));
      return made;
  }
}

// The value of a call: its result, an array of several, or the arguments that it wrote to.
static napi_value values_of(napi_env env, lt_named *c, tensor_value *results, int32_t count) {
  napi_value all[MOST_RESULTS], array;
  int n = 0;
  for (int32_t i = 0; i < count; i++)
    if (!(all[n++] = lt_from_value(env, results + i))) return NULL;
  for (int i = 0; !count && i < c->info->result_count; i++) {
    const int parameter = c->info->results[i].parameter;
    for (int k = 0; parameter >= 0 && k < c->count; k++)
      if (parameter_of(c, c->keywords[k], k) == parameter) all[n++] = c->objects[k];
  }
  if (n == 1) return all[0];
  if (!n) return lt_ok(env, napi_get_undefined(env, &array)) ? array : NULL;
  if (!lt_ok(env, napi_create_array(env, &array))) return NULL;
  for (int i = 0; i < n; i++)
    if (!lt_ok(env, napi_set_element(env, array, (uint32_t)i, all[i]))) return NULL;
  return array;
}

static bool read_name(napi_env env, napi_value value, const char *function, char *name) {
  if (lt_short_text(env, value, name, MOST_NAME)) return true;
  return lt_throw_type(env,
                       "%s: the first argument is the name of an operator, such as "
                       "'aten::add.Tensor'",
                       function);
}

// Throws the last error, with the name of the function here.
static napi_value throw_named(napi_env env, tensor_status status) {
  static const char known[] = "tensor_define_operator()", shown[] = "defineOperator()";
  char text[1024];
  snprintf(text, sizeof text, "%s", tensor_last_error());
  char *at = strstr(text, known);
  if (at) {  // `shown` is shorter
    char *rest = at + sizeof known - 1;
    memmove(at + sizeof shown - 1, rest, strlen(rest) + 1);
    memcpy(at, shown, sizeof shown - 1);
  }
  return lt_throw_status(env, status, text);
}

static bool throw_unknown(napi_env env) {
  throw_named(env, TENSOR_ERROR_NOT_IMPLEMENTED);
  return false;
}

static bool read_arguments(napi_env env, lt_named *c, const napi_value *argv, size_t argc) {
  lt_js last;
  size_t positional = argc;
  if (argc && !lt_look(env, argv[argc - 1], &last)) return false;
  if (argc && last.kind == LT_JS_OBJECT) positional--;
  for (size_t i = 0; i < positional; i++) {
    c->objects[c->count] = argv[i];
    if (!set_value(env, c, argv[i], c->count, c->values + c->count)) return false;
    c->count++;
  }
  return positional == argc || read_options(env, c, argv[argc - 1]);
}

static napi_value run(napi_env env, lt_named *c) {
  lt_env *e = lt_get_env(env);
  tensor_value results[MOST_RESULTS] = {{.kind = TENSOR_VALUE_NONE}};
  int32_t count = MOST_RESULTS;
  lt_make_room(env, e);
  tensor_status status = lt_resume(e->default_dtype);
  if (!status) {
    status = tensor_call(c->name, c->values, c->keywords, c->count, results, &count, NULL);
    lt_pause();
  }
  if (status) return throw_named(env, status);
  for (int i = 0; i < c->count; i++) {
    const int parameter = parameter_of(c, c->keywords[i], i);
    if (c->boxes[i] && parameter >= 0 && c->info->parameters[parameter].is_written)
      lt_follow_out(env, e, c->boxes[i]);
  }
  napi_value made = values_of(env, c, results, count);
  for (int32_t i = 0; i < count; i++) tensor_value_free(results + i);
  return made;
}

// call(name, ...arguments, options): calls an operator by name.
napi_value lt_call_named(napi_env env, napi_callback_info info) {
  napi_value argv[MOST_VALUES + 1], made = NULL;
  size_t argc = MOST_VALUES + 1;
  lt_named c = {.count = 0};
  lt_env *e = lt_get_env(env);
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL))) return NULL;
  if (argc > MOST_VALUES)
    return lt_throw_type(env, "call: more than %d arguments", MOST_VALUES), NULL;
  if (!argc) lt_ok(env, napi_get_undefined(env, argv));
  if (!read_name(env, argv[0], "call", c.name)) return NULL;
  if (!tensor_describe_operator(c.name, &c.info, 1)) return throw_unknown(env), NULL;
  lt_keep_boxes(e->pool);
  lt_hear_warnings(e);
  if (read_arguments(env, &c, argv + 1, argc ? argc - 1 : 0)) made = run(env, &c);
  lt_leave_boxes(e->pool);
  lt_drain_inbox(env, e);
  leave(&c);
  return made;
}

// operatorSchema(name): the schema of an operator, or an array of those of its overloads.
napi_value lt_schema_of(napi_env env, napi_callback_info info) {
  enum { MOST = 64 };
  const tensor_operator_info *infos[MOST];
  char name[MOST_NAME];
  napi_value argument, array;
  size_t argc = 1;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &argument, NULL, NULL)) ||
      !read_name(env, argument, "operatorSchemas", name))
    return NULL;
  const int32_t count = tensor_describe_operator(name, infos, MOST);
  if (!count) return throw_unknown(env), NULL;
  if (!lt_ok(env, napi_create_array(env, &array))) return NULL;
  for (int32_t i = 0; i < count && i < MOST; i++) {
    napi_value text = lt_from_text(env, infos[i]->schema);
    if (!text || !lt_ok(env, napi_set_element(env, array, (uint32_t)i, text))) return NULL;
  }
  return array;
}
