// The table of operators.
#include <stdlib.h>
#include <string.h>

#include "export.h"

extern const int lt_operator_count;

static int by_name(const void *name, const void *row) {
  return strcmp(name, ((const lt_operator *)row)->name);
}

const lt_operator *tensor_operator(const char *name) {
  return bsearch(name, lt_operators, (size_t)lt_operator_count, sizeof *lt_operators, by_name);
}

const lt_operator *tensor_operators(int32_t *count) {
  *count = lt_operator_count;
  return lt_operators;
}

bool tensor_is_unobserved(const char *name) {
  const lt_operator *op = tensor_operator(name);
  return op && op->flags & LT_UNOBSERVED;
}

void lt_drop_results(lt_frame *frame) {
  const lt_operator *op = lt_operators + frame->op;
  if (frame->mode != LT_FUNCTION) return;
  for (int i = 0; op->results[i]; i++) {
    lt_value *v = frame->results + i;
    switch (op->results[i]) {
      case 'T':
        tensor_free(v->pointer);
        break;
      case 'G':
        tensor_generator_free(v->pointer);
        break;
      case 'W':
        tensor_storage_free(v->pointer);
        break;
      case 'J':
        tensor_node_free(v->pointer);
        break;
      case 'U':
        tensor_string_free(v->pointer);
        break;
      case 'A':
        tensor_list_free((tensor_t **)v->list.data, v->list.length);
        break;
      case 'K':
        tensor_string_list_free((char **)v->list.data, v->list.length);
        break;
      case 'L':
        free((void *)v->list.data);
    }
  }
}
