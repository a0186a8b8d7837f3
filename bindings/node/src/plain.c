// Numbers, strings and the names of dtypes, devices and layouts: conversions of plain values.
#include <stdio.h>

#include "addon.h"
#include "gen_names.h"

static const char *const layouts[] = LT_LAYOUTS_BY_NUMBER;
static const char *const formats[] = LT_FORMATS_BY_NUMBER;

const char *lt_layout_name(tensor_layout layout) {
  return layout >= 0 && (size_t)layout < sizeof layouts / sizeof *layouts ? layouts[layout]
                                                                          : "none";
}

static int find_name(const char *const *names, int count, const char *text) {
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], text) == 0) return i;
  return -1;
}

bool lt_read_dtype(const char *text, tensor_dtype *dtype) {
  for (int d = 0; d < LT_DTYPES; d++)
    if (strcmp(tensor_dtype_name((tensor_dtype)d), text) == 0) {
      *dtype = (tensor_dtype)d;
      return true;
    }
  return false;
}

static bool read_device(const char *text, tensor_device *device) {
  return tensor_parse_device(text, device) == TENSOR_OK;
}

// Reads a string as a value of an enumeration; false when it names none.
bool lt_read_name(lt_type type, const char *text, lt_value *to) {
  int found;
  switch (type) {
    case LT_DTYPE: {
      tensor_dtype d;
      if (!lt_read_dtype(text, &d)) return false;
      to->i = d;
      return true;
    }
    case LT_DEVICE:
      return read_device(text, &to->device);
    case LT_LAYOUT:
      found = find_name(layouts, sizeof layouts / sizeof *layouts, text);
      break;
    case LT_FORMAT:
      found = find_name(formats, sizeof formats / sizeof *formats, text);
      break;
    default:
      return false;
  }
  to->i = found;
  return found >= 0;
}

bool lt_short_text(napi_env env, napi_value value, char *to, size_t room) {
  size_t length;
  return napi_get_value_string_utf8(env, value, to, room, &length) == napi_ok &&
         strlen(to) == length;
}

napi_value lt_from_int(napi_env env, int64_t value) {
  napi_value v = NULL;
  bool safe = value <= (int64_t)1 << 53 && value >= -((int64_t)1 << 53);
  lt_ok(env, safe ? napi_create_int64(env, value, &v) : napi_create_bigint_int64(env, value, &v));
  return v;
}

napi_value lt_from_text(napi_env env, const char *text) {
  napi_value v = NULL;
  lt_ok(env, napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &v));
  return v;
}

napi_value lt_from_device(napi_env env, tensor_device device) {
  static const char *const types[] = LT_DEVICES_BY_NUMBER;
  char text[32];
  if (device.type < 0 || device.type > TENSOR_XLA) return lt_from_text(env, "none");
  if (device.index < 0 || device.type != TENSOR_CUDA) return lt_from_text(env, types[device.type]);
  snprintf(text, sizeof text, "%s:%d", types[device.type], device.index);
  return lt_from_text(env, text);
}

napi_value lt_from_scalar(napi_env env, tensor_scalar scalar) {
  napi_value v = NULL, part;
  switch (scalar.kind) {
    case TENSOR_SCALAR_BOOL:
      lt_ok(env, napi_get_boolean(env, scalar.value.i, &v));
      return v;
    case TENSOR_SCALAR_INT:
      return lt_from_int(env, scalar.value.i);
    case TENSOR_SCALAR_UINT:
      lt_ok(env, napi_create_bigint_uint64(env, scalar.value.u, &v));
      return v;
    case TENSOR_SCALAR_FLOAT:
      lt_ok(env, napi_create_double(env, scalar.value.f.re, &v));
      return v;
    case TENSOR_SCALAR_COMPLEX:
      if (!lt_ok(env, napi_create_object(env, &v)) ||
          !lt_ok(env, napi_create_double(env, scalar.value.f.re, &part)) ||
          !lt_ok(env, napi_set_named_property(env, v, "re", part)) ||
          !lt_ok(env, napi_create_double(env, scalar.value.f.im, &part)) ||
          !lt_ok(env, napi_set_named_property(env, v, "im", part)))
        return NULL;
      return v;
    default:
      lt_ok(env, napi_get_null(env, &v));
      return v;
  }
}
