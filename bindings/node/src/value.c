// JavaScript values as C arguments, and C results as JavaScript values.
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "addon.h"
#include "gen_names.h"

// --------------------------------------------------------------------------------------- looking

static bool look_bigint(napi_env env, napi_value value, lt_js *js) {
  int64_t i;
  uint64_t u;
  bool is_int, is_uint;
  if (!lt_ok(env, napi_get_value_bigint_int64(env, value, &i, &is_int)) ||
      !lt_ok(env, napi_get_value_bigint_uint64(env, value, &u, &is_uint)))
    return false;
  js->kind = is_int ? LT_JS_INT : is_uint ? LT_JS_UINT : LT_JS_WIDE;
  js->scalar = is_int ? tensor_int(i) : tensor_uint(u);
  return true;
}

bool lt_throw_wide(napi_env env, const char *op, const char *argument, lt_kind kind) {
  char message[256];
  snprintf(message, sizeof message, "%s: argument '%s': a BigInt does not fit in 64 bits%s", op,
           argument, kind == LT_JS_UINT ? " with sign" : "");
  lt_throw_status(env, TENSOR_ERROR_VALUE, message);
  return false;
}

void lt_look_number(double d, lt_js *js) {
  // -0 has no integer form, and 2^63 and beyond do not fit.
  bool integer = d == floor(d) && d >= -0x1p63 && d < 0x1p63 && !(d == 0 && signbit(d));
  js->kind = integer ? LT_JS_INT : LT_JS_FLOAT;
  js->scalar = integer ? tensor_int((int64_t)d) : tensor_float(d);
}

static bool get_double(napi_env env, napi_value object, const char *name, double *to) {
  napi_value v;
  return napi_get_named_property(env, object, name, &v) == napi_ok &&
         napi_get_value_double(env, v, to) == napi_ok;
}

// {re, im} is a complex number; {value, kind} a number of a stated kind; {start, stop, step, kind:
// 'slice'} a slice.
static bool look_object(napi_env env, napi_value value, lt_js *js) {
  bool has;
  napi_value v;
  char kind[8];
  size_t length;
  js->kind = LT_JS_OBJECT;
  if (!lt_ok(env, napi_has_named_property(env, value, "re", &has))) return false;
  if (has) {
    double re, im;
    if (!get_double(env, value, "re", &re) || !get_double(env, value, "im", &im))
      return lt_throw_type(env, "a complex number must be {re, im} with two numbers");
    js->kind = LT_JS_COMPLEX;
    js->scalar = tensor_complex(re, im);
    return true;
  }
  if (!lt_ok(env, napi_has_named_property(env, value, "kind", &has))) return false;
  if (!has) return true;
  if (!lt_ok(env, napi_get_named_property(env, value, "kind", &v))) return false;
  if (napi_get_value_string_utf8(env, v, kind, sizeof kind, &length) != napi_ok) return true;
  if (strcmp(kind, "slice") == 0) {
    js->kind = LT_JS_SLICE;
    return true;
  }
  double d;
  if (strcmp(kind, "float") != 0 || !get_double(env, value, "value", &d))
    return lt_throw_type(env, "a typed scalar must be {value, kind: 'float'}");
  js->kind = LT_JS_FLOAT;
  js->scalar = tensor_float(d);
  return true;
}

// An iterable is converted to an array.
static bool look_iterable(napi_env env, napi_value value, lt_js *js) {
  napi_value list, undefined;
  js->kind = LT_JS_ARRAY;
  return lt_ok(env, napi_get_reference_value(env, lt_get_env(env)->list, &list)) &&
         lt_ok(env, napi_get_undefined(env, &undefined)) &&
         lt_ok(env, napi_call_function(env, undefined, list, 1, &value, &js->value));
}

void lt_look_box(lt_box *box, lt_js *js) {
  js->box = box;
  js->kind = LT_JS_TENSOR + box->kind;
}

