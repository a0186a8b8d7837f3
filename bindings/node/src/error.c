// Failed calls as JavaScript errors: one table from status to error class and code. Errors of files
// have the system's code and number, as those of node:fs have.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "addon.h"

typedef napi_status (*make_error)(napi_env, napi_value, napi_value, napi_value *);

// As in lib/classes.js.
static const make_error makers[] = {napi_create_error, napi_create_range_error,
                                    napi_create_type_error};
enum { ERROR, RANGE_ERROR, TYPE_ERROR };

static const struct {
  const char *code;
  int kind;
} kinds[] = {
    [TENSOR_ERROR_RUNTIME] = {"TENSOR_ERROR_RUNTIME", ERROR},
    [TENSOR_ERROR_VALUE] = {"TENSOR_ERROR_VALUE", RANGE_ERROR},
    [TENSOR_ERROR_TYPE] = {"TENSOR_ERROR_TYPE", TYPE_ERROR},
    [TENSOR_ERROR_INDEX] = {"TENSOR_ERROR_INDEX", RANGE_ERROR},
    [TENSOR_ERROR_NOT_IMPLEMENTED] = {"TENSOR_ERROR_NOT_IMPLEMENTED", ERROR},
    [TENSOR_ERROR_MEMORY] = {"TENSOR_ERROR_MEMORY", ERROR},
    [TENSOR_ERROR_HANDLE] = {"TENSOR_ERROR_HANDLE", ERROR},
    [TENSOR_ERROR_FORKED] = {"TENSOR_ERROR_FORKED", ERROR},
    [TENSOR_ERROR_INTERNAL] = {"TENSOR_ERROR_INTERNAL", ERROR},
    [TENSOR_ERROR_IO] = {"TENSOR_ERROR_IO", ERROR},
    [TENSOR_ERROR_CALLBACK] = {"TENSOR_ERROR_CALLBACK", ERROR},
    [TENSOR_ERROR_LINALG] = {"TENSOR_ERROR_LINALG", ERROR},
    [TENSOR_ERROR_CANCELLED] = {"TENSOR_ERROR_CANCELLED", ERROR},
};

#define NAMED(name) {name, #name}
static const struct {
  int number;
  const char *name;
} system_errors[] = {
    NAMED(EACCES), NAMED(EBADF),        NAMED(EBUSY),   NAMED(EDQUOT), NAMED(EEXIST), NAMED(EFAULT),
    NAMED(EFBIG),  NAMED(EINTR),        NAMED(EINVAL),  NAMED(EIO),    NAMED(EISDIR), NAMED(ELOOP),
    NAMED(EMFILE), NAMED(ENAMETOOLONG), NAMED(ENFILE),  NAMED(ENODEV), NAMED(ENOENT), NAMED(ENOMEM),
    NAMED(ENOSPC), NAMED(ENOTDIR),      NAMED(ENOTSUP), NAMED(ENXIO),  NAMED(EPERM),  NAMED(EPIPE),
    NAMED(EROFS),  NAMED(ESTALE),       NAMED(ETXTBSY), NAMED(EXDEV),
};
#undef NAMED

static const char *code_of(size_t status, int32_t number) {
  for (size_t i = 0; number && i < sizeof system_errors / sizeof *system_errors; i++)
    if (system_errors[i].number == number) return system_errors[i].name;
  return kinds[status].code;
}

// Has lib/classes.js make the error, in the realm of the program that has the package.
static napi_value make(napi_env env, int kind, napi_value code, napi_value text) {
  const lt_env *e = lt_get_env(env);
  napi_value function = NULL, receiver, argv[3] = {NULL, code, text}, error = NULL;
  if (e->fail && napi_get_reference_value(env, e->fail, &function) == napi_ok && function &&
      napi_get_undefined(env, &receiver) == napi_ok &&
      napi_create_int32(env, kind, &argv[0]) == napi_ok &&
      napi_call_function(env, receiver, function, 3, argv, &error) == napi_ok)
    return error;
  makers[kind](env, code, text, &error);
  return error;
}

napi_value lt_error(napi_env env, tensor_status status, int32_t number, const char *message) {
  size_t at =
      status > 0 && (size_t)status < sizeof kinds / sizeof *kinds ? status : TENSOR_ERROR_INTERNAL;
  napi_value code, text, negative, error = NULL;
  if (napi_create_string_utf8(env, code_of(at, number), NAPI_AUTO_LENGTH, &code) == napi_ok &&
      napi_create_string_utf8(env, message, NAPI_AUTO_LENGTH, &text) == napi_ok)
    error = make(env, kinds[at].kind, code, text);
  if (error && number && napi_create_int32(env, -number, &negative) == napi_ok)
    napi_set_named_property(env, error, "errno", negative);
  return error;
}

static bool pending(napi_env env) {
  bool is;
  return napi_is_exception_pending(env, &is) != napi_ok || is;
}

napi_value lt_throw_status(napi_env env, tensor_status status, const char *message) {
  if (pending(env)) return NULL;
  napi_value raised =
      status == TENSOR_ERROR_CALLBACK ? lt_take_raised(env, &lt_get_env(env)->raised) : NULL;
  if (raised) {
    napi_throw(env, raised);
    return NULL;
  }
  int32_t number = status == TENSOR_ERROR_IO ? tensor_last_errno() : 0;
  napi_value error = lt_error(env, status, number, message);
  int32_t *cell = lt_get_env(env)->cell;
  if (cell) cell[LT_CELL_FAILED] = 1;
  if (error) napi_throw(env, error);
  return NULL;
}

napi_value lt_throw_last(napi_env env, tensor_status status, const char *name) {
  char *message = lt_in_name_of(name, tensor_last_error());
  lt_throw_status(env, status, message ? message : tensor_last_error());
  free(message);
  return NULL;
}

bool lt_throw_type(napi_env env, const char *format, ...) {
  char message[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  lt_throw_status(env, TENSOR_ERROR_TYPE, message);
  return false;
}

bool lt_ok(napi_env env, napi_status status) {
  if (status == napi_ok) return true;
  const napi_extended_error_info *info = NULL;
  const char *message = "a Node-API call failed";
  if (napi_get_last_error_info(env, &info) == napi_ok && info->error_message)
    message = info->error_message;
  lt_throw_status(env, TENSOR_ERROR_INTERNAL, message);
  return false;
}
