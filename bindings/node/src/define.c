// The functions and methods of the operators, as lib/classes.js finds them.
#include <stdio.h>

#include "addon.h"

// The object for the last part of path, created if missing, and that part.
static bool find_place(napi_env env, napi_value exports, const char *path, napi_value *object,
                       const char **last) {
  *object = exports;
  for (const char *dot; (dot = strchr(path, '.')); path = dot + 1) {
    napi_value key, next;
    bool has;
    if (!lt_ok(env, napi_create_string_utf8(env, path, (size_t)(dot - path), &key)) ||
        !lt_ok(env, napi_has_own_property(env, *object, key, &has)))
      return false;
    if (has ? !lt_ok(env, napi_get_property(env, *object, key, &next))
            : !lt_ok(env, napi_create_object(env, &next)) ||
                  !lt_ok(env, napi_set_property(env, *object, key, next)))
      return false;
    *object = next;
  }
  *last = path;
  return true;
}

// The number of required arguments, for the function's length.
static double needed_arguments(const lt_binding *binding) {
  const lt_overload *op = binding->entry->overloads;
  int needed = -binding->method;
  for (int i = 0; i < op->positional_count; i++)
    needed += !(op->arguments[i].flags & LT_HAS_DEFAULT);
  return needed > 0 ? needed : 0;
}

// Whether the result of a binding is a new tensor for each call.
static bool makes_tensor(const lt_binding *binding) {
  bool makes = binding->mode == LT_FUNCTION;
  for (int i = 0; i < binding->entry->count; i++) {
    const lt_overload *op = &binding->entry->overloads[i];
    makes = makes && op->result_count == 1 && op->results[0].type == LT_TENSOR &&
            !(op->results[0].flags & LT_IS_LIST);
  }
  return makes;
}

// The function of lib/classes.js that notes the arguments of one.
static bool note_arguments(napi_env env, const lt_env *e, const lt_binding *binding,
                           napi_value *function) {
  napi_value noting, arguments[2] = {*function};
  return lt_ok(env, napi_get_reference_value(env, e->noting, &noting)) &&
         lt_ok(env, napi_get_boolean(env, makes_tensor(binding), &arguments[1])) &&
         lt_ok(env, napi_call_function(env, noting, noting, 2, arguments, function));
}

static bool define(napi_env env, const lt_env *e, lt_binding *binding, napi_value object,
                   const char *name, const char *suffix) {
  char full[96];
  snprintf(full, sizeof full, "%s%s", name, suffix);
  if (!binding->name) {  // an attempt to load the package that failed may have given it one
    char *called_as = malloc(strlen(binding->entry->path) + strlen(suffix) + 1);
    if (!called_as) return false;
    binding->name = strcat(strcpy(called_as, binding->entry->path), suffix);
  }
  napi_callback callback = binding->async                         ? lt_invoke_async
                           : strcmp(name, "setDefaultDtype") == 0 ? lt_set_default_dtype
                                                                  : lt_invoke;
  napi_value function, length, called;
  if (!lt_ok(env,
             napi_create_function(env, full, NAPI_AUTO_LENGTH, callback, binding, &function)) ||
      (callback == lt_invoke && !note_arguments(env, e, binding, &function)) ||
      !lt_ok(env, napi_create_double(env, needed_arguments(binding), &length)) ||
      !lt_ok(env, napi_create_string_utf8(env, full, NAPI_AUTO_LENGTH, &called)))
    return false;
  const napi_property_descriptor of_function[] = {
      {"length", NULL, NULL, NULL, NULL, length, napi_configurable, NULL},
      {"name", NULL, NULL, NULL, NULL, called, napi_configurable, NULL}};
  const napi_property_descriptor of_object = {
      full,
      NULL,
      NULL,
      NULL,
      NULL,
      function,
      binding->method ? napi_default_method : napi_default_jsproperty,
      NULL};
  return lt_ok(env, napi_define_properties(env, function, 2, of_function)) &&
         lt_ok(env, napi_define_properties(env, object, 1, &of_object));
}

