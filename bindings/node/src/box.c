// The classes Tensor, Storage, Generator and Node: owners of handles, freed by dispose(), by a
// scope, or by the collector.
#include <stdio.h>

#include "addon.h"

static const char *const class_names[] = {"Tensor", "Storage", "Generator", "Node"};

enum {
  LEAST_BOXES = 1 << 13,     // new handles before garbage is looked for
  LEAST_GARBAGE = 32 << 20,  // bytes of new memory before garbage is looked for
  MOST_GARBAGE = 256 << 20,
  MOST_IDLE = 256
};

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
  if (box->idle)
    e->idle_boxes--;
  else
    e->boxes--;
  if (box->users == 0) lt_free_box(e->pool, box);
}

static void let_go(napi_env env, lt_env *e, lt_box *box) {
  box->disposed = true;
  leave_scope(box);
  if (box->users == 0) free_handle(env, e, box);
  lt_drain_inbox(env, e);
}

// The number that a disposed object has in place of its box's.
static int32_t gone_number(const lt_box *box) { return -1 - box->kind; }

// Frees the handle, and Node's reference to the object, whose finalizer would otherwise run in a
// later turn of the event loop, after a long loop. If a finalizer runs in any case, it does the
// rest.
static void dispose(napi_env env, lt_env *e, lt_box *box) {
  if (box->disposed) return;
  if (e->eager) napi_delete_reference(env, box->object);
  let_go(env, e, box);
  if (e->eager) forget(e, box);
}

// Whether the handle of a box can be used again: no call uses the box, and not too many wait.
static bool is_reusable(const lt_env *e, const lt_box *box) {
  return box->shared && !box->disposed && box->users == 0 && e->eager && !lt_keeps_boxes(e->pool) &&
         e->idle_boxes < MOST_IDLE;
}

// Frees the handle as dispose does, but keeps the finalizer for the next object.
static void make_idle(napi_env env, lt_env *e, lt_box *box) {
  let_go(env, e, box);
  box->idle = true;
  e->idle_boxes++;
  e->boxes--;
}

// Disposes a box and marks its object, if it is alive.
static void dispose_object(napi_env env, lt_env *e, lt_box *box) {
  napi_value object, writer, result;
  bool reusable = is_reusable(e, box), marked = false;
  if (napi_get_reference_value(env, box->object, &object) == napi_ok && object &&
      napi_get_reference_value(env, e->writer, &writer) == napi_ok) {
    e->cell[LT_CELL_READ] = gone_number(box);
    e->cell[LT_CELL_HANDLE] = reusable;
    marked = napi_call_function(env, object, writer, 1, &object, &result) == napi_ok;
  }
  if (reusable && marked)
    make_idle(env, e, box);
  else
    dispose(env, e, box);
}

static void finalize(napi_env env, void *data, void *hint) {
  (void)hint;
  lt_box *box = data;
  lt_env *e = lt_get_env(env);
  if (!e || e->closing) return;
  napi_delete_reference(env, box->object);
  if (!box->disposed) let_go(env, e, box);
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
      if (!box->disposed && napi_get_reference_value(env, box->object, &object) == napi_ok &&
          !object)
        dispose(env, e, box);
      box = older;
    }
    napi_close_handle_scope(env, handles);
  }
}

static void collect(napi_env env, lt_env *e, bool all) {
  napi_value collector, undefined, argument, result;
  if (!e->collector || napi_get_reference_value(env, e->collector, &collector) != napi_ok ||
      !collector || napi_get_undefined(env, &undefined) != napi_ok ||
      napi_get_boolean(env, all, &argument) != napi_ok)
    return;
  napi_call_function(env, undefined, collector, 1, &argument, &result);
  // A failure of the collector, such as a stack overflow, does not fail the call.
  napi_get_and_clear_last_exception(env, &result);
  sweep(env, e);
}

// V8 sees small objects, not the memory behind them, and does not collect them. So garbage is
// collected here when memory has grown by a quarter, or handles by half: young objects first, which
// takes a fraction of a millisecond, and all if that does not suffice. If nothing was garbage, the
// next collection is later.
void lt_make_room(napi_env env, lt_env *e) {
  if (e->bytes < e->kept_bytes) e->kept_bytes = e->bytes;
  if (e->boxes < e->kept_boxes) e->kept_boxes = e->boxes;
  int64_t quarter = e->kept_bytes / 4, half = e->kept_boxes / 2;
  int64_t allowed = quarter > e->patience ? quarter : e->patience;
  if (e->bytes - e->kept_bytes > allowed) {
    int64_t before = e->bytes;
    collect(env, e, false);
    if (e->bytes - e->kept_bytes > allowed / 2) collect(env, e, true);
    bool garbage = before - e->bytes > allowed / 2;
    e->patience = garbage ? LEAST_GARBAGE : 2 * e->patience;
    if (e->patience > MOST_GARBAGE) e->patience = MOST_GARBAGE;
    e->kept_bytes = e->bytes;
  } else if (e->boxes - e->kept_boxes > (half > LEAST_BOXES ? half : LEAST_BOXES)) {
    collect(env, e, false);
  } else {
    return;
  }
  e->kept_boxes = e->boxes;
}