bool lt_look(napi_env env, napi_value value, lt_js *js) {
  napi_valuetype type;
  js->value = value;
  js->box = NULL;
  if (!lt_ok(env, napi_typeof(env, value, &type))) return false;
  switch (type) {
    case napi_undefined:
      js->kind = LT_JS_ABSENT;
      return true;
    case napi_null:
      js->kind = LT_JS_NULL;
      return true;
    case napi_boolean: {
      bool b;
      js->kind = LT_JS_BOOL;
      if (!lt_ok(env, napi_get_value_bool(env, value, &b))) return false;
      js->scalar = tensor_bool(b);
      return true;
    }
    case napi_number: {
      double d;
      if (!lt_ok(env, napi_get_value_double(env, value, &d))) return false;
      lt_look_number(d, js);
      return true;
    }
    case napi_bigint:
      return look_bigint(env, value, js);
    case napi_string:
      js->kind = LT_JS_STRING;
      return true;
    case napi_function:
      js->kind = LT_JS_FUNCTION;
      return true;
    case napi_object:
      break;
    default:
      js->kind = LT_JS_OTHER;
      return true;
  }
  bool is;
  if (!lt_ok(env, napi_is_array(env, value, &is))) return false;
  if (is) {
    js->kind = LT_JS_ARRAY;
    return true;
  }
  lt_box *box = lt_unwrap(env, value);
  if (box) {
    lt_look_box(box, js);
    return true;
  }
  const int32_t read = lt_get_env(env)->cell[LT_CELL_READ];
  if (read == LT_CELL_ITERABLE) return look_iterable(env, value, js);
  if (read == LT_CELL_LIST || read == LT_CELL_STRANGER) {
    js->kind = read == LT_CELL_LIST ? LT_JS_ARRAY : LT_JS_STRANGER;
    return true;
  }
  if (!lt_ok(env, napi_is_typedarray(env, value, &is))) return false;
  if (is) {
    js->kind = LT_JS_TYPED_ARRAY;
    return true;
  }
  return look_object(env, value, js);
}

// ----------------------------------------------------------------------------------------- words

static bool short_text(napi_env env, const lt_js *js, char *to, size_t room) {
  return js->kind == LT_JS_STRING && lt_short_text(env, js->value, to, room);
}

const char *lt_type_name(const lt_argument *argument) {
  static const char *const one[] = {[LT_TENSOR] = "a tensor",
                                    [LT_STORAGE] = "a storage",
                                    [LT_GENERATOR] = "a generator",
                                    [LT_NODE] = "a node",
                                    [LT_OPERAND] = "a tensor or a number",
                                    [LT_SCALAR] = "a number",
                                    [LT_INT] = "an integer",
                                    [LT_FLOAT] = "a number",
                                    [LT_BOOL] = "a boolean",
                                    [LT_STR] = "a string",
                                    [LT_DTYPE] = "a dtype, such as 'float32'",
                                    [LT_DEVICE] = "a device, such as 'cpu'",
                                    [LT_LAYOUT] = "a layout, such as 'strided'",
                                    [LT_FORMAT] = "a memory format, such as 'channels_last'",
                                    [LT_INDEX] = "an array of index items",
                                    [LT_CALLBACK] = "a function"};
  static const char *const many[] = {[LT_TENSOR] = "an array of tensors",
                                     [LT_SCALAR] = "an array of numbers",
                                     [LT_INT] = "an integer or an array of integers",
                                     [LT_FLOAT] = "an array of numbers",
                                     [LT_BOOL] = "an array of booleans",
                                     [LT_STR] = "an array of strings",
                                     [LT_INDEX] = "an array of index items"};
  return argument->flags & LT_IS_LIST ? many[argument->type] : one[argument->type];
}

// How a number reads that is no integer of 64 bits.
static const char *float_name(double d) {
  if (isnan(d)) return "NaN";
  if (isinf(d)) return d > 0 ? "Infinity" : "-Infinity";
  if (d != floor(d)) return "a number with a fraction";
  return d >= -0x1p63 && d < 0x1p63 ? "a float" : "a number that does not fit into 64 bits";
}

