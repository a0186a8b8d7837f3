// What the generated exports are written with: each macro checks one argument and returns from the
// export on failure.
#ifndef LIBTENSOR_CAPI_EXPORT_H
#define LIBTENSOR_CAPI_EXPORT_H

#include "handle.h"

#define LT_REQUIRED(value, handle, kind, op, argument) \
  if (!((value).slot = lt_resolve(handle, kind, op, argument))) return TENSOR_ERROR_HANDLE
#define LT_OPTIONAL(value, handle, kind, op, argument) \
  if (!lt_resolve_optional(handle, kind, op, argument, &(value).slot)) return TENSOR_ERROR_HANDLE
#define LT_OUTPUT(slot, handle, op, argument) \
  if (!((slot) = lt_resolve(handle, LT_TENSOR, op, argument))) return TENSOR_ERROR_HANDLE
#define LT_LIST(handles, length, optional, op, argument) \
  if (!lt_check_list(handles, length, optional, op, argument)) return TENSOR_ERROR_HANDLE
#define LT_TEXTS(texts, length, op, argument) \
  if (!lt_check_texts(texts, length, op, argument)) return TENSOR_ERROR_VALUE
#define LT_SPAN(data, length, op, argument) \
  if (!lt_check_span(data, length, op, argument)) return TENSOR_ERROR_VALUE
#define LT_INDEX(items, length, op, argument) \
  if (!lt_check_index(items, length, op, argument)) return TENSOR_ERROR_HANDLE
#define LT_ENUM(value, low, high, op, argument) \
  if (!lt_check_range((int64_t)(value), low, high, op, argument)) return TENSOR_ERROR_VALUE
#define LT_DTYPE(value, op, argument) \
  if (!lt_check_dtype((int64_t)(value), op, argument)) return TENSOR_ERROR_VALUE
#define LT_MUST 1
#define LT_MAYBE 0
#define LT_SCALAR(scalar, low, op, argument) \
  LT_ENUM((scalar).kind, low, TENSOR_SCALAR_UINT, op, argument)
#define LT_TEXT(text, op, argument) \
  if (!lt_check_pointer(text, op, argument)) return TENSOR_ERROR_VALUE
#define LT_RESULT(pointer, op, argument) LT_TEXT(pointer, op, argument)

#endif
