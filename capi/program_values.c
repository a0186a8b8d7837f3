// The values of a run of an exported program, and the arguments of its steps.
#include <string.h>

#include "functions.h"
#include "program_numbers.h"
#include "program_run.h"

void lt_release(run *r, int64_t n) {
  if (!r->owned[n]) return;
  r->owned[n] = false;
  tensor_value_free(r->values + n);
}

void lt_store(run *r, int64_t n, tensor_value value) {
  lt_release(r, n);
  r->values[n] = value;
  r->owned[n] = true;
}

static double bits(int64_t word) {
  double f;
  memcpy(&f, &word, sizeof f);
  return f;
}

const int64_t *lt_skip_argument(const int64_t *w) {
  switch (*w++) {
    case LT_ARG_NONE:
      return w;
    case LT_ARG_COMPLEX:
      return w + 2;
    case LT_ARG_TENSORS:
    case LT_ARG_INTS:
    case LT_ARG_FLOATS:
    case LT_ARG_BOOLS:
    case LT_ARG_STRINGS:
      return w + 1 + *w;
    case LT_ARG_SYM_INTS:
    case LT_ARG_SYM_FLOATS:
    case LT_ARG_SYM_BOOLS: {
      int64_t n = *w++;
      while (n--) w = lt_skip_argument(w);
      return w;
    }
    default:
      return w + 1;
  }
}

const int64_t *lt_evaluate(run *r, const int64_t *w, tensor_value *to, char **scratch) {
  const lt_program *p = r->p;
  *to = (tensor_value){.kind = TENSOR_VALUE_NONE};
  const int64_t kind = *w++;
  switch (kind) {
    case LT_ARG_NONE:
      return w;
    case LT_ARG_VALUE:
      *to = r->values[*w];
      return w + 1;
    case LT_ARG_INT:
      to->kind = TENSOR_VALUE_INT, to->as.i = *w;
      return w + 1;
    case LT_ARG_FLOAT:
      to->kind = TENSOR_VALUE_FLOAT, to->as.f = bits(*w);
      return w + 1;
    case LT_ARG_BOOL:
      to->kind = TENSOR_VALUE_BOOL, to->as.b = *w;
      return w + 1;
    case LT_ARG_COMPLEX:
      to->kind = TENSOR_VALUE_COMPLEX, to->as.c[0] = bits(w[0]), to->as.c[1] = bits(w[1]);
      return w + 2;
    case LT_ARG_STRING:
      to->kind = TENSOR_VALUE_STRING, to->as.string = p->text + *w;
      return w + 1;
    case LT_ARG_DTYPE:
      to->kind = TENSOR_VALUE_DTYPE, to->as.dtype = (tensor_dtype)*w;
      return w + 1;
    case LT_ARG_LAYOUT:
      to->kind = TENSOR_VALUE_LAYOUT, to->as.layout = (tensor_layout)*w;
      return w + 1;
    case LT_ARG_FORMAT:
      to->kind = TENSOR_VALUE_MEMORY_FORMAT, to->as.memory_format = (tensor_memory_format)*w;
      return w + 1;
  }
  const int64_t n = *w++;
  to->length = n;
  switch (kind) {
    case LT_ARG_TENSORS: {
      tensor_t **list = (tensor_t **)*scratch;
      for (int64_t i = 0; i < n; i++) {
        const tensor_value *v = w[i] < 0 ? NULL : r->values + w[i];
        list[i] = v && v->kind == TENSOR_VALUE_TENSOR ? v->as.tensor : NULL;
      }
      to->kind = TENSOR_VALUE_TENSORS, to->as.tensors = list;
      *scratch += n * 8;
      return w + n;
    }
    case LT_ARG_INTS:
      to->kind = TENSOR_VALUE_INTS, to->as.ints = w;
      return w + n;
    case LT_ARG_FLOATS:
      to->kind = TENSOR_VALUE_FLOATS, to->as.floats = (const double *)w;
      return w + n;
    case LT_ARG_BOOLS: {
      bool *list = (bool *)*scratch;
      for (int64_t i = 0; i < n; i++) list[i] = w[i];
      to->kind = TENSOR_VALUE_BOOLS, to->as.bools = list;
      *scratch += n * 8;
      return w + n;
    }
    case LT_ARG_STRINGS: {
      const char **list = (const char **)*scratch;
      for (int64_t i = 0; i < n; i++) list[i] = p->text + w[i];
      to->kind = TENSOR_VALUE_STRINGS, to->as.strings = list;
      *scratch += n * 8;
      return w + n;
    }
  }
  // Lists of numbers that earlier steps may have computed.
  char *list = *scratch;
  *scratch += n * 8;
  for (int64_t i = 0; i < n; i++) {
    tensor_value v;
    w = lt_evaluate(r, w, &v, scratch);
    const double f = v.kind == TENSOR_VALUE_FLOAT ? v.as.f : (double)v.as.i;
    if (kind == LT_ARG_SYM_INTS)
      ((int64_t *)list)[i] = v.kind == TENSOR_VALUE_FLOAT ? (int64_t)v.as.f : v.as.i;
    else if (kind == LT_ARG_SYM_FLOATS)
      ((double *)list)[i] = f;
    else
      ((bool *)list)[i] = v.kind == TENSOR_VALUE_BOOL ? v.as.b : f != 0;
  }
  if (kind == LT_ARG_SYM_INTS)
    to->kind = TENSOR_VALUE_INTS, to->as.ints = (int64_t *)list;
  else if (kind == LT_ARG_SYM_FLOATS)
    to->kind = TENSOR_VALUE_FLOATS, to->as.floats = (double *)list;
  else
    to->kind = TENSOR_VALUE_BOOLS, to->as.bools = (bool *)list;
  return w;
}
