// Functions that read the metadata of tensors and of dtypes.
#include "arguments.h"
#include "gen_names.h"
#include "value.h"

#define GETTER(name) lt_slot *slot = lt_look(self, LT_TENSOR, name)

TENSOR_API int64_t tensor_dim(const tensor_t *self) {
  GETTER("dim");
  return slot ? slot->dim : -1;
}
TENSOR_API int64_t tensor_numel(const tensor_t *self) {
  GETTER("numel");
  return slot ? slot->numel : -1;
}
TENSOR_API bool tensor_same_memory(const tensor_t *self, const tensor_t *other) {
  GETTER("same_memory");
  const lt_slot *beside = lt_look(other, LT_TENSOR, "same_memory");
  return slot && beside && slot->memory && slot->memory == beside->memory;
}
TENSOR_API uint8_t tensor_lazy(const tensor_t *self) {
  GETTER("lazy");
  return slot ? slot->lazy : 0;
}
TENSOR_API int64_t tensor_storage_offset(const tensor_t *self) {
  GETTER("storage_offset");
  return slot ? slot->offset : -1;
}
TENSOR_API const int64_t *tensor_sizes(const tensor_t *self) {
  GETTER("sizes");
  return slot ? slot->sizes : NULL;
}
TENSOR_API const int64_t *tensor_strides(const tensor_t *self) {
  GETTER("strides");
  return slot ? slot->strides : NULL;
}
TENSOR_API tensor_dtype tensor_get_dtype(const tensor_t *self) {
  GETTER("get_dtype");
  return slot ? (tensor_dtype)slot->dtype : TENSOR_DTYPE_NONE;
}
TENSOR_API tensor_device tensor_get_device(const tensor_t *self) {
  GETTER("get_device");
  tensor_device d = tensor_device_default();
  if (slot) d.type = slot->device_type, d.index = slot->device_index;
  return d;
}
TENSOR_API tensor_layout tensor_get_layout(const tensor_t *self) {
  GETTER("get_layout");
  return slot ? (tensor_layout)slot->layout : TENSOR_LAYOUT_NONE;
}

static const struct {
  const char *name;
  int64_t size;
} dtypes[] = LT_DTYPES_BY_NUMBER;

static _Bool is_known(tensor_dtype d) {
  return d >= 0 && (size_t)d < sizeof dtypes / sizeof *dtypes;
}
TENSOR_API int64_t tensor_dtype_size(tensor_dtype dtype) {
  return is_known(dtype) ? dtypes[dtype].size : 0;
}
TENSOR_API const char *tensor_dtype_name(tensor_dtype dtype) {
  return is_known(dtype) ? dtypes[dtype].name : "none";
}
