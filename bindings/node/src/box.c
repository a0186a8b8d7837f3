// The classes Tensor, Storage, Generator and Node: owners of handles, freed by dispose(), by a
// scope, or by the collector.
#include <stdio.h>

#include "addon.h"

static const char *const class_names[] = {"Tensor", "Storage", "Generator", "Node"};

enum {
  REPORT_BYTES = 1 << 18,    // V8 is told of external memory in steps of this
  SWEEP_BOXES = 1 << 13,     // new handles after which collected objects are looked for
  LEAST_GARBAGE = 32 << 20,  // bytes of new memory before garbage is looked for
  MOST_GARBAGE = 256 << 20
};

void lt_account(napi_env env, lt_env *e, int64_t bytes) {
  e->bytes += bytes;
  e->unreported += bytes;
  if (e->unreported < REPORT_BYTES && e->unreported > -REPORT_BYTES) return;
  int64_t now;
  napi_adjust_external_memory(env, e->unreported, &now);
  e->unreported = 0;
}

void lt_free_handle(lt_type kind, void *handle) {
  if (kind == LT_TENSOR) tensor_free(handle);
  if (kind == LT_STORAGE) tensor_storage_free(handle);
  if (kind == LT_GENERATOR) tensor_generator_free(handle);
  if (kind == LT_NODE) tensor_node_free(handle);
}

static void free_handle(napi_env env, lt_env *e, lt_box *box) {
  lt_free_handle(box->kind, box->handle);
  box->handle = NULL;
  lt_detach(env, e, box);
  if (box->lent) napi_delete_reference(env, box->lent);
  box->lent = NULL;
}

static void leave_scope(lt_box *box) {
  if (!box->scope) return;
  if (box->previous)
    box->previous->next = box->next;
  else
    box->scope->boxes = box->next;
  if (box->next) box->next->previous = box->previous;
  box->scope = NULL;
}

static void enter_scope(lt_box *box, lt_scope *scope) {
  box->scope = scope;
  box->previous = NULL;
  box->next = scope->boxes;
  if (box->next) box->next->previous = box;
  scope->boxes = box;
}

// Takes the box out of the environment's list, and frees it unless an asynchronous call needs it.
static void forget(lt_env *e, lt_box *box) {
  box->wrapped = false;
  if (box->newer)
    box->newer->older = box->older;
  else
    e->newest = box->older;
  if (box->older) box->older->newer = box->newer;
  e->boxes--;
  if (box->users == 0) lt_free_box(e->pool, box);
}

static void let_go(napi_env env, lt_env *e, lt_box *box) {
  box->disposed = true;
  leave_scope(box);
  if (box->users == 0) free_handle(env, e, box);
  lt_drain_inbox(env, e);
}

// Where lib/classes.js and the addon hand each other numbers of boxes.
enum { READ, MADE };

// What an object that was disposed has in the place of a box's number.
static int32_t gone_number(const lt_box *box) { return -1 - box->kind; }

// Frees the handle, and what Node keeps for the object: it would run finalizers when the event loop
// turns, which a long loop does not let it do.
static void dispose(napi_env env, lt_env *e, lt_box *box) {
  if (box->disposed) return;
  napi_delete_reference(env, box->object);
  let_go(env, e, box);
  forget(e, box);
}

// Disposes a box whose object does not know of it yet, if it lives.
static void dispose_object(napi_env env, lt_env *e, lt_box *box) {
  napi_value object, writer, result;
  if (napi_get_reference_value(env, box->object, &object) == napi_ok && object &&
      napi_get_reference_value(env, e->writer, &writer) == napi_ok) {
    e->cell[READ] = gone_number(box);
    napi_call_function(env, object, writer, 1, &object, &result);
  }
  dispose(env, e, box);
}

static void finalize(napi_env env, void *data, void *hint) {
  (void)hint;
  lt_box *box = data;
  lt_env *e = lt_get_env(env);
  napi_delete_reference(env, box->object);
  let_go(env, e, box);
  forget(e, box);
}

