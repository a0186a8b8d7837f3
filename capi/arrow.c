// Primitive arrays of Arrow's C data interface, in both directions:
// https://arrow.apache.org/docs/format/CDataInterface.html
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"

typedef struct schema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct schema **children, *dictionary;
  void (*release)(struct schema *);
  void *private_data;
} schema;

typedef struct array {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct array **children, *dictionary;
  void (*release)(struct array *);
  void *private_data;
} array;

// Formats by dtype; Arrow has none for bfloat16 and complex numbers.
static const char *const formats[] = {"b", "C", "c", "s", "i", "l", "e", NULL, "f", "g"};
enum { FORMATS = sizeof formats / sizeof *formats };

static tensor_status refuse(tensor_status status, const char *message) {
  lt_fail(status, message);
  return status;
}

// What an exported array holds.
typedef struct owned {
  tensor_t *tensor;
  uint8_t *bits;
  const void *buffers[2];
} owned;

static void release_schema(schema *s) { s->release = NULL; }

static void release_array(array *a) {
  owned *o = a->private_data;
  tensor_free(o->tensor);
  free(o->bits);
  free(o);
  a->release = NULL;
}

static uint8_t *pack(const uint8_t *values, int64_t n) {
  uint8_t *bits = calloc((size_t)n / 8 + 1, 1);
  for (int64_t i = 0; bits && i < n; i++) bits[i / 8] |= (uint8_t)((values[i] != 0) << i % 8);
  return bits;
}

TENSOR_API tensor_status tensor_to_arrow(const tensor_t *self, void *schema_out, void *array_out) {
  if (!schema_out || !array_out)
    return refuse(TENSOR_ERROR_VALUE, "to_arrow: arguments must not be NULL");
  tensor_dtype dtype = tensor_get_dtype(self);
  if (dtype < 0) return TENSOR_ERROR_HANDLE;
  if ((int)dtype >= FORMATS || !formats[dtype])
    return refuse(TENSOR_ERROR_TYPE, "to_arrow: Arrow has no type for this dtype");
  if (tensor_dim(self) != 1)
    return refuse(TENSOR_ERROR_VALUE,
                  "to_arrow: an Arrow array has one dimension; flatten() the tensor");
  if (tensor_get_device(self).type != TENSOR_CPU)
    return refuse(TENSOR_ERROR_RUNTIME, "to_arrow: the tensor is not on the cpu");
  owned *o = calloc(1, sizeof *o);
  if (!o) return refuse(TENSOR_ERROR_MEMORY, "to_arrow: out of memory");
  tensor_t *dense = NULL;
  void *data;
  bool read_only;
  tensor_status status = tensor_contiguous(self, TENSOR_CONTIGUOUS, &dense);
  if (!status) status = tensor_lend(dense, &o->tensor, &data, &read_only);
  tensor_free(dense);
  int64_t n = tensor_numel(self);
  if (!status && dtype == TENSOR_BOOL && !(o->bits = pack(data, n)))
    status = refuse(TENSOR_ERROR_MEMORY, "to_arrow: out of memory");
  if (status) {
    tensor_free(o->tensor);
    free(o);
    return status;
  }
  o->buffers[1] = o->bits ? o->bits : data;
  *(schema *)schema_out = (schema){.format = formats[dtype], .name = "", .release = release_schema};
  *(array *)array_out = (array){.length = n,
                                .n_buffers = 2,
                                .buffers = o->buffers,
                                .release = release_array,
                                .private_data = o};
  return TENSOR_OK;
}

TENSOR_API void tensor_arrow_release(void *schema_in, void *array_in) {
  schema *s = schema_in;
  array *a = array_in;
  if (s && s->release) s->release(s);
  if (a && a->release) a->release(a);
}

static int bit(const uint8_t *bits, int64_t i) { return bits[i / 8] >> i % 8 & 1; }

static int64_t nulls(const array *a) {
  const uint8_t *valid = a->buffers[0];
  if (a->null_count >= 0 || !valid) return a->null_count > 0 ? a->null_count : 0;
  int64_t count = 0;
  for (int64_t i = 0; i < a->length; i++) count += !bit(valid, a->offset + i);
  return count;
}

// The deleter of memory that was taken over.
static void release_moved(void *context) {
  array *a = context;
  a->release(a);
  free(a);
}

static tensor_status unpack(array *a, tensor_t **out) {
  uint8_t *values = malloc(a->length ? (size_t)a->length : 1);
  if (!values) return refuse(TENSOR_ERROR_MEMORY, "from_arrow: out of memory");
  for (int64_t i = 0; i < a->length; i++) values[i] = (uint8_t)bit(a->buffers[1], a->offset + i);
  tensor_status status = tensor_from_data(values, &a->length, 1, TENSOR_BOOL, out);
  free(values);
  if (!status) a->release(a);
  return status;
}

TENSOR_API tensor_status tensor_from_arrow(const void *schema_in, void *array_in, tensor_t **out) {
  const schema *s = schema_in;
  array *a = array_in;
  char message[200];
  if (!s || !a || !out) return refuse(TENSOR_ERROR_VALUE, "from_arrow: arguments must not be NULL");
  if (!s->release || !a->release)
    return refuse(TENSOR_ERROR_VALUE, "from_arrow: the schema or the array was released before");
  int dtype = 0;
  while (dtype < FORMATS && !(formats[dtype] && !strcmp(formats[dtype], s->format))) dtype++;
  if (dtype == FORMATS || s->n_children || s->dictionary || a->n_buffers != 2) {
    snprintf(message, sizeof message,
             "from_arrow: format '%.60s' is not a primitive one that a dtype stands for: one of "
             "b C c s i l e f g",
             s->format);
    return refuse(TENSOR_ERROR_TYPE, message);
  }
  int64_t missing = nulls(a), item = tensor_dtype_size((tensor_dtype)dtype), nbytes, skipped;
  if (missing) {
    snprintf(message, sizeof message,
             "from_arrow: %lld of %lld elements are null, which tensors do not have; fill or drop "
             "them first",
             (long long)missing, (long long)a->length);
    return refuse(TENSOR_ERROR_VALUE, message);
  }
  if (a->length < 0 || a->offset < 0 || __builtin_mul_overflow(a->length, item, &nbytes) ||
      __builtin_mul_overflow(a->offset, item, &skipped) || (nbytes && !a->buffers[1]))
    return refuse(TENSOR_ERROR_VALUE, "from_arrow: the array's length, offset or data is invalid");
  if (dtype == TENSOR_BOOL) return unpack(a, out);
  array *moved = malloc(sizeof *moved);
  if (!moved) return refuse(TENSOR_ERROR_MEMORY, "from_arrow: out of memory");
  *moved = *a;
  char *data = nbytes ? (char *)a->buffers[1] + skipped : NULL;
  tensor_status status = tensor_from_blob(data, nbytes, (tensor_dtype)dtype, &a->length, 1, NULL, 0,
                                          release_moved, moved, true, out);
  if (status)
    free(moved);
  else
    a->release = NULL;
  return status;
}
