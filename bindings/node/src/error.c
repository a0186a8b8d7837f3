// Failed calls as JavaScript errors: one table from status to error class and code.
#include <stdarg.h>
#include <stdio.h>

#include "addon.h"

typedef napi_status (*make_error)(napi_env, napi_value, napi_value, napi_value *);

static const struct {
  const char *code;
  make_error make;
} kinds[] = {
    [TENSOR_ERROR_RUNTIME] = {"TENSOR_ERROR_RUNTIME", napi_create_error},
    [TENSOR_ERROR_VALUE] = {"TENSOR_ERROR_VALUE", napi_create_range_error},
    [TENSOR_ERROR_TYPE] = {"TENSOR_ERROR_TYPE", napi_create_type_error},
    [TENSOR_ERROR_INDEX] = {"TENSOR_ERROR_INDEX", napi_create_range_error},
    [TENSOR_ERROR_NOT_IMPLEMENTED] = {"TENSOR_ERROR_NOT_IMPLEMENTED", napi_create_error},
    [TENSOR_ERROR_MEMORY] = {"TENSOR_ERROR_MEMORY", napi_create_error},
    [TENSOR_ERROR_HANDLE] = {"TENSOR_ERROR_HANDLE", napi_create_error},
    [TENSOR_ERROR_FORKED] = {"TENSOR_ERROR_FORKED", napi_create_error},
    [TENSOR_ERROR_INTERNAL] = {"TENSOR_ERROR_INTERNAL", napi_create_error},
    [TENSOR_ERROR_IO] = {"TENSOR_ERROR_IO", napi_create_error},
    [TENSOR_ERROR_CALLBACK] = {"TENSOR_ERROR_CALLBACK", napi_create_error},
    [TENSOR_ERROR_LINALG] = {"TENSOR_ERROR_LINALG", napi_create_error},
};

napi_value lt_error(napi_env env, tensor_status status, const char *message) {
  size_t at =
      status > 0 && (size_t)status < sizeof kinds / sizeof *kinds ? status : TENSOR_ERROR_INTERNAL;
  napi_value code, text, error = NULL;
  if (napi_create_string_utf8(env, kinds[at].code, NAPI_AUTO_LENGTH, &code) == napi_ok &&
      napi_create_string_utf8(env, message, NAPI_AUTO_LENGTH, &text) == napi_ok)
    kinds[at].make(env, code, text, &error);
  return error;
}

static bool pending(napi_env env) {
  bool is;
  return napi_is_exception_pending(env, &is) != napi_ok || is;
}

napi_value lt_throw_status(napi_env env, tensor_status status, const char *message) {
  if (pending(env)) return NULL;
  napi_value error = lt_error(env, status, message);
  if (error) napi_throw(env, error);
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