static lt_facts facts_of(const tensor_t *t) {
  return (lt_facts){tensor_get_dtype(t), tensor_get_device(t),     tensor_get_layout(t),
                    tensor_numel(t),     tensor_storage_offset(t), tensor_dim(t),
                    tensor_sizes(t),     tensor_strides(t)};
}

void lt_begin_writing(lt_box *box) {
  box->writing = true;
  if (box->kind != LT_TENSOR || box->before) return;
  lt_facts f = facts_of(box->handle);
  size_t bytes = (size_t)f.dim * sizeof(int64_t);
  if (!(box->before = malloc(sizeof f + 2 * bytes))) return;
  int64_t *sizes = (int64_t *)(box->before + 1);
  memcpy(sizes, f.sizes, bytes);
  memcpy(sizes + f.dim, f.strides, bytes);
  f.sizes = sizes, f.strides = sizes + f.dim;
  *box->before = f;
}

void lt_end_writing(lt_box *box) {
  box->writing = false;
  free(box->before);
  box->before = NULL;
}

void lt_use(lt_box *box) { box->users++; }

void lt_unuse(napi_env env, lt_box *box) {
  if (--box->users > 0) return;
  lt_env *e = lt_get_env(env);
  if (box->disposed && box->handle) free_handle(env, e, box);
  if (!box->wrapped) lt_free_box(e->pool, box);
}

// Makes an object the owner of a box.
static bool own(napi_env env, lt_env *e, lt_box *box, napi_value object) {
  if (!lt_ok(env, napi_add_finalizer(env, object, box, finalize, NULL, &box->object))) return false;
  box->wrapped = true;
  box->older = e->newest;
  if (box->older) box->older->newer = box;
  e->newest = box;
  e->boxes++;
  if (e->scope) enter_scope(box, e->scope);
  return true;
}

static void drop(napi_env env, lt_env *e, lt_box *box) {
  free_handle(env, e, box);
  lt_free_box(e->pool, box);
}

static lt_box *make_box(napi_env env, lt_env *e, lt_type kind, void *handle, const lt_call *call) {
  lt_box *box = lt_new_box(e->pool);
  if (!box) {
    lt_free_handle(kind, handle);
    lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for a handle");
    return NULL;
  }
  box->kind = kind, box->handle = handle;
  lt_attach(env, e, box, call);
  return box;
}

napi_value lt_wrap(napi_env env, lt_type kind, void *handle, const lt_call *call) {
  napi_value maker, object = NULL;
  if (!handle)  // a result that is absent
    return napi_get_null(env, &object) == napi_ok ? object : NULL;
  lt_env *e = lt_get_env(env);
  lt_box *box = make_box(env, e, kind, handle, call);
  if (!box) return NULL;
  e->cell[LT_CELL_MADE] = box->number;
  if (lt_ok(env, napi_get_reference_value(env, e->makers[kind], &maker)) &&
      lt_ok(env, napi_call_function(env, maker, maker, 0, NULL, &object)) &&
      own(env, e, box, object))
    return object;
  e->cell[LT_CELL_MADE] = 0;
  drop(env, e, box);
  return NULL;
}

// Has the idle box of a handle own a tensor.
static int32_t reuse(napi_env env, lt_env *e, tensor_t *handle, const lt_call *call) {
  lt_box *box = lt_box_at(e->pool, call->reused);
  *box = (lt_box){.handle = handle,
                  .number = box->number,
                  .kind = LT_TENSOR,
                  .wrapped = true,
                  .shared = true,
                  .object = box->object,
                  .older = box->older,
                  .newer = box->newer};
  e->idle_boxes--;
  e->boxes++;
  lt_attach(env, e, box, call);
  if (e->scope) enter_scope(box, e->scope);
  return box->number;
}

int32_t lt_wrap_result(napi_env env, tensor_t *handle, const lt_call *call, napi_value object) {
  lt_env *e = lt_get_env(env);
  if (call->reused) return reuse(env, e, handle, call);
  lt_box *box = make_box(env, e, LT_TENSOR, handle, call);
  if (!box) return 0;
  box->shared = true;
  if (own(env, e, box, object)) return box->number;
  drop(env, e, box);
  return 0;
}

lt_box *lt_box_of(lt_env *e, int32_t number) {
  if (number > 0) return lt_box_at(e->pool, number);
  return number < 0 && number >= -LT_CLASSES ? &e->gone[-1 - number] : NULL;
}

