// The module: environments and the values that are no operators.
#include "addon.h"

lt_env *lt_get_env(napi_env env) {
  void *e = NULL;
  napi_get_instance_data(env, &e);
  return e;
}

static void delete_references(napi_env env, lt_env *e) {
  const napi_ref others[] = {e->reader, e->writer, e->collector, e->cells, e->raised};
  for (int i = 0; i < LT_CLASSES; i++)
    if (e->makers[i]) napi_delete_reference(env, e->makers[i]);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i]) napi_delete_reference(env, others[i]);
}

static void close_env(napi_env env, void *data, void *hint) {
  (void)hint;
  lt_env *e = data;
  lt_close_warnings();
  delete_references(env, e);
  while (e->scope) {
    lt_scope *outer = e->scope->outer;
    free(e->scope);
    e->scope = outer;
  }
  while (e->saving) {
    // The worker was terminated between their push and their pop.
    lt_drop_saving(e);
    tensor_pop_saved_tensors_hooks();
  }
  for (size_t i = 0; i < e->memory_room; i++)
    for (lt_memory *m = e->memories[i], *next; m; m = next) {
      next = m->next;
      if (m->buffer) lt_release_buffer(env, m->buffer);
      free(m);
    }
  lt_close_inbox(env, e);
  free(e->memories);
  free(e->bindings);
  lt_free_async(e);
  lt_free_pool(e->pool);
  free(e);
}

static napi_value live_handles(napi_env env, napi_callback_info info) {
  (void)info;
  return lt_from_int(env, tensor_live_handles());
}

// accountedBytes(): what V8 has been told, or will be, of this environment's memory.
static napi_value accounted_bytes(napi_env env, napi_callback_info info) {
  (void)info;
  return lt_from_int(env, lt_get_env(env)->bytes);
}

static napi_value dtype_size(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value value;
  char name[16];
  tensor_dtype dtype = TENSOR_DTYPE_NONE;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &value, NULL, NULL))) return NULL;
  if (lt_short_text(env, value, name, sizeof name)) lt_read_dtype(name, &dtype);
  return lt_from_int(env, tensor_dtype_size(dtype));
}

static bool keep_items(napi_env env, napi_value array, napi_value *items, napi_ref *references) {
  for (uint32_t i = 0; i < LT_CLASSES; i++)
    if (!lt_ok(env, napi_get_element(env, array, i, &items[i])) ||
        (references && !lt_ok(env, napi_create_reference(env, items[i], 1, &references[i]))))
      return false;
  return true;
}

// install(exports, classes, makers, reader, writer, cell, collector): takes what lib/classes.js has,
// by kind where there are several, and defines all the rest.
static napi_value install(napi_env env, napi_callback_info info) {
  enum { EXPORTS, CLASSES, MAKERS, READER, WRITER, CELL, COLLECTOR, COUNT };
  size_t argc = COUNT, offset, length;
  napi_value argv[COUNT], classes[LT_CLASSES], makers[LT_CLASSES], buffer;
  napi_typedarray_type type;
  void *cell;
  lt_env *e = lt_get_env(env);
  const napi_property_descriptor functions[] = {
      {"liveHandles", NULL, live_handles, NULL, NULL, NULL, napi_default_jsproperty, NULL},
      {"accountedBytes", NULL, accounted_bytes, NULL, NULL, NULL, napi_default, NULL},
      {"dtypeSize", NULL, dtype_size, NULL, NULL, NULL, napi_default_jsproperty, NULL},
  };
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL)) ||
      !keep_items(env, argv[CLASSES], classes, NULL) ||
      !keep_items(env, argv[MAKERS], makers, e->makers) ||
      !lt_ok(env, napi_create_reference(env, argv[READER], 1, &e->reader)) ||
      !lt_ok(env, napi_create_reference(env, argv[WRITER], 1, &e->writer)) ||
      !lt_ok(env, napi_create_reference(env, argv[CELL], 1, &e->cells)) ||
      !lt_ok(env, napi_create_reference(env, argv[COLLECTOR], 1, &e->collector)) ||
      !lt_ok(env, napi_get_typedarray_info(env, argv[CELL], &type, &length, &cell, &buffer,
                                           &offset)))
    return NULL;
  e->cell = cell;
  if (!lt_define_classes(env, argv[EXPORTS], classes) || !lt_define_buffers(env, argv[EXPORTS]) ||
      !lt_define_nested(env, argv[EXPORTS]) || !lt_define_operators(env, e, argv[EXPORTS]) ||
      !lt_define_hooks(env, argv[EXPORTS]) || !lt_open_async(env, e, argv[EXPORTS]) ||
      !lt_ok(env, napi_define_properties(env, argv[EXPORTS], sizeof functions / sizeof *functions,
                                         functions)))
    return NULL;
  lt_open_warnings(e);
  return NULL;
}

NAPI_MODULE_INIT() {
  lt_env *e = calloc(1, sizeof *e);
  if (!e || !(e->pool = lt_new_pool())) {
    free(e);
    return lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for the environment");
  }
  e->default_dtype = TENSOR_FLOAT32;
  const napi_property_descriptor start = {"install", NULL, install,      NULL,
                                          NULL,      NULL, napi_default, NULL};
  if (!lt_open_inbox(env, e) || !lt_ok(env, napi_set_instance_data(env, e, close_env, NULL)) ||
      !lt_ok(env, napi_define_properties(env, exports, 1, &start)))
    return NULL;
  return exports;
}