static bool prototype_of(napi_env env, napi_value exports, const char *class,
                         napi_value *prototype) {
  napi_value constructor;
  return lt_ok(env, napi_get_named_property(env, exports, class, &constructor)) &&
         lt_ok(env, napi_get_named_property(env, constructor, "prototype", prototype));
}

// The objects that methods are defined on.
typedef struct prototypes {
  napi_value tensor, storage, generator;
} prototypes;

static bool define_entry(napi_env env, const lt_env *e, lt_binding **next, napi_value exports,
                         const prototypes *p, const lt_entry *entry) {
  napi_value object;
  const char *name;
  if (!find_place(env, exports, entry->path, &object, &name)) return false;
  if (entry->forms & LT_AS_FUNCTION) {
    **next = (lt_binding){(*next)->name, entry, LT_FUNCTION, false, false};
    if (!define(env, e, (*next)++, object, name, "")) return false;
  }
  if (entry->forms & LT_AS_FUNCTION && entry->forms & LT_AS_ASYNC) {
    **next = (lt_binding){(*next)->name, entry, LT_FUNCTION, false, true};
    if (!define(env, e, (*next)++, object, name, "Async")) return false;
  }
  if (entry->forms & LT_AS_METHOD) {
    napi_value class = entry->forms & LT_AS_STORAGE     ? p->storage
                       : entry->forms & LT_AS_GENERATOR ? p->generator
                                                        : p->tensor;
    **next = (lt_binding){(*next)->name, entry, LT_FUNCTION, true, false};
    if (!define(env, e, (*next)++, class, name, "")) return false;
  }
  // In-place forms of a namespace are in the namespace, too: a method of that name could be another
  // operator's.
  bool method = name == entry->path;
  napi_value place = method ? p->tensor : object;
  if (entry->forms & LT_AS_INPLACE) {
    **next = (lt_binding){(*next)->name, entry, LT_INPLACE, method, false};
    if (!define(env, e, (*next)++, place, name, "_")) return false;
  }
  if (entry->forms & LT_AS_INPLACE && entry->forms & LT_AS_ASYNC) {
    **next = (lt_binding){(*next)->name, entry, LT_INPLACE, method, true};
    if (!define(env, e, (*next)++, place, name, "_Async")) return false;
  }
  return true;
}

bool lt_define_operators(napi_env env, lt_env *e, napi_value exports) {
  prototypes p;
  if (!prototype_of(env, exports, "Tensor", &p.tensor) ||
      !prototype_of(env, exports, "Storage", &p.storage) ||
      !prototype_of(env, exports, "Generator", &p.generator))
    return false;
  size_t count;
  const lt_entry *entries = lt_read_table(&count);
  if (entries && !e->bindings) e->bindings = calloc(5 * count + 1, sizeof *e->bindings);
  lt_binding *next = e->bindings;
  if (!next) {
    lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for the operators");
    return false;
  }
  bool defined = true;
  for (size_t i = 0; defined && i < count; i++) {
    napi_handle_scope scope;
    if (!lt_ok(env, napi_open_handle_scope(env, &scope))) return false;
    // A worker may be terminated in between, which every call of Node-API fails with.
    const char *name = entries[i].overloads->name;
    if (strcmp(name, "indexGet") == 0) e->index = entries[i].overloads;
    if (strcmp(name, "select") == 0) e->select = entries[i].overloads;
    if (strcmp(name, "slice") == 0) e->slice = entries[i].overloads;
    defined = define_entry(env, e, &next, exports, &p, &entries[i]);
    napi_close_handle_scope(env, scope);
  }
  const napi_property_descriptor function = {"indexNoted", NULL, lt_index_noted, NULL,
                                             NULL,         NULL, napi_default,   NULL};
  return defined && lt_ok(env, napi_define_properties(env, exports, 1, &function));
}