const char *lt_kind_name(const lt_js *js) {
  static const char *const names[] = {[LT_JS_ABSENT] = "undefined",
                                      [LT_JS_NULL] = "null",
                                      [LT_JS_BOOL] = "a boolean",
                                      [LT_JS_INT] = "an integer",
                                      [LT_JS_UINT] = "a BigInt that does not fit into 64 bits",
                                      [LT_JS_COMPLEX] = "a complex number",
                                      [LT_JS_STRING] = "a string",
                                      [LT_JS_ARRAY] = "an array",
                                      [LT_JS_TYPED_ARRAY] = "a typed array",
                                      [LT_JS_TENSOR] = "a tensor",
                                      [LT_JS_STORAGE] = "a storage",
                                      [LT_JS_GENERATOR] = "a generator",
                                      [LT_JS_NODE] = "a node",
                                      [LT_JS_SLICE] = "a slice",
                                      [LT_JS_OBJECT] = "an object",
                                      [LT_JS_WIDE] = "a BigInt that does not fit into 64 bits",
                                      [LT_JS_REST] = "integers",
                                      [LT_JS_FUNCTION] = "a function",
                                      [LT_JS_STRANGER] = ("an object of another copy of libtensor "
                                                          "(copy it with tensor())"),
                                      [LT_JS_OTHER] = "an unsupported value"};
  return js->kind == LT_JS_FLOAT ? float_name(js->scalar.value.f.re) : names[js->kind];
}

// --------------------------------------------------------------------------------------- fitting

static bool is_number(const lt_js *js) {
  return js->kind >= LT_JS_BOOL && js->kind <= LT_JS_COMPLEX;
}

bool lt_is_integer(const lt_js *js) {
  return js->kind == LT_JS_INT || js->kind == LT_JS_UINT ||
         (js->kind == LT_JS_FLOAT && js->scalar.value.f.re == 0 && signbit(js->scalar.value.f.re));
}

// The float nearest to a real number.
static double double_of(const lt_js *js) {
  return js->kind == LT_JS_INT    ? (double)js->scalar.value.i
         : js->kind == LT_JS_UINT ? (double)js->scalar.value.u
                                  : js->scalar.value.f.re;
}

// The integer that a value is: that of -0 is 0.
static int64_t integer_of(const lt_js *js) {
  return js->kind == LT_JS_INT ? js->scalar.value.i : 0;
}

// How long an array is, also one behind a proxy.
static bool array_length(napi_env env, napi_value array, uint32_t *length) {
  napi_value value;
  return napi_get_array_length(env, array, length) == napi_ok ||
         (lt_ok(env, napi_get_named_property(env, array, "length", &value)) &&
          lt_ok(env, napi_get_value_uint32(env, value, length)));
}

static bool is_array(const lt_js *js) {
  return js->kind == LT_JS_ARRAY || js->kind == LT_JS_TYPED_ARRAY;
}

// Whether an array can take the place of a tensor.
static bool takes_array(const lt_argument *argument) {
  return (argument->type == LT_TENSOR || argument->type == LT_OPERAND) &&
         !(argument->flags & (LT_IS_MUTATED | LT_IS_MOVED));
}

static bool accepts_one(napi_env env, const lt_argument *argument, const lt_js *js) {
  char text[64];
  lt_value v;
  lt_type type = argument->type;
  switch (type) {
    case LT_TENSOR:
      return js->kind == LT_JS_TENSOR;
    case LT_STORAGE:
      return js->kind == LT_JS_STORAGE;
    case LT_GENERATOR:
      return js->kind == LT_JS_GENERATOR;
    case LT_NODE:
      return js->kind == LT_JS_NODE;
    case LT_OPERAND:
      return js->kind == LT_JS_TENSOR || is_number(js);
    case LT_SCALAR:
      return is_number(js);
    case LT_INT:
      return lt_is_integer(js) || (js->kind == LT_JS_STRING && argument->dim_of >= 0);
    case LT_FLOAT:
      return js->kind == LT_JS_INT || js->kind == LT_JS_UINT || js->kind == LT_JS_FLOAT;
    case LT_BOOL:
      return js->kind == LT_JS_BOOL;
    case LT_STR:
      return js->kind == LT_JS_STRING;
    case LT_CALLBACK:
      return js->kind == LT_JS_FUNCTION;
    case LT_INDEX:
      return js->kind < LT_JS_OBJECT;
    default:
      return short_text(env, js, text, sizeof text) && lt_read_name(type, text, &v);
  }
}

