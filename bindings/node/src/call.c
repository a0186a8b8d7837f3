// Binding of JavaScript arguments to an operator's overloads, the call itself, and its results.
#include <math.h>
#include <stdio.h>

#include "../../../capi/closest.h"
#include "addon.h"

// With the integers that a list may be given as, one by one.
enum { MAX_INPUTS = 25 };

typedef struct option {
  char name[48];
  lt_js js;
} option;

// The passed values.
typedef struct inputs {
  lt_js positional[MAX_INPUTS];
  int count;
  option options[MAX_INPUTS];
  int option_count;
  napi_value signal;  // the option of that name, NULL without
  lt_js out;          // that of the name out, LT_JS_ABSENT without
  lt_js names, leaf;  // those of factories, names and requiresGrad
  lt_js rest;
  napi_value waiting;  // the handle that a tensor is for, after the arguments; NULL without
  int32_t reused;      // the number of the handle's box, 0 of a new handle
} inputs;

// ---------------------------------------------------------------------------------------- inputs

// Objects without own properties that are not options: Map, Date, instances.
static bool is_plain(napi_env env, napi_value object) {
  napi_value prototype, above;
  napi_valuetype type;
  return napi_get_prototype(env, object, &prototype) == napi_ok &&
         napi_typeof(env, prototype, &type) == napi_ok &&
         (type == napi_null || (napi_get_prototype(env, prototype, &above) == napi_ok &&
                                napi_typeof(env, above, &type) == napi_ok && type == napi_null));
}

static bool is_memory(napi_env env, napi_value object) {
  bool buffer, view;
  return napi_is_arraybuffer(env, object, &buffer) == napi_ok &&
         napi_is_dataview(env, object, &view) == napi_ok && (buffer || view);
}

static bool read_options(napi_env env, const char *op, napi_value object, bool async, inputs *in) {
  napi_value names;
  uint32_t count;
  if (!lt_ok(env, napi_get_property_names(env, object, &names)) ||
      !lt_ok(env, napi_get_array_length(env, names, &count)))
    return false;
  if (count == 0 && is_memory(env, object))
    return lt_throw_type(
        env, "%s: an ArrayBuffer or a DataView has no dtype; use tensor(data, {dtype})", op);
  if (count == 0 && !is_plain(env, object))
    return lt_throw_type(env, "%s: the options must be a plain object, such as {out: x}", op);
  for (uint32_t i = 0; i < count; i++) {
    napi_value key, value;
    size_t length;
    if (in->option_count == MAX_INPUTS) return lt_throw_type(env, "%s: too many options", op);
    option *o = &in->options[in->option_count];
    if (!lt_ok(env, napi_get_element(env, names, i, &key)) ||
        !lt_ok(env, napi_get_value_string_utf8(env, key, o->name, sizeof o->name, &length)) ||
        !lt_ok(env, napi_get_property(env, object, key, &value)) || !lt_look(env, value, &o->js))
      return false;
    if (o->js.kind == LT_JS_WIDE) return lt_throw_wide(env, op, o->name, LT_JS_WIDE);
    if (o->js.kind == LT_JS_ABSENT) continue;
    if (strcmp(o->name, "out") == 0) {
      if (o->js.kind != LT_JS_NULL) in->out = o->js;
      continue;
    }
    if (strcmp(o->name, "names") == 0 && o->js.kind != LT_JS_NULL) in->names = o->js;
    if (strcmp(o->name, "requiresGrad") == 0 && o->js.kind != LT_JS_NULL) in->leaf = o->js;
    if (async && strcmp(o->name, "signal") == 0) {
      if (o->js.kind != LT_JS_NULL) in->signal = value;
      continue;
    }
    in->option_count++;
  }
  return true;
}

// The name of a positional argument; of one among the integers at the end, as in zeros(2, 3), that
// of the list.
static const char *positional_name(const lt_binding *b, int at) {
  const lt_overload *op = b->entry->overloads;
  int last = op->positional_count - 1;
  return last < 0 ? "" : op->arguments[at < last ? at : last].name;
}