// Objects that the collector has already taken are disposed here from time to time, for the same
// reason.
static void sweep(napi_env env, lt_env *e) {
  for (lt_box *box = e->newest; box;) {
    napi_handle_scope handles;
    if (napi_open_handle_scope(env, &handles) != napi_ok) break;
    for (int i = 0; box && i < 1024; i++) {
      lt_box *older = box->older;
      napi_value object = NULL;
      if (napi_get_reference_value(env, box->object, &object) == napi_ok && !object)
        dispose(env, e, box);
      box = older;
    }
    napi_close_handle_scope(env, handles);
  }
  e->made = 0;
}

static void collect(napi_env env, lt_env *e, bool all) {
  napi_value collector, undefined, argument, result;
  if (!e->collector || napi_get_reference_value(env, e->collector, &collector) != napi_ok ||
      napi_get_undefined(env, &undefined) != napi_ok ||
      napi_get_boolean(env, all, &argument) != napi_ok ||
      napi_call_function(env, undefined, collector, 1, &argument, &result) != napi_ok)
    return;
  sweep(env, e);
}

// V8 sees small objects, not the memory behind them, and lets them lie. So garbage is collected
// here when memory has grown by a quarter: young objects first, which takes a fraction of a
// millisecond, and all where that is not enough. Where nothing was garbage the next look is later.
void lt_make_room(napi_env env, lt_env *e) {
  if (e->bytes < e->kept_bytes) e->kept_bytes = e->bytes;
  int64_t quarter = e->kept_bytes / 4;
  int64_t allowed = quarter > e->patience ? quarter : e->patience;
  if (e->bytes - e->kept_bytes > allowed) {
    int64_t before = e->bytes;
    collect(env, e, false);
    if (e->bytes - e->kept_bytes > allowed / 2) collect(env, e, true);
    bool garbage = before - e->bytes > allowed / 2;
    e->patience = garbage ? LEAST_GARBAGE : 2 * e->patience;
    if (e->patience > MOST_GARBAGE) e->patience = MOST_GARBAGE;
    e->kept_bytes = e->bytes;
  } else if (e->made >= (e->boxes > 2 * SWEEP_BOXES ? e->boxes / 2 : SWEEP_BOXES)) {
    sweep(env, e);
  }
}

void lt_use(lt_box *box) { box->users++; }

void lt_unuse(napi_env env, lt_box *box) {
  if (--box->users > 0) return;
  lt_env *e = lt_get_env(env);
  if (box->disposed && box->handle) free_handle(env, e, box);
  if (!box->wrapped) lt_free_box(e->pool, box);
}

static napi_value new_object(napi_env env, lt_env *e, lt_box *box) {
  napi_value maker, object;
  if (!lt_ok(env, napi_get_reference_value(env, e->makers[box->kind], &maker))) return NULL;
  e->cell[MADE] = box->number;
  if (!lt_ok(env, napi_call_function(env, maker, maker, 0, NULL, &object)) ||
      !lt_ok(env, napi_add_finalizer(env, object, box, finalize, NULL, &box->object)))
    return NULL;
  return object;
}

napi_value lt_wrap(napi_env env, lt_type kind, void *handle, const lt_call *call) {
  if (!handle) {  // a result that is absent
    napi_value null = NULL;
    return napi_get_null(env, &null) == napi_ok ? null : NULL;
  }
  lt_env *e = lt_get_env(env);
  lt_box *box = lt_new_box(e->pool);
  if (!box) {
    lt_free_handle(kind, handle);
    return lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for a handle");
  }
  box->kind = kind, box->handle = handle;
  napi_value object = new_object(env, e, box);
  if (!object) {
    lt_free_handle(kind, handle);
    lt_free_box(e->pool, box);
    return NULL;
  }
  box->wrapped = true;
  box->older = e->newest;
  if (box->older) box->older->newer = box;
  e->newest = box;
  e->boxes++, e->made++;
  if (e->scope) enter_scope(box, e->scope);
  lt_attach(env, e, box, call);
  return object;
}

lt_box *lt_unwrap(napi_env env, napi_value object) {
  lt_env *e = lt_get_env(env);
  napi_value reader, result;
  e->cell[READ] = 0;
  if (napi_get_reference_value(env, e->reader, &reader) != napi_ok ||
      napi_call_function(env, object, reader, 1, &object, &result) != napi_ok)
    return NULL;
  int32_t number = e->cell[READ];
  if (number > 0) return lt_box_at(e->pool, number);
  return number < 0 ? &e->gone[-1 - number] : NULL;
}

