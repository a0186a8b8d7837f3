// One argument or result of a call into the engine, by its type in the schema.
#ifndef LIBTENSOR_CAPI_VALUE_H
#define LIBTENSOR_CAPI_VALUE_H

#include "../include/tensor.h"

struct lt_slot;

typedef union lt_value {
  struct lt_slot *slot;
  tensor_scalar scalar;
  int64_t i;
  double f;
  void *pointer;
  const char *text;
  tensor_device device;
  struct {
    const void *data;  // NULL when absent
    int64_t length;
  } list;
} lt_value;

// The word form of a function, tensor_words_NAME: all arguments in one array. It returns the handle
// of the one result, or a status. An in-place function returns a status, and so does one with other
// results, which it leaves in the first elements of the array: several handles, a list, a bool.
typedef intptr_t (*lt_words)(lt_value *arguments);
enum { LT_STATUSES = 1 << 12 };  // statuses are below it, handles are not

#endif