// The arguments that lib/classes.js recorded, copied before another call changes them.
typedef struct notes {
  int32_t count, handle, kinds[LT_MOST_NOTED];
  double numbers[LT_MOST_NOTED];
} notes;

static void take_notes(const lt_env *e, notes *n) {
  n->count = e->cell[LT_CELL_NOTED];
  n->handle = e->cell[LT_CELL_HANDLE];
  e->cell[LT_CELL_NOTED] = 0;
  for (int i = 0; i < n->count; i++)
    n->kinds[i] = e->cell[LT_CELL_KINDS + i], n->numbers[i] = e->numbers[i];
}

// Examines `this`, which is the first value, or an argument.
static bool look(napi_env env, lt_env *e, const notes *n, int at, napi_value value, lt_js *js) {
  lt_noted kind = at < n->count ? (lt_noted)n->kinds[at] : LT_NOTED_ANY;
  bool own = kind == LT_NOTED_OWN || (kind == LT_NOTED_OUT && n->numbers[at] != 0);
  if (kind != LT_NOTED_NUMBER && !own) return lt_look(env, value, js);
  js->value = value;
  js->box = NULL;
  if (kind == LT_NOTED_NUMBER)
    lt_look_number(n->numbers[at], js);
  else
    lt_look_box(lt_box_of(e, (int32_t)n->numbers[at]), js);
  return true;
}

static bool read_inputs(napi_env env, lt_env *e, napi_callback_info info,
                        const lt_binding **binding, inputs *in) {
  napi_value values[MAX_INPUTS + 1], self;
  size_t count = MAX_INPUTS + 1;
  void *data;
  notes n;
  take_notes(e, &n);
  if (!lt_ok(env, napi_get_cb_info(env, info, &count, values, &self, &data))) return false;
  const lt_binding *b = *binding = data;
  const char *op = b->name;
  in->count = in->option_count = 0;
  in->signal = NULL;
  in->out.kind = in->names.kind = in->leaf.kind = LT_JS_ABSENT;
  in->waiting = NULL, in->reused = 0;
  if (n.count > 0) {
    count--;
    if (n.handle >= 0) in->waiting = values[count], in->reused = n.handle;
  }
  if (b->method && !look(env, e, &n, 0, self, &in->positional[in->count++])) return false;
  if (in->count + count > MAX_INPUTS)
    return lt_throw_type(env, "%s: %zu arguments are too many", op, count);
  for (int i = 0; i < (int)count; i++) {
    lt_js *js = &in->positional[in->count++];
    if (!look(env, e, &n, i + 1, values[i], js)) return false;
    if (js->kind == LT_JS_WIDE)
      return lt_throw_wide(env, op, positional_name(b, in->count - 1), LT_JS_WIDE);
  }
  lt_make_room(env, e);
  if (n.count == (int)count + 1 && n.kinds[count] == LT_NOTED_OUT) {
    in->out = in->positional[--in->count];
    if (in->out.kind == LT_JS_NULL) in->out.kind = LT_JS_ABSENT;
    return true;
  }
  while (in->count > b->method && in->positional[in->count - 1].kind == LT_JS_ABSENT) in->count--;
  if (in->count > b->method && in->positional[in->count - 1].kind == LT_JS_OBJECT)
    return read_options(env, op, in->positional[--in->count].value, b->async, in);
  return true;
}

// --------------------------------------------------------------------------------------- binding

static int find_argument(const lt_overload *op, const char *name) {
  for (int i = 0; i < op->argument_count; i++)
    if (strcmp(op->arguments[i].name, name) == 0) return i;
  return -1;
}

// How many arguments there are when the integers at the end, as in zeros(2, 3), are one list.
static int gather(const lt_overload *op, inputs *in) {
  int at = op->positional_count - 1;
  if (at < 0 || in->count <= op->positional_count || !(op->arguments[at].flags & LT_IS_VARIADIC))
    return in->count;
  bool names = op->arguments[at].dim_of >= 0;
  for (int i = at; i < in->count; i++)
    if (!lt_is_integer(&in->positional[i]) && !(names && in->positional[i].kind == LT_JS_STRING))
      return in->count;
  in->rest = (lt_js){.kind = LT_JS_REST, .rest = &in->positional[at], .rest_count = in->count - at};
  return op->positional_count;
}