bool lt_accepts(napi_env env, const lt_argument *argument, const lt_js *js, bool arrays) {
  arrays = arrays && takes_array(argument);
  if (js->kind == LT_JS_NULL && argument->type != LT_INDEX) return argument->flags & LT_IS_OPTIONAL;
  if (!(argument->flags & LT_IS_LIST) || argument->type == LT_INDEX)
    return accepts_one(env, argument, js) || (arrays && is_array(js));
  if (js->kind == LT_JS_REST) return true;
  if (js->kind == LT_JS_TYPED_ARRAY) return argument->type != LT_TENSOR && argument->type != LT_STR;
  if (js->kind != LT_JS_ARRAY) return argument->type == LT_INT && accepts_one(env, argument, js);
  uint32_t length;
  napi_value first;
  lt_js item;
  if (!array_length(env, js->value, &length)) return false;
  if (length == 0) return true;
  return napi_get_element(env, js->value, 0, &first) == napi_ok && lt_look(env, first, &item) &&
         ((item.kind == LT_JS_NULL && argument->type == LT_TENSOR) || item.kind == LT_JS_WIDE ||
          accepts_one(env, argument, &item) || (arrays && is_array(&item)));
}

void lt_describe(napi_env env, const lt_argument *argument, const lt_js *js, char *to,
                 size_t room) {
  napi_value first;
  lt_js item;
  if (js->kind == LT_JS_ARRAY && argument->flags & LT_IS_LIST &&
      napi_get_element(env, js->value, 0, &first) == napi_ok && lt_look(env, first, &item))
    snprintf(to, room, "an array whose first item is %s", lt_kind_name(&item));
  else
    snprintf(to, room, "%s", lt_kind_name(js));
}

// ------------------------------------------------------------------------------------ converting

static bool out_of_memory(napi_env env) {
  lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for the arguments");
  return false;
}

static const char *copy_text(napi_env env, lt_call *call, napi_value value) {
  size_t length;
  if (!lt_ok(env, napi_get_value_string_utf8(env, value, NULL, 0, &length))) return NULL;
  char *text = lt_allocate(call, length + 1);
  if (!text) {
    out_of_memory(env);
    return NULL;
  }
  if (!lt_ok(env, napi_get_value_string_utf8(env, value, text, length + 1, &length))) return NULL;
  if (strlen(text) == length) return text;
  lt_throw_type(env, "%s: a string must not contain NUL characters", call->name);
  return NULL;
}

// Throws the error of a function that a call needs, in the name of the call.
void lt_throw_of_call(napi_env env, const lt_call *call, tensor_status status) {
  lt_throw_last(env, status, call->name);
}

// The dimension that a text names, of an argument that is converted already: a tensor, or the first
// of a list.
static bool dim_by_name(napi_env env, lt_call *call, const lt_argument *argument, napi_value name,
                        int64_t *to) {
  const lt_value *of = &call->arguments[argument->dim_of];
  const tensor_t *tensor = of->pointer;
  if (call->op->arguments[argument->dim_of].flags & LT_IS_LIST)
    tensor = of->list.length ? *(const tensor_t *const *)of->list.data : NULL;
  const char *text = copy_text(env, call, name);
  if (!text) return false;
  tensor_status status = tensor_dim_by_name(tensor, text, to);
  if (status) lt_throw_of_call(env, call, status);
  return !status;
}

static bool wrong_item(napi_env env, const lt_call *call, const lt_argument *argument, uint32_t at,
                       const lt_js *item) {
  return lt_throw_type(env, "%s: argument '%s' must be %s; item %u is %s", call->name,
                       argument->name, lt_type_name(argument), at, lt_kind_name(item));
}

static size_t item_size(lt_type type) {
  switch (type) {
    case LT_BOOL:
      return sizeof(bool);
    case LT_SCALAR:
      return sizeof(tensor_scalar);
    case LT_INDEX:
      return sizeof(tensor_index);
    default:
      return 8;
  }
}

// errno is ERANGE for an integer of more than 64 bits.
static bool parse_int(const char **at, int64_t *to) {
  char *end;
  *to = strtoll(*at, &end, 10);
  bool any = end != *at;
  *at = end;
  return any;
}

static const char *skip(const char *at) { return at + strspn(at, " \t"); }