bool lt_check_box(napi_env env, const char *op, const char *argument, lt_box *box,
                  lt_access access) {
  char message[256];
  const char *state = NULL;
  tensor_status status = TENSOR_ERROR_HANDLE;
  if (box->bytes && !box->disposed) {
    lt_env *e = lt_get_env(env);
    if (e->pending) lt_track(env, e, box);
  }
  if (box->disposed) {
    state = "has been disposed";
  } else if (box->memory && box->memory->buffer && lt_buffer_detached(env, box->memory->buffer)) {
    state = "shares an ArrayBuffer that was transferred away";
  } else if (box->writing || (access >= LT_WRITES && box->reading)) {
    status = TENSOR_ERROR_RUNTIME;
    state = box->writing ? "is being written by an asynchronous call"
                         : "is being read by an asynchronous call";
  } else if (!lt_unclaimed(box, access, &state)) {
    status = TENSOR_ERROR_RUNTIME;
  }
  if (!state) return true;
  snprintf(message, sizeof message, "%s: argument '%s' (a %s) %s", op, argument,
           class_names[box->kind], state);
  lt_throw_status(env, status, message);
  return false;
}

// The box of `this`; kind is the class that the method belongs to.
static lt_box *self_of(napi_env env, napi_callback_info info, void **data) {
  napi_value self;
  if (!lt_ok(env, napi_get_cb_info(env, info, NULL, NULL, &self, data))) return NULL;
  napi_valuetype type;
  lt_box *box = napi_typeof(env, self, &type) == napi_ok && type == napi_object
                    ? lt_unwrap(env, self)
                    : NULL;
  if (!box)
    lt_throw_type(env,
                  "the method or property was used on something else than a tensor, storage, "
                  "generator or node");
  return box;
}

// disposeBox(number): leaves what its object is to have instead in the cell.
static napi_value dispose_box(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value value;
  int32_t number;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &value, NULL, NULL)) ||
      !lt_ok(env, napi_get_value_int32(env, value, &number)))
    return NULL;
  lt_env *e = lt_get_env(env);
  lt_box *box = lt_box_at(e->pool, number);
  int32_t gone = gone_number(box);
  dispose(env, e, box);
  e->cell[READ] = gone;
  return NULL;
}

typedef enum property { SHAPE, STRIDES, DTYPE, DEVICE, LAYOUT, NDIM, NUMEL, OFFSET } property;

static napi_value int_array(napi_env env, const int64_t *values, int64_t n) {
  napi_value array;
  if (!lt_ok(env, napi_create_array_with_length(env, (size_t)n, &array))) return NULL;
  for (int64_t i = 0; i < n; i++) {
    napi_value v = lt_from_int(env, values[i]);
    if (!v || !lt_ok(env, napi_set_element(env, array, (uint32_t)i, v))) return NULL;
  }
  return array;
}

static napi_value get_property(napi_env env, napi_callback_info info) {
  void *data;
  lt_box *box = self_of(env, info, &data);
  if (!box) return NULL;
  property p = (property)(intptr_t)data;
  static const char *const names[] = {"shape",  "strides", "dtype", "device",
                                      "layout", "ndim",    "numel", "storageOffset"};
  if (box->kind != LT_TENSOR) {
    lt_throw_type(env, "%s is a property of tensors", names[p]);
    return NULL;
  }
  // Sizes may change under an asynchronous call that writes, so that the tensor is off limits until
  // it is done.
  if (!lt_check_box(env, names[p], "self", box, LT_LOOKS)) return NULL;
  const tensor_t *t = box->handle;
  switch (p) {
    case SHAPE:
      return int_array(env, tensor_sizes(t), tensor_dim(t));
    case STRIDES:
      return int_array(env, tensor_strides(t), tensor_dim(t));
    case DTYPE:
      return lt_from_text(env, tensor_dtype_name(tensor_get_dtype(t)));
    case DEVICE:
      return lt_from_device(env, tensor_get_device(t));
    case LAYOUT:
      return lt_from_text(env, lt_layout_name(tensor_get_layout(t)));
    case NDIM:
      return lt_from_int(env, tensor_dim(t));
    case NUMEL:
      return lt_from_int(env, tensor_numel(t));
    case OFFSET:
      return lt_from_int(env, tensor_storage_offset(t));
  }
  return NULL;
}