// The options of every factory, in addition to its arguments.
static bool is_of_factories(const char *option) {
  return strcmp(option, "names") == 0 || strcmp(option, "requiresGrad") == 0;
}

// Assigns the passed values to an overload's arguments; returns false, with the reason in why, if
// they do not match.
static bool fit(napi_env env, const lt_overload *op, int mode, inputs *in, const lt_js **given,
                bool arrays, char *why, size_t room) {
  if (!(op->row->forms & LT_HAS(mode, 0))) {
    snprintf(why, room, "it has no %s variant", mode == LT_OUT ? "out" : "in-place");
    return false;
  }
  int count = gather(op, in), last = op->positional_count - 1;
  if (count > op->positional_count && last >= 0 && op->arguments[last].flags & LT_IS_VARIADIC) {
    // One of the integers at the end is none.
    const lt_argument *a = &op->arguments[last];
    int at = last;
    while (at < count - 1 && lt_is_integer(&in->positional[at])) at++;
    snprintf(why, room, "argument '%s' must be %s; item %d is %s", a->name, lt_type_name(a),
             at - last, lt_kind_name(&in->positional[at]));
    return false;
  }
  if (count > op->positional_count) {
    snprintf(why, room, "it takes %d positional arguments, but got %d", op->positional_count,
             in->count);
    return false;
  }
  for (int i = 0; i < op->argument_count; i++) given[i] = i < count ? &in->positional[i] : NULL;
  if (count < in->count) given[count - 1] = &in->rest;
  for (int i = 0; i < in->option_count; i++) {
    int at = find_argument(op, in->options[i].name);
    if (at < 0 && op->row->flags & LT_FACTORY && is_of_factories(in->options[i].name)) continue;
    if (at < 0) {
      const char *meant = NULL;
      for (int k = 0, closest = 32; k < op->argument_count; k++)
        if (lt_closer(in->options[i].name, op->arguments[k].name, &closest))
          meant = op->arguments[k].name;
      snprintf(why, room, "it has no argument '%s'%s%s%s", in->options[i].name,
               meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
      return false;
    }
    if (given[at]) {
      snprintf(why, room, "argument '%s' was passed twice", in->options[i].name);
      return false;
    }
    given[at] = &in->options[i].js;
  }
  for (int i = 0; i < op->argument_count; i++) {
    const lt_argument *a = &op->arguments[i];
    const bool none = given[i] && given[i]->kind == LT_JS_ABSENT;
    if (none) given[i] = NULL;
    if (!given[i] && !(a->flags & LT_HAS_DEFAULT) && !(none && a->flags & LT_IS_OPTIONAL)) {
      snprintf(why, room, "argument '%s' (%s) is missing", a->name, lt_type_name(a));
      return false;
    }
    if (given[i] && !lt_accepts(env, a, given[i], arrays && (i > 0 || mode != LT_INPLACE))) {
      char kind[128];
      lt_describe(env, a, given[i], kind, sizeof kind);
      snprintf(why, room, "argument '%s' must be %s, not %s", a->name, lt_type_name(a), kind);
      return false;
    }
  }
  return true;
}

// "add(input, other, {alpha})"
static int signature(const char *name, const lt_overload *op, char *to, size_t room) {
  int n = snprintf(to, room, "%s(", name);
  for (int i = 0; i < op->argument_count && n < (int)room; i++) {
    const lt_argument *a = &op->arguments[i];
    bool keyword = a->flags & LT_IS_KEYWORD,
         first = keyword && (i == 0 || !(op->arguments[i - 1].flags & LT_IS_KEYWORD));
    n += snprintf(to + n, room - (size_t)n, "%s%s%s%s", i ? ", " : "", first ? "{" : "", a->name,
                  keyword && i + 1 == op->argument_count ? "}" : "");
  }
  if (n < (int)room) n += snprintf(to + n, room - (size_t)n, ")");
  return n < (int)room ? n : (int)room - 1;
}

static bool has_arrays(const inputs *in) {
  for (int i = 0; i < in->count + in->option_count; i++) {
    lt_kind kind = i < in->count ? in->positional[i].kind : in->options[i - in->count].js.kind;
    if (kind == LT_JS_ARRAY || kind == LT_JS_TYPED_ARRAY) return true;
  }
  return false;
}

static const lt_overload *choose(napi_env env, const lt_binding *b, int mode, inputs *in,
                                 const lt_js **given) {
  const lt_entry *entry = b->entry;
  char why[256], message[1024];
  // Arrays are converted to tensors if no overload accepts them as arrays.
  for (bool arrays = false;; arrays = true) {
    for (int i = 0; i < entry->count; i++)
      if (fit(env, &entry->overloads[i], mode, in, given, arrays, why, sizeof why))
        return &entry->overloads[i];
    if (arrays || !has_arrays(in)) break;
  }
  if (entry->count == 1) {
    lt_throw_type(env, "%s: %s", b->name, why);
    return NULL;
  }
  int n = snprintf(message, sizeof message, "%s: no overload accepts these arguments (", b->name);
  for (int i = 0; i < in->count + in->option_count && n < (int)sizeof message; i++) {
    const option *o = i < in->count ? NULL : &in->options[i - in->count];
    n += snprintf(message + n, sizeof message - (size_t)n, "%s%s%s%s", i ? ", " : "",
                  o ? o->name : "", o ? ": " : "", lt_kind_name(o ? &o->js : &in->positional[i]));
  }
  if (n < (int)sizeof message)
    n += snprintf(message + n, sizeof message - (size_t)n, "); the overloads are ");
  int first = n;
  for (int i = 0; i < entry->count && n + 4 < (int)sizeof message; i++) {
    char form[256];
    signature(b->name, &entry->overloads[i], form, sizeof form);
    if (n > first && strstr(message + first, form)) continue;  // it differs in types alone
    n += snprintf(message + n, sizeof message - (size_t)n, "%s%s", n > first ? " and " : "", form);
  }
  lt_throw_type(env, "%s", message);
  return NULL;
}

// A number where C takes only a tensor becomes a zero-dim tensor that counts as a number.
static bool wrap_number(napi_env env, lt_call *call, tensor_scalar scalar, lt_value *to) {
  tensor_status status = tensor_scalar_operand(scalar, (tensor_t **)&to->pointer);
  if (status) {
    lt_throw_last(env, status, call->name);
    return false;
  }
  return lt_keep_tensor(env, call, to->pointer);
}

static bool convert_operand(napi_env env, lt_call *call, int i, const lt_js *js, lt_value *to,
                            bool *number) {
  const lt_argument *a = &call->op->arguments[i];
  if (js && js->kind == LT_JS_TENSOR)
    return lt_hold(env, call, a->name, js->box, LT_READS, &to->pointer);
  if (js && (js->kind == LT_JS_ARRAY || js->kind == LT_JS_TYPED_ARRAY))
    return lt_from_array(env, call, a, js, (tensor_t **)&to->pointer);
  tensor_scalar scalar = js ? js->scalar : a->value.scalar;
  if (i == call->op->operand && call->op->row->forms & LT_HAS(call->mode, 1)) {
    to->scalar = scalar;
    *number = true;
    return true;
  }
  return wrap_number(env, call, scalar, to);
}

// The tensors of the out option: one, or an array or object of as many as there are results.
static bool bind_outs(napi_env env, lt_call *call, const lt_js *out) {
  const lt_overload *op = call->op;
  bool array = false;
  uint32_t length = op->result_count;
  if (op->result_count > 1 && !lt_ok(env, napi_is_array(env, out->value, &array))) return false;
  if (array && !lt_ok(env, napi_get_array_length(env, out->value, &length))) return false;
  if (length != op->result_count)
    return lt_throw_type(env,
                         "%s: out must have a tensor for each of the %d results, but it has %u",
                         call->name, op->result_count, length);
  for (int i = 0; i < op->result_count; i++) {
    napi_value item = out->value;
    const char *name = op->results[i].name;
    lt_js js = *out;
    if (op->result_count > 1 &&
        (!lt_ok(env, array ? napi_get_element(env, item, (uint32_t)i, &item)
                           : napi_get_named_property(env, item, name, &item)) ||
         !lt_look(env, item, &js)))
      return false;
    if (js.kind != LT_JS_TENSOR && op->result_count > 1)
      return lt_throw_type(env, "%s: out must have a tensor for each of the %d results; '%s' is %s",
                           call->name, op->result_count, name, lt_kind_name(&js));
    if (js.kind != LT_JS_TENSOR)
      return lt_throw_type(env, "%s: out must be a tensor, not %s", call->name, lt_kind_name(&js));
    call->outs[i] = item;
    if (!lt_hold(env, call, "out", js.box, LT_WRITES, &call->results[i].pointer)) return false;
  }
  return true;
}

// Whether a factory makes a leaf, by the option requiresGrad.
static bool bind_leaf(napi_env env, lt_call *call, const lt_js *js) {
  if (js->kind == LT_JS_ABSENT) return true;
  if (js->kind != LT_JS_BOOL)
    return lt_throw_type(env, "%s: option 'requiresGrad' must be a boolean, not %s", call->name,
                         lt_kind_name(js));
  call->leaf = js->scalar.value.i;
  if (!call->leaf || call->mode != LT_OUT) return true;
  return lt_throw_type(env,
                       "%s: option 'requiresGrad' cannot be combined with out; use "
                       "out.requiresGrad_()",
                       call->name);
}

static bool bind(napi_env env, lt_call *call, const inputs *in, const lt_js **given) {
  const lt_overload *op = call->op;
  bool number = false;
  for (int i = 0; i < op->argument_count; i++) {
    const lt_argument *a = &op->arguments[i];
    lt_value *to = &call->arguments[i];
    if (i == 0 && call->mode == LT_INPLACE) {
      if (!lt_hold(env, call, a->name, given[0]->box, LT_WRITES, &to->pointer)) return false;
    } else if (a->type == LT_OPERAND) {
      if (!convert_operand(env, call, i, given[i], to, &number)) return false;
    } else if (given[i]) {
      if (!lt_convert(env, call, a, given[i], to)) return false;
    } else {
      *to = a->value;
    }
  }
  // The result of a call without a new result.
  bool returns_self = call->mode == LT_INPLACE || (op->result_count == 0 && op->argument_count &&
                                                   op->arguments[0].flags & LT_IS_MUTATED);
  call->outs[0] = returns_self ? given[0]->value : NULL;
  call->number = number;
  if (op->row->flags & LT_FACTORY && in->names.kind != LT_JS_ABSENT &&
      !lt_convert_names(env, call, &in->names))
    return false;
  if (op->row->flags & LT_FACTORY && !bind_leaf(env, call, &in->leaf)) return false;
  if (call->mode == LT_OUT && !bind_outs(env, call, &in->out)) return false;
  return lt_check_held(env, call);
}

// --------------------------------------------------------------------------------------- results

static napi_value list_result(napi_env env, lt_call *call, const lt_value *r) {
  tensor_t **items = (tensor_t **)r->list.data;
  napi_value array = NULL, item = NULL;
  int64_t i = 0, n = r->list.length;
  if (lt_ok(env, napi_create_array_with_length(env, (size_t)n, &array)))
    for (; i < n; i++) {
      item = lt_wrap(env, LT_TENSOR, items[i], call);
      if (!item || !lt_ok(env, napi_set_element(env, array, (uint32_t)i, item))) {
        i++;
        break;
      }
    }
  bool complete = n == 0 || (i == n && item);
  for (; i < n; i++) tensor_free(items[i]);
  tensor_list_free(items, 0);
  return complete ? array : NULL;
}

static napi_value strings_result(napi_env env, const lt_value *r) {
  char **items = (char **)r->list.data;
  napi_value array, item;
  int64_t i = 0, n = r->list.length;
  bool made = lt_ok(env, napi_create_array_with_length(env, (size_t)n, &array));
  for (; made && i < n; i++)
    made = (item = lt_from_text(env, items[i])) &&
           lt_ok(env, napi_set_element(env, array, (uint32_t)i, item));
  tensor_string_list_free(items, n);
  return made ? array : NULL;
}

// The result of a factory, with the requested names: an ellipsis represents none of its dimensions.
static napi_value named_result(napi_env env, lt_call *call, tensor_t *made) {
  bool whole = true;
  for (int64_t i = 0; i < call->name_count; i++) whole &= strcmp(call->names[i], "...") != 0;
  tensor_status status = whole ? tensor_rename_(made, call->names, call->name_count) : TENSOR_OK;
  if (whole && !status) return lt_wrap(env, LT_TENSOR, made, call);
  if (whole)
    lt_throw_of_call(env, call, status);
  else
    lt_throw_type(env,
                  "%s: an ellipsis in names is only supported for existing tensors; "
                  "use null for a dimension without a name",
                  call->name);
  tensor_free(made);
  return NULL;
}

static napi_value one_result(napi_env env, lt_call *call, int i) {
  const lt_argument *what = &call->op->results[i];
  lt_value *r = &call->results[i];
  napi_value v = NULL;
  if (what->flags & LT_IS_LIST)
    return what->type == LT_STR ? strings_result(env, r) : list_result(env, call, r);
  switch (what->type) {
    case LT_TENSOR:
      if (call->names) return named_result(env, call, r->pointer);
      if (call->waiting && r->pointer) {
        call->made = lt_wrap_result(env, r->pointer, call, call->waiting);
        return NULL;
      }
      return lt_wrap(env, LT_TENSOR, r->pointer, call);
    case LT_STORAGE:
      return lt_wrap(env, LT_STORAGE, r->pointer, call);
    case LT_GENERATOR:
      return lt_wrap(env, LT_GENERATOR, r->pointer, call);
    case LT_NODE:
      return lt_wrap(env, LT_NODE, r->pointer, call);
    case LT_SCALAR:
      return lt_from_scalar(env, r->scalar);
    case LT_FLOAT:
      lt_ok(env, napi_create_double(env, r->f, &v));
      return v;
    case LT_BOOL:
      lt_ok(env, napi_get_boolean(env, r->i != 0, &v));
      return v;
    case LT_STR:
      v = lt_from_text(env, r->pointer);
      tensor_string_free(r->pointer);
      return v;
    case LT_DTYPE:
      return lt_from_text(env, tensor_dtype_name((tensor_dtype)r->i));
    case LT_DEVICE:
      return lt_from_device(env, r->device);
    default:
      return lt_from_int(env, r->i);
  }
}

// Storages that the call gave other memory, or tensors another storage.
static void follow_memory(napi_env env, lt_call *call) {
  if (!call->moves && call->mode != LT_OUT) return;
  bool moved = strcmp(call->op->name, "set_") != 0;
  lt_env *e = lt_get_env(env);
  for (int i = 0; i < call->held_count; i++) {
    lt_box *box = call->held[i].box;
    if (call->held[i].access < LT_WRITES || box->disposed) continue;
    if (call->moves)
      lt_follow(env, e, box, moved);
    else
      lt_follow_out(env, e, box);
  }
}

// Frees the results from one on, which JavaScript has not got.
static void drop_results(lt_call *call, int from) {
  for (int i = from; call->mode == LT_FUNCTION && i < call->op->result_count; i++) {
    const lt_argument *what = &call->op->results[i];
    lt_value *r = &call->results[i];
    if (what->flags & LT_IS_LIST && what->type == LT_STR)
      tensor_string_list_free((char **)r->list.data, r->list.length);
    else if (what->flags & LT_IS_LIST)
      tensor_list_free((tensor_t **)r->list.data, r->list.length);
    else if (what->type == LT_STR)
      tensor_string_free(r->pointer);
    else if (what->type < LT_CLASSES)
      lt_free_handle(what->type, r->pointer);
  }
}

void lt_drop_results(lt_call *call) { drop_results(call, 0); }

napi_value lt_results(napi_env env, lt_call *call) {
  const lt_overload *op = call->op;
  napi_value object, v = NULL;
  follow_memory(env, call);
  if (call->outs[0] && (call->mode != LT_OUT || op->result_count == 1)) return call->outs[0];
  if (op->result_count == 0) {
    lt_ok(env, napi_get_undefined(env, &v));
    return v;
  }
  if (op->result_count == 1) return one_result(env, call, 0);
  int i = 0;
  bool made = lt_ok(env, napi_create_object(env, &object));
  for (; made && i < op->result_count; i++) {
    v = call->mode == LT_OUT ? call->outs[i] : one_result(env, call, i);
    made = v && lt_ok(env, napi_set_named_property(env, object, op->results[i].name, v));
  }
  if (!made) drop_results(call, i);
  return made ? object : NULL;
}

// ----------------------------------------------------------------------------------------- calls

bool lt_prepare(napi_env env, napi_callback_info info, lt_call *call, napi_value *signal) {
  inputs in;
  const lt_js *given[LT_MOST_PARAMETERS];
  const lt_binding *b;
  if (!read_inputs(env, lt_get_env(env), info, &b, &in)) return false;
  if (signal) *signal = in.signal;
  int mode = b->mode == LT_FUNCTION && in.out.kind != LT_JS_ABSENT ? LT_OUT : b->mode;
  const lt_overload *op = choose(env, b, mode, &in, given);
  if (!op) return false;
  lt_start_call(call, op, mode);
  call->waiting = in.waiting, call->reused = in.reused;
  call->name = b->name;
  if (mode == LT_INPLACE && given[0]->kind != LT_JS_TENSOR)
    return lt_throw_type(env, "%s: the method was used on %s", b->name, lt_kind_name(given[0]));
  if (bind(env, call, &in, given)) return true;
  lt_end_call(call);
  return false;
}

// Has the gradient of a new tensor wanted; it is freed where it can have none.
static tensor_status make_leaf(tensor_t *made) {
  tensor_status status = tensor_set_requires_grad(made, true);
  if (status) tensor_free(made);
  return status;
}

// Runs the operator on a copy of the arguments, over which it leaves its results.
static tensor_status run(lt_call *call) {
  const lt_operator *row = call->op->row;
  lt_value a[LT_MOST_PARAMETERS + LT_MOST_RESULTS];
  int count = call->op->argument_count;
  memcpy(a, call->arguments, (size_t)count * sizeof *a);
  if (call->callback) {
    a[count].pointer = a[count - 1].pointer, a[count + 1].pointer = (void *)(intptr_t)lt_let_go;
    a[count - 1].pointer = (void *)(intptr_t)lt_call_back;
  }
  const size_t bytes = call->op->result_count * sizeof *a;
  if (call->mode == LT_OUT) memcpy(a + count, call->results, bytes);
  tensor_status status = row->run(row, call->mode, call->number, a);
  if (!status && call->mode == LT_FUNCTION) memcpy(call->results, a, bytes);
  return status;
}

tensor_status lt_run_call(lt_call *call, tensor_dtype default_dtype) {
  tensor_status status = lt_resume(default_dtype);
  if (status) return status;
  status = run(call);
  if (!status && call->leaf) status = make_leaf(call->results[0].pointer);
  lt_pause();
  if (!status) call->callback = NULL;
  return status;
}

// setDefaultDtype(dtype): sets the default of this environment. The library reports the error for
// unsupported dtypes.
napi_value lt_set_default_dtype(napi_env env, napi_callback_info info) {
  lt_call call;
  napi_value undefined = NULL;
  if (!lt_prepare(env, info, &call, NULL)) return NULL;
  tensor_dtype dtype = (tensor_dtype)call.arguments[0].i;
  if (dtype >= TENSOR_FLOAT16 && dtype <= TENSOR_FLOAT64) {
    lt_get_env(env)->default_dtype = dtype;
    lt_ok(env, napi_get_undefined(env, &undefined));
  } else if (run(&call)) {
    lt_throw_last(env, TENSOR_ERROR_TYPE, call.name);
  }
  lt_end_call(&call);
  return undefined;
}

static napi_value run_bound(napi_env env, lt_env *e, lt_call *call) {
  lt_hear_warnings(e);
  if (e->buffers && !lt_check_graph(env, call)) return NULL;
  tensor_status status = lt_run_call(call, e->default_dtype);
  return status ? lt_throw_last(env, status, call->name) : lt_results(env, call);
}

// Ends a call with recorded arguments. Warning handlers may make calls: the result of this one is
// reported last.
static void end_noted(napi_env env, lt_env *e, int32_t made) {
  lt_leave_boxes(e->pool);
  lt_drain_inbox(env, e);
  e->cell[LT_CELL_MADE] = made;
}

napi_value lt_invoke(napi_env env, napi_callback_info info) {
  lt_call call;
  lt_env *e = lt_get_env(env);
  napi_value v = NULL;
  lt_keep_boxes(e->pool);
  call.made = 0;
  if (lt_prepare(env, info, &call, NULL)) {
    v = run_bound(env, e, &call);
    lt_end_call(&call);
  }
  end_noted(env, e, call.made);
  return v;
}

static int64_t bound_of(double number) { return isnan(number) ? TENSOR_NONE : (int64_t)number; }

// A position or a slice alone, which the tensor has, is a call of select or slice: they look no
// further.
static bool bind_simple(const lt_env *e, lt_call *call, const tensor_t *t,
                        const tensor_index *item) {
  int64_t n = tensor_dim(t) > 0 ? *tensor_sizes(t) : -1;
  lt_value *a = call->arguments;
  a[1].i = 0;
  if (item->kind == TENSOR_INDEX_INT && item->start >= -n && item->start < n) {
    a[2].i = item->start;
    call->op = e->select;
  } else if (item->kind == TENSOR_INDEX_SLICE && n >= 0 &&
             (item->step == TENSOR_NONE || item->step > 0)) {
    a[2].i = item->start, a[3].i = item->stop;
    a[4].i = item->step == TENSOR_NONE ? 1 : item->step;
    call->op = e->slice;
  } else {
    return false;
  }
  return true;
}

static bool bind_index(napi_env env, lt_env *e, lt_call *call, lt_box *box, int32_t count) {
  tensor_index *items = lt_allocate(call, (size_t)count * sizeof *items + 1);
  for (int32_t i = 0; i < count; i++) {
    const double *n = &e->numbers[4 * i];
    items[i] = (tensor_index){.kind = (int32_t)n[0],
                              .start = n[0] <= TENSOR_INDEX_SLICE ? bound_of(n[1]) : TENSOR_NONE,
                              .stop = n[0] == TENSOR_INDEX_SLICE ? bound_of(n[2]) : TENSOR_NONE,
                              .step = n[0] == TENSOR_INDEX_SLICE ? bound_of(n[3]) : TENSOR_NONE};
  }
  if (!box || box->kind != LT_TENSOR)
    return lt_throw_type(env, "at: the method must be called on a tensor");
  lt_make_room(env, e);
  if (!lt_hold(env, call, "self", box, LT_READS, &call->arguments[0].pointer)) return false;
  if (count != 1 || !bind_simple(e, call, box->handle, items))
    call->arguments[1].list.data = items, call->arguments[1].list.length = count;
  call->number = false;
  return true;
}

// indexNoted(number of a box, count, handle): makes a handle own the result of an index with its
// items in the cell.
napi_value lt_index_noted(napi_env env, napi_callback_info info) {
  size_t argc = 3;
  napi_value argv[3];
  int32_t number, count;
  lt_call call;
  lt_env *e = lt_get_env(env);
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL)) ||
      !lt_ok(env, napi_get_value_int32(env, argv[0], &number)) ||
      !lt_ok(env, napi_get_value_int32(env, argv[1], &count)))
    return NULL;
  const int32_t reused = e->cell[LT_CELL_HANDLE];
  lt_keep_boxes(e->pool);
  lt_start_call(&call, e->index, LT_FUNCTION);
  call.waiting = argv[2], call.reused = reused;
  call.name = "at";
  call.outs[0] = NULL;
  if (bind_index(env, e, &call, lt_box_of(e, number), count)) run_bound(env, e, &call);
  lt_end_call(&call);
  end_noted(env, e, call.made);
  return NULL;
}