// One item of an index in text form: "3", "1:5:2", "...", "None", "true".
static bool parse_index(const char **text, tensor_index *to) {
  static const struct {
    const char *word;
    int32_t kind;
    int64_t start;
  } words[] = {{"...", TENSOR_INDEX_ELLIPSIS, 0},
               {"None", TENSOR_INDEX_NEW_AXIS, 0},
               {"null", TENSOR_INDEX_NEW_AXIS, 0},
               {"true", TENSOR_INDEX_BOOL, 1},
               {"false", TENSOR_INDEX_BOOL, 0}};
  const char *at = skip(*text);
  errno = 0;
  *to = (tensor_index){
      .kind = TENSOR_INDEX_INT, .start = TENSOR_NONE, .stop = TENSOR_NONE, .step = TENSOR_NONE};
  bool found = false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t length = strlen(words[i].word);
    if (strncmp(at, words[i].word, length) != 0) continue;
    to->kind = words[i].kind, to->start = words[i].start;
    at += length;
    found = true;
    break;
  }
  if (!found) {
    found = parse_int(&at, &to->start);
    if (!found) to->start = TENSOR_NONE;
    at = skip(at);
    int64_t *const more[] = {&to->stop, &to->step};
    for (int i = 0; i < 2 && *at == ':'; i++) {
      to->kind = TENSOR_INDEX_SLICE;
      found = true;
      at = skip(at + 1);
      if (!parse_int(&at, more[i])) *more[i] = TENSOR_NONE;
      at = skip(at);
    }
  }
  *text = skip(at);
  // Bounds of slices are clamped to the size.
  if (errno == ERANGE && to->kind == TENSOR_INDEX_INT) return false;
  errno = 0;
  return found && (**text == 0 || **text == ',');
}

static bool bad_index(napi_env env, const lt_call *call, const char *text) {
  if (errno == ERANGE) {
    char message[160];
    snprintf(message, sizeof message, "%s: index '%.60s' does not fit into 64 bits", call->name,
             text);
    lt_throw_status(env, TENSOR_ERROR_INDEX, message);
    return false;
  }
  lt_throw_type(
      env,
      "%s: '%s' is not an index; examples are '3', '1:5:2', '...', 'null' and '1:, null, ..., ::2'",
      call->name, text);
  return false;
}

static bool slice_part(napi_env env, const lt_call *call, napi_value object, const char *name,
                       int64_t *to) {
  napi_value v;
  lt_js js;
  if (!lt_ok(env, napi_get_named_property(env, object, name, &v)) || !lt_look(env, v, &js))
    return false;
  *to = TENSOR_NONE;
  if (js.kind == LT_JS_UINT || js.kind == LT_JS_WIDE)
    return lt_throw_wide(env, call->name, name, js.kind);
  if (lt_is_integer(&js)) *to = integer_of(&js);
  if (lt_is_integer(&js) || js.kind == LT_JS_ABSENT || js.kind == LT_JS_NULL) return true;
  return lt_throw_type(env, "%s: %s of a slice must be an integer, not %s", call->name, name,
                       lt_kind_name(&js));
}

static bool convert_index_item(napi_env env, lt_call *call, const lt_argument *argument,
                               const lt_js *js, uint32_t at, tensor_index *to) {
  *to = (tensor_index){.start = TENSOR_NONE, .stop = TENSOR_NONE, .step = TENSOR_NONE};
  if (lt_is_integer(js)) {
    to->kind = TENSOR_INDEX_INT, to->start = integer_of(js);
    return true;
  }
  switch (js->kind) {
    case LT_JS_BOOL:
      to->kind = TENSOR_INDEX_BOOL, to->start = js->scalar.value.i;
      return true;
    case LT_JS_NULL:
      to->kind = TENSOR_INDEX_NEW_AXIS;
      return true;
    case LT_JS_TENSOR:
      to->kind = TENSOR_INDEX_TENSOR;
      return lt_hold(env, call, argument->name, js->box, LT_READS, (void **)&to->tensor);
    case LT_JS_SLICE:
      to->kind = TENSOR_INDEX_SLICE;
      return slice_part(env, call, js->value, "start", &to->start) &&
             slice_part(env, call, js->value, "stop", &to->stop) &&
             slice_part(env, call, js->value, "step", &to->step);
    case LT_JS_STRING: {
      const char *text = copy_text(env, call, js->value), *rest = text;
      if (!text) return false;
      return (parse_index(&rest, to) && *rest == 0) || bad_index(env, call, text);
    }
    default:
      return wrong_item(env, call, argument, at, js);
  }
}