static napi_value enter(napi_env env, napi_callback_info info) {
  (void)info;
  lt_env *e = lt_get_env(env);
  lt_scope *scope = calloc(1, sizeof *scope);
  if (!scope) return lt_throw_status(env, TENSOR_ERROR_MEMORY, "scope: no memory");
  scope->outer = e->scope;
  e->scope = scope;
  return NULL;
}

// leaveScope(kept): disposes what the innermost scope made, except the tensors in the array kept,
// which the outer scope takes over.
static napi_value leave(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value kept;
  lt_env *e = lt_get_env(env);
  lt_scope *scope = e->scope;
  uint32_t length;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &kept, NULL, NULL)) ||
      !lt_ok(env, napi_get_array_length(env, kept, &length)) || !scope)
    return NULL;
  for (uint32_t i = 0; i < length; i++) {
    napi_value item;
    if (!lt_ok(env, napi_get_element(env, kept, i, &item))) return NULL;
    lt_box *box = lt_unwrap(env, item);
    if (!box || box->scope != scope) continue;
    leave_scope(box);
    if (scope->outer) enter_scope(box, scope->outer);
  }
  e->scope = scope->outer;
  while (scope->boxes) dispose_object(env, e, scope->boxes);
  free(scope);
  return NULL;
}

// releaseFromScope(objects): takes objects out of their scopes.
static napi_value release(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value objects, item;
  uint32_t length;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &objects, NULL, NULL)) ||
      !lt_ok(env, napi_get_array_length(env, objects, &length)))
    return NULL;
  for (uint32_t i = 0; i < length; i++) {
    if (!lt_ok(env, napi_get_element(env, objects, i, &item))) return NULL;
    lt_box *box = lt_unwrap(env, item);
    if (box) leave_scope(box);
  }
  return NULL;
}

static napi_value is_tensor(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value value, result = NULL;
  napi_valuetype type;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &value, NULL, NULL)) ||
      !lt_ok(env, napi_typeof(env, value, &type)))
    return NULL;
  lt_box *box = type == napi_object ? lt_unwrap(env, value) : NULL;
  lt_ok(env, napi_get_boolean(env, box && box->kind == LT_TENSOR, &result));
  return result;
}

static bool define_class(napi_env env, napi_value exports, lt_type kind, napi_value class) {
#define PROPERTY(name, what)                                                    \
  {                                                                             \
    name, NULL, NULL, get_property, NULL, NULL, napi_configurable, (void *)what \
  }
  const napi_property_descriptor members[] = {
      PROPERTY("shape", SHAPE),   PROPERTY("strides", STRIDES),
      PROPERTY("dtype", DTYPE),   PROPERTY("device", DEVICE),
      PROPERTY("layout", LAYOUT), PROPERTY("ndim", NDIM),
      PROPERTY("numel", NUMEL),   PROPERTY("storageOffset", OFFSET),
  };
#undef PROPERTY
  napi_value prototype;
  lt_box *gone = &lt_get_env(env)->gone[kind];
  gone->kind = (uint8_t)kind, gone->disposed = true;
  return lt_ok(env, napi_get_named_property(env, class, "prototype", &prototype)) &&
         (kind != LT_TENSOR ||
          lt_ok(env, napi_define_properties(env, prototype, sizeof members / sizeof *members,
                                            members))) &&
         lt_ok(env, napi_set_named_property(env, exports, class_names[kind], class));
}

bool lt_define_classes(napi_env env, napi_value exports, const napi_value *classes) {
  const napi_property_descriptor functions[] = {
      {"enterScope", NULL, enter, NULL, NULL, NULL, napi_default, NULL},
      {"leaveScope", NULL, leave, NULL, NULL, NULL, napi_default, NULL},
      {"releaseFromScope", NULL, release, NULL, NULL, NULL, napi_default, NULL},
      {"disposeBox", NULL, dispose_box, NULL, NULL, NULL, napi_default, NULL},
      {"isTensor", NULL, is_tensor, NULL, NULL, NULL, napi_default_jsproperty, NULL},
  };
  lt_get_env(env)->patience = LEAST_GARBAGE;
  for (int kind = LT_TENSOR; kind < LT_CLASSES; kind++)
    if (!define_class(env, exports, kind, classes[kind])) return false;
  return lt_ok(env, napi_define_properties(env, exports, sizeof functions / sizeof *functions,
                                           functions));
}
