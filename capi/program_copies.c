// Copies of the arguments of operators that write to them, in programs without mutation.
#include <stdlib.h>
#include <string.h>

#include "program_run.h"

tensor_status lt_clone_storage(const tensor_t *t, tensor_t **out) {
  const int64_t n = tensor_dim(t), *sizes = tensor_sizes(t), *strides = tensor_strides(t);
  const int64_t offset = tensor_storage_offset(t), stride = 1;
  int64_t length = offset + 1;
  if (!strides || !tensor_numel(t)) return tensor_clone(t, TENSOR_FORMAT_NONE, out);
  for (int64_t i = 0; i < n; i++) length += (sizes[i] - 1) * strides[i];
  tensor_t *flat = NULL, *copy = NULL;
  tensor_status status = tensor_as_strided(t, &length, 1, &stride, 1, 0, &flat);
  if (!status) status = tensor_clone(flat, TENSOR_FORMAT_NONE, &copy);
  if (!status) status = tensor_as_strided(copy, sizes, n, strides, n, offset, out);
  tensor_free(flat), tensor_free(copy);
  return status;
}

// Copies the tensors of a list.
static tensor_status clone_list(const tensor_value *list, tensor_value *copy) {
  tensor_t **items = calloc((size_t)list->length + 1, sizeof *items);
  *copy = (tensor_value){.kind = TENSOR_VALUE_TENSORS, .length = list->length, .as.tensors = items};
  if (!items) return copy->kind = TENSOR_VALUE_NONE, TENSOR_ERROR_MEMORY;
  for (int64_t i = 0; i < list->length; i++) {
    if (!list->as.tensors[i]) continue;
    const tensor_status status = lt_clone_storage(list->as.tensors[i], items + i);
    if (status) return status;
  }
  return TENSOR_OK;
}

// The value of a parameter among those of a call; NULL without one.
static tensor_value *find_value(const lt_target *t, int formal, tensor_value *values,
                                const char *const *keywords, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (keywords[i] ? !strcmp(keywords[i], t->formals[formal].name) : i == formal)
      return values + i;
  return NULL;
}

bool lt_copy_written(run *r, const char *step, const lt_target *t, tensor_value *values,
                     const char *const *keywords, int64_t n, tensor_value *copies, int32_t *count) {
  for (int f = 0; f < t->count; f++) {
    if (!t->formals[f].is_written) continue;
    tensor_value *v = find_value(t, f, values, keywords, n), *copy = copies + (*count)++;
    tensor_status status = TENSOR_OK;
    *copy = (tensor_value){.kind = TENSOR_VALUE_NONE};
    if (v && v->kind == TENSOR_VALUE_TENSOR) {
      status = lt_clone_storage(v->as.tensor, &copy->as.tensor);
      if (!status) copy->kind = TENSOR_VALUE_TENSOR;
    } else if (v && v->kind == TENSOR_VALUE_TENSORS) {
      status = clone_list(v, copy);
    }
    if (status == TENSOR_ERROR_MEMORY) return lt_fail_memory(r, step), false;
    if (status) return lt_fail_call(r, step, status), false;
    if (copy->kind != TENSOR_VALUE_NONE) *v = *copy;
  }
  return true;
}