// A whole index in text form: items separated by commas.
static bool convert_index_text(napi_env env, lt_call *call, napi_value value, lt_value *to) {
  const char *text = copy_text(env, call, value);
  if (!text) return false;
  size_t count = 1;
  for (const char *c = text; *c; c++) count += *c == ',';
  tensor_index *items = lt_allocate(call, count * sizeof *items);
  if (!items) return out_of_memory(env);
  const char *at = text;
  for (size_t i = 0; i < count; i++) {
    if (!parse_index(&at, &items[i])) return bad_index(env, call, text);
    if (*at == ',') at++;
  }
  to->list.data = items, to->list.length = (int64_t)count;
  return true;
}

static lt_access access_of(const lt_argument *argument) {
  return argument->flags & LT_IS_MOVED     ? LT_MOVES
         : argument->flags & LT_IS_MUTATED ? LT_WRITES
                                           : LT_READS;
}

static bool convert_item(napi_env env, lt_call *call, const lt_argument *argument, const lt_js *js,
                         uint32_t at, void *data) {
  if (js->kind == LT_JS_UINT && (argument->type == LT_INT || argument->type == LT_INDEX))
    return lt_throw_wide(env, call->name, argument->name, js->kind);
  if (argument->type == LT_INDEX)
    return convert_index_item(env, call, argument, js, at, (tensor_index *)data + at);
  if (argument->type == LT_TENSOR && js->kind == LT_JS_NULL) {
    ((const tensor_t **)data)[at] = NULL;
    return true;
  }
  if (takes_array(argument) && is_array(js))
    return lt_from_array(env, call, argument, js, (tensor_t **)data + at);
  if (!accepts_one(env, argument, js)) return wrong_item(env, call, argument, at, js);
  switch (argument->type) {
    case LT_TENSOR:
      return lt_hold(env, call, argument->name, js->box, access_of(argument), (void **)data + at);
    case LT_SCALAR:
      ((tensor_scalar *)data)[at] = js->scalar;
      return true;
    case LT_BOOL:
      ((bool *)data)[at] = js->scalar.value.i;
      return true;
    case LT_STR:
      return (((const char **)data)[at] = copy_text(env, call, js->value)) != NULL;
    case LT_FLOAT:
      ((double *)data)[at] = double_of(js);
      return true;
    default:
      if (js->kind == LT_JS_STRING)
        return dim_by_name(env, call, argument, js->value, (int64_t *)data + at);
      ((int64_t *)data)[at] = integer_of(js);
      return true;
  }
}

static bool convert_list(napi_env env, lt_call *call, const lt_argument *argument, const lt_js *js,
                         lt_value *to) {
  if (argument->type == LT_INDEX && js->kind == LT_JS_STRING)
    return convert_index_text(env, call, js->value, to);
  uint32_t length = js->kind == LT_JS_REST ? (uint32_t)js->rest_count : 1;
  bool many = js->kind == LT_JS_ARRAY || js->kind == LT_JS_TYPED_ARRAY;
  if (js->kind == LT_JS_ARRAY && !array_length(env, js->value, &length)) return false;
  if (js->kind == LT_JS_TYPED_ARRAY) {
    size_t n;
    if (!lt_ok(env, napi_get_typedarray_info(env, js->value, NULL, &n, NULL, NULL, NULL)))
      return false;
    if (n > INT32_MAX) return out_of_memory(env);
    length = (uint32_t)n;
  }
  void *data = lt_allocate(call, length * item_size(argument->type) + 1);
  if (!data) return out_of_memory(env);
  for (uint32_t i = 0; i < length; i++) {
    lt_js item = js->kind == LT_JS_REST ? js->rest[i] : *js;
    napi_value v;
    if (many && (!lt_ok(env, napi_get_element(env, js->value, i, &v)) || !lt_look(env, v, &item)))
      return false;
    if (item.kind == LT_JS_WIDE) return lt_throw_wide(env, call->name, argument->name, item.kind);
    if (!convert_item(env, call, argument, &item, i, data)) return false;
  }
  to->list.data = data, to->list.length = length;
  return true;
}