lt_box *lt_unwrap(napi_env env, napi_value object) {
  lt_env *e = lt_get_env(env);
  napi_value reader, result;
  e->cell[LT_CELL_READ] = 0;
  if (napi_get_reference_value(env, e->reader, &reader) != napi_ok ||
      napi_call_function(env, object, reader, 1, &object, &result) != napi_ok)
    return NULL;
  return lt_box_of(e, e->cell[LT_CELL_READ]);
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
    state = "shares an ArrayBuffer that was transferred";
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

// disposeBox(): releases the box with the number in the cell, and stores the object's new number
// there, and whether its handle can be used again.
static napi_value dispose_box(napi_env env, napi_callback_info info) {
  (void)info;
  lt_env *e = lt_get_env(env);
  lt_box *box = lt_box_at(e->pool, e->cell[LT_CELL_READ]);
  int32_t gone = gone_number(box);
  const bool reusable = is_reusable(e, box);
  if (reusable)
    make_idle(env, e, box);
  else
    dispose(env, e, box);
  e->cell[LT_CELL_READ] = gone;
  e->cell[LT_CELL_HANDLE] = reusable;
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

// Integers by way of the cell where they fit, as an array otherwise.
static napi_value integers(napi_env env, const lt_env *e, const int64_t *values, int64_t n) {
  bool fit = n <= LT_CELL_NUMBERS;
  for (int64_t i = 0; i < n && fit; i++)
    fit = values[i] <= (int64_t)1 << 53 && values[i] >= -((int64_t)1 << 53);
  if (!fit) return int_array(env, values, n);
  for (int64_t i = 0; i < n; i++) e->numbers[i] = (double)values[i];
  e->cell[LT_CELL_READ] = (int32_t)n;
  return NULL;
}

static napi_value integer(napi_env env, const lt_env *e, int64_t value) {
  if (value > (int64_t)1 << 53 || value < -((int64_t)1 << 53)) return lt_from_int(env, value);
  e->numbers[0] = (double)value;
  return NULL;
}

// look(number of a box, property): returns undefined if the result is in the cell.
static napi_value look(napi_env env, napi_callback_info info) {
  static const char *const names[] = {"shape",  "strides", "dtype", "device",
                                      "layout", "ndim",    "numel", "storageOffset"};
  size_t argc = 2;
  napi_value argv[2];
  int32_t number, p;
  lt_env *e = lt_get_env(env);
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL)) ||
      !lt_ok(env, napi_get_value_int32(env, argv[0], &number)) ||
      !lt_ok(env, napi_get_value_int32(env, argv[1], &p)))
    return NULL;
  lt_box *box = lt_box_of(e, number);
  if (!box || box->kind != LT_TENSOR) {
    lt_throw_type(env, "%s is a property of tensors", names[p]);
    return NULL;
  }
  // A call that writes may change sizes on its thread: until it has ended, the old ones are
  // returned.
  lt_facts now;
  if (box->disposed || !box->before) {
    if (!lt_check_box(env, names[p], "self", box, LT_LOOKS)) return NULL;
    now = facts_of(box->handle);
  }
  const lt_facts *f = !box->disposed && box->before ? box->before : &now;
  switch ((property)p) {
    case SHAPE:
      return integers(env, e, f->sizes, f->dim);
    case STRIDES:
      return integers(env, e, f->strides, f->dim);
    case DTYPE:
      e->cell[LT_CELL_READ] = f->dtype;
      return NULL;
    case DEVICE:
      return lt_from_device(env, f->device);
    case LAYOUT:
      return lt_from_text(env, lt_layout_name(f->layout));
    case NDIM:
      return integer(env, e, f->dim);
    case NUMEL:
      return integer(env, e, f->numel);
    case OFFSET:
      return integer(env, e, f->offset);
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

// leaveScope(kept): disposes the tensors created in the innermost scope, except those in the array
// kept, which the outer scope takes over.
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

bool lt_define_classes(napi_env env, napi_value exports, const napi_value *classes) {
  const napi_property_descriptor functions[] = {
      {"enterScope", NULL, enter, NULL, NULL, NULL, napi_default, NULL},
      {"leaveScope", NULL, leave, NULL, NULL, NULL, napi_default, NULL},
      {"releaseFromScope", NULL, release, NULL, NULL, NULL, napi_default, NULL},
      {"disposeBox", NULL, dispose_box, NULL, NULL, NULL, napi_default, NULL},
      {"look", NULL, look, NULL, NULL, NULL, napi_default, NULL},
      {"isTensor", NULL, is_tensor, NULL, NULL, NULL, napi_default_jsproperty, NULL},
  };
  lt_env *e = lt_get_env(env);
  e->patience = LEAST_GARBAGE;
  for (int kind = LT_TENSOR; kind < LT_CLASSES; kind++) {
    e->gone[kind].kind = (uint8_t)kind, e->gone[kind].disposed = true;
    if (!lt_ok(env, napi_set_named_property(env, exports, class_names[kind], classes[kind])))
      return false;
  }
  return lt_ok(
      env, napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions));
}
