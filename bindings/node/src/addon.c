// The module: environments and the values that are no operators.
#include <dlfcn.h>

#include "addon.h"

static void delete_reference(napi_env env, napi_ref *reference) {
  if (*reference) napi_delete_reference(env, *reference);
  *reference = NULL;
}

// Releases the parts of lib/classes.js.
static void leave_parts(napi_env env, lt_env *e) {
  napi_ref *const all[] = {&e->reader,    &e->writer, &e->collector, &e->noting, &e->watch,
                           &e->to_tensor, &e->list,   &e->fail,      &e->parts,  &e->unwatch};
  for (int i = 0; i < LT_CLASSES; i++) delete_reference(env, &e->makers[i]);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) delete_reference(env, all[i]);
}

static void close_env(napi_env env, void *data, void *hint) {
  (void)hint;
  lt_env *e = data;
  lt_close_warnings(e);
  lt_remove_operators(e);
  leave_parts(env, e);
  delete_reference(env, &e->cells);
  delete_reference(env, &e->raised);
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
  for (lt_binding *b = e->bindings; b && b->name; b++) free((char *)b->name);
  free(e->bindings);
  lt_free_async(e);
  if (!e->eager) return;  // finalizers may still run, as in Deno
  lt_free_pool(e->pool);
  free(e);
}

static napi_value live_handles(napi_env env, napi_callback_info info) {
  (void)info;
  return lt_from_int(env, tensor_live_handles());
}

// accountedBytes(): the memory of this environment that is, or will be, reported to V8.
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

static bool get(napi_env env, napi_value object, const char *name, napi_value *value) {
  return lt_ok(env, napi_get_named_property(env, object, name, value));
}

static bool keep(napi_env env, napi_value object, const char *name, napi_ref *reference) {
  napi_value value;
  return get(env, object, name, &value) &&
         lt_ok(env, napi_create_reference(env, value, 0, reference));
}

// Keeps the parts of lib/classes.js other than the classes.
static bool keep_parts(napi_env env, lt_env *e, napi_value parts) {
  napi_value makers, maker, eager;
  leave_parts(env, e);  // of an attempt that failed
  if (!get(env, parts, "makers", &makers)) return false;
  for (uint32_t i = 0; i < LT_CLASSES; i++)
    if (!lt_ok(env, napi_get_element(env, makers, i, &maker)) ||
        !lt_ok(env, napi_create_reference(env, maker, 0, &e->makers[i])))
      return false;
  return keep(env, parts, "read", &e->reader) && keep(env, parts, "write", &e->writer) &&
         keep(env, parts, "collect", &e->collector) && keep(env, parts, "noting", &e->noting) &&
         keep(env, parts, "watch", &e->watch) && keep(env, parts, "unwatch", &e->unwatch) &&
         keep(env, parts, "toTensor", &e->to_tensor) && keep(env, parts, "fail", &e->fail) &&
         keep(env, parts, "list", &e->list) &&
         lt_ok(env, napi_create_reference(env, parts, 0, &e->parts)) &&
         get(env, parts, "isEager", &eager) &&
         lt_ok(env, napi_get_value_bool(env, eager, &e->eager));
}

static bool name_dtypes(napi_env env, napi_value parts) {
  napi_value names;
  if (!get(env, parts, "dtypes", &names)) return false;
  for (int d = TENSOR_BOOL; tensor_dtype_size((tensor_dtype)d) > 0; d++) {
    napi_value name = lt_from_text(env, tensor_dtype_name((tensor_dtype)d));
    if (!name || !lt_ok(env, napi_set_element(env, names, (uint32_t)d, name))) return false;
  }
  return true;
}

// install(exports, the parts of lib/classes.js): defines all the rest.
static napi_value install(napi_env env, napi_callback_info info) {
  size_t argc = 2;
  napi_value argv[2], list, classes[LT_CLASSES];
  lt_env *e = lt_get_env(env);
  const napi_property_descriptor functions[] = {
      {"liveHandles", NULL, live_handles, NULL, NULL, NULL, napi_default_jsproperty, NULL},
      {"accountedBytes", NULL, accounted_bytes, NULL, NULL, NULL, napi_default, NULL},
      {"call", NULL, lt_call_named, NULL, NULL, NULL, napi_default_jsproperty, NULL},
      {"operatorSchemas", NULL, lt_schema_of, NULL, NULL, NULL, napi_default_jsproperty, NULL},
      {"dtypeSize", NULL, dtype_size, NULL, NULL, NULL, napi_default_jsproperty, NULL},
  };
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL)) ||
      !keep_parts(env, e, argv[1]) || !name_dtypes(env, argv[1]) ||
      !get(env, argv[1], "classes", &list))
    return NULL;
  for (uint32_t i = 0; i < LT_CLASSES; i++)
    if (!lt_ok(env, napi_get_element(env, list, i, &classes[i]))) return NULL;
  napi_value exports = argv[0];
  if (!lt_define_classes(env, exports, classes) || !lt_define_buffers(env, exports) ||
      !lt_define_nested(env, exports) || !lt_define_operators(env, e, exports) ||
      !lt_define_hooks(env, exports) || !lt_define_programs(env, exports) ||
      !lt_define_custom(env, exports) || !lt_open_async(env, e, exports) ||
      !lt_ok(env,
             napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions)))
    return NULL;
  lt_open_warnings(e);
  return NULL;
}

// The memory that lib/classes.js and the addon hand each other numbers by.
static bool make_cells(napi_env env, lt_env *e, napi_value *buffer) {
  const size_t bytes = LT_CELL_NUMBERS * sizeof *e->cell + LT_CELL_NUMBERS * sizeof *e->numbers;
  void *data;
  if (!lt_ok(env, napi_create_arraybuffer(env, bytes, &data, buffer)) ||
      !lt_ok(env, napi_create_reference(env, *buffer, 1, &e->cells)))
    return false;
  e->cell = memset(data, 0, bytes);
  e->numbers = (double *)(e->cell + LT_CELL_NUMBERS);
  return true;
}

// The path of the addon, by which another copy of the package opens an instance for itself.
static napi_value path_of_addon(napi_env env) {
  Dl_info found;
  return lt_from_text(env, dladdr((void *)path_of_addon, &found) ? found.dli_fname : "");
}

NAPI_MODULE_INIT() {
  napi_value memory, file;
  lt_env *e = calloc(1, sizeof *e);
  if (!e || !(e->pool = lt_new_pool())) {
    free(e);
    napi_throw_error(env, "TENSOR_ERROR_MEMORY", "no memory for the environment");
    return NULL;
  }
  e->default_dtype = TENSOR_FLOAT32, e->thread = pthread_self();
  if (!lt_open_inbox(env, e) || !lt_ok(env, napi_set_instance_data(env, e, close_env, NULL)) ||
      !make_cells(env, e, &memory) || !(file = path_of_addon(env)))
    return NULL;
  const napi_property_descriptor start[] = {
      {"install", NULL, install, NULL, NULL, NULL, napi_default, NULL},
      {"memory", NULL, NULL, NULL, NULL, memory, napi_default, NULL},
      {"file", NULL, NULL, NULL, NULL, file, napi_default, NULL}};
  if (!lt_ok(env, napi_define_properties(env, exports, sizeof start / sizeof *start, start)))
    return NULL;
  return exports;
}