bool lt_from_array(napi_env env, lt_call *call, const lt_argument *argument, const lt_js *js,
                   tensor_t **to) {
  napi_value maker, made, function, result, arguments[3] = {js->value};
  lt_js look;
  if (!lt_ok(env, napi_get_reference_value(env, lt_get_env(env)->to_tensor, &maker)) ||
      !(arguments[1] = lt_from_text(env, call->name)) ||
      !lt_ok(env, napi_get_boolean(env, argument->flags & LT_IS_INTEGERS, &arguments[2])) ||
      !lt_ok(env, napi_call_function(env, maker, maker, 3, arguments, &made)) ||
      !lt_look(env, made, &look))
    return false;
  tensor_status status = tensor_new_handle(look.box->handle, to);
  bool kept =
      status ? lt_throw_last(env, status, call->name) != NULL : lt_keep_tensor(env, call, *to);
  return kept && lt_ok(env, napi_get_named_property(env, made, "dispose", &function)) &&
         lt_ok(env, napi_call_function(env, made, function, 0, NULL, &result));
}

bool lt_convert(napi_env env, lt_call *call, const lt_argument *argument, const lt_js *js,
                lt_value *to) {
  bool null = js->kind == LT_JS_NULL;
  if (argument->flags & LT_IS_LIST && null) {
    to->list.data = NULL, to->list.length = 0;
    return true;
  }
  if (argument->type == LT_INDEX || argument->flags & LT_IS_LIST)
    return convert_list(env, call, argument, js, to);
  switch (argument->type) {
    case LT_TENSOR:
    case LT_STORAGE:
    case LT_GENERATOR:
    case LT_NODE:
      to->pointer = NULL;
      if (is_array(js)) return lt_from_array(env, call, argument, js, (tensor_t **)&to->pointer);
      return null || lt_hold(env, call, argument->name, js->box, access_of(argument), &to->pointer);
    case LT_SCALAR:
      to->scalar = null ? tensor_none() : js->scalar;
      return true;
    case LT_INT:
      if (js->kind == LT_JS_UINT) return lt_throw_wide(env, call->name, argument->name, js->kind);
      if (js->kind == LT_JS_STRING) return dim_by_name(env, call, argument, js->value, &to->i);
      to->i = null ? TENSOR_NONE : integer_of(js);
      return true;
    case LT_FLOAT: {
      to->pointer = NULL;
      if (null) return true;
      double d = double_of(js);
      if (!(argument->flags & LT_IS_OPTIONAL)) {
        to->f = d;
        return true;
      }
      double *number = lt_allocate(call, sizeof *number);
      if (!number) return out_of_memory(env);
      *number = d;
      to->pointer = (void *)number;
      return true;
    }
    case LT_BOOL:
      to->i = null ? -1 : js->scalar.value.i;
      return true;
    case LT_STR:
      to->text = NULL;
      return null || (to->text = copy_text(env, call, js->value));
    case LT_CALLBACK:
      return (call->callback = to->pointer = lt_keep(env, &js->value, 1));
    case LT_DEVICE:
      to->device = tensor_device_default();
      break;
    default:
      to->i = -1;
  }
  if (null) return true;
  char text[64];
  return short_text(env, js, text, sizeof text) && lt_read_name(argument->type, text, to);
}

bool lt_convert_names(napi_env env, lt_call *call, const lt_js *js) {
  static const lt_argument names = {"names", LT_STR, LT_IS_LIST, -1, {0}};
  uint32_t n;
  if (js->kind != LT_JS_ARRAY)
    return lt_throw_type(
        env, "%s: option 'names' must be an array with a name for each dimension, not %s",
        call->name, lt_kind_name(js));
  if (!array_length(env, js->value, &n)) return false;
  const char **texts = lt_allocate(call, n * sizeof *texts + 1);
  if (!texts) return out_of_memory(env);
  for (uint32_t i = 0; i < n; i++) {
    napi_value v;
    lt_js item;
    if (!lt_ok(env, napi_get_element(env, js->value, i, &v)) || !lt_look(env, v, &item))
      return false;
    texts[i] = "";
    if (item.kind != LT_JS_NULL && !convert_item(env, call, &names, &item, i, texts)) return false;
  }
  call->names = texts, call->name_count = n;
  return true;
}
