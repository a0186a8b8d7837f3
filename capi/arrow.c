// Primitive arrays of Arrow's C data interface, in both directions, and streams of them:
// https://arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foreign.h"
#include "gen_exchange.h"
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

typedef struct stream {
  int (*get_schema)(struct stream *, schema *);
  int (*get_next)(struct stream *, array *);
  const char *(*get_last_error)(struct stream *);
  void (*release)(struct stream *);
  void *private_data;
} stream;

// Formats by dtype; Arrow has none for bfloat16 and complex numbers.
static const char *const formats[] = LT_ARROW_FORMATS;
enum { FORMATS = sizeof formats / sizeof *formats };

// The resources that an exported array owns.
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

static uint8_t *pack_bits(const uint8_t *values, int64_t n) {
  uint8_t *bits = calloc((size_t)n / 8 + 1, 1);
  for (int64_t i = 0; bits && i < n; i++) bits[i / 8] |= (uint8_t)((values[i] != 0) << i % 8);
  return bits;
}

TENSOR_API tensor_status tensor_to_arrow(const tensor_t *self, void *schema_out, void *array_out) {
  if (!lt_check_pointer(schema_out, "to_arrow", "schema") ||
      !lt_check_pointer(array_out, "to_arrow", "array"))
    return TENSOR_ERROR_VALUE;
  tensor_dtype dtype = tensor_get_dtype(self);
  if (dtype < 0) return TENSOR_ERROR_HANDLE;
  if ((int)dtype >= FORMATS || !formats[dtype])
    return lt_reject(TENSOR_ERROR_TYPE,
                     "to_arrow: argument 'self' has dtype %s, for which Arrow has no type; convert "
                     "it, for example to float32",
                     tensor_dtype_name(dtype));
  if (tensor_dim(self) != 1)
    return lt_reject(TENSOR_ERROR_VALUE,
                     "to_arrow: argument 'self' has %lld dimensions, and an Arrow array has one; "
                     "flatten() it",
                     (long long)tensor_dim(self));
  char device[32];
  if (tensor_get_device(self).type != TENSOR_CPU)
    return lt_reject(TENSOR_ERROR_RUNTIME, "to_arrow: argument 'self' is on %s; copy it with cpu()",
                     lt_show_device(tensor_get_device(self), device));
  owned *o = calloc(1, sizeof *o);
  if (!o) return lt_reject(TENSOR_ERROR_MEMORY, "to_arrow: out of memory");
  tensor_t *resolved = NULL, *dense = NULL;
  void *data;
  bool read_only;
  tensor_status status = tensor_resolve_neg(self, &resolved);
  if (!status) status = tensor_contiguous(resolved, TENSOR_CONTIGUOUS, &dense);
  tensor_free(resolved);
  if (!status) status = lt_lend("to_arrow", dense, &o->tensor, &data, &read_only);
  tensor_free(dense);
  int64_t n = status ? 0 : tensor_numel(o->tensor);
  if (!status && dtype == TENSOR_BOOL && !(o->bits = pack_bits(data, n)))
    status = lt_reject(TENSOR_ERROR_MEMORY, "to_arrow: out of memory");
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

static int read_bit(const uint8_t *bits, int64_t i) { return bits[i / 8] >> i % 8 & 1; }

static int64_t count_nulls(const array *a) {
  const uint8_t *valid = a->length ? a->buffers[0] : NULL;
  if (a->null_count >= 0 || !valid) return a->null_count > 0 ? a->null_count : 0;
  int64_t count = 0;
  for (int64_t i = 0; i < a->length; i++) count += !read_bit(valid, a->offset + i);
  return count;
}

// The deleter of memory that was taken over.
static void release_moved(void *context) {
  array *a = context;
  a->release(a);
  free(a);
}

static tensor_status unpack_bools(array *a, tensor_t **out) {
  tensor_t *made;
  void *data;
  tensor_status status = tensor_empty(&a->length, 1, TENSOR_BOOL, TENSOR_STRIDED,
                                      (tensor_device){TENSOR_CPU, -1}, TENSOR_CONTIGUOUS, &made);
  if (status) return status;
  status = tensor_data_ptr(made, &data);
  for (int64_t i = 0; !status && i < a->length; i++)
    ((uint8_t *)data)[i] = (uint8_t)read_bit(a->buffers[1], a->offset + i);
  if (status) {
    tensor_free(made);
    return status;
  }
  a->release(a);
  *out = made;
  return TENSOR_OK;
}

// The dtype of a primitive schema; -1, with an error, for others.
static int dtype_of(const schema *s) {
  int dtype = 0;
  if (!s->format) {
    lt_fail(0, "from_arrow: the schema has no format");
    return -1;
  }
  while (dtype < FORMATS && !(formats[dtype] && !strcmp(formats[dtype], s->format))) dtype++;
  if (dtype < FORMATS && !s->n_children && !s->dictionary) return dtype;
  char message[200];
  if (s->dictionary) {
    lt_fail(0, "from_arrow: dictionary-encoded arrays are not supported; decode the array first");
    return -1;
  }
  const char *hint = !strncmp(s->format, "+s", 2) ? "; pass one of the table's columns" : "";
  snprintf(message, sizeof message,
           "from_arrow: format '%.60s' is not supported; supported are "
           "b C c S s I i L l e f g%s",
           s->format, hint);
  lt_fail(0, message);
  return -1;
}

static tensor_status reject_nulls(int64_t missing, int64_t length) {
  return lt_reject(TENSOR_ERROR_VALUE,
                   "from_arrow: %lld of %lld elements are null, which tensors do not support; fill "
                   "or drop them first",
                   (long long)missing, (long long)length);
}

// The tensor of an array without nulls, which is taken over. Its fields have been checked.
static tensor_status import_array(int dtype, array *a, tensor_t **out) {
  if (dtype == TENSOR_BOOL) return unpack_bools(a, out);
  int64_t item = tensor_dtype_size((tensor_dtype)dtype), nbytes = a->length * item;
  char *data = nbytes ? (char *)a->buffers[1] + a->offset * item : NULL;
  tensor_status status;
  if (lt_misaligned((tensor_dtype)dtype, data)) {
    status = tensor_from_data(data, &a->length, 1, (tensor_dtype)dtype, out);
    if (!status) a->release(a);
    return status;
  }
  array *moved = malloc(sizeof *moved);
  if (!moved) return lt_reject(TENSOR_ERROR_MEMORY, "from_arrow: out of memory");
  *moved = *a;
  status = tensor_from_blob(data, nbytes, (tensor_dtype)dtype, &a->length, 1, NULL, 0,
                            release_moved, moved, true, out);
  if (status)
    free(moved);
  else
    a->release = NULL;
  return status;
}

// Returns an error unless an array's fields are consistent and its buffers are valid addresses.
static tensor_status check_array(int dtype, const array *a) {
  if (a->n_buffers != 2 || a->n_children || a->dictionary || a->length < 0 || a->offset < 0 ||
      a->length > INT64_MAX - a->offset || a->null_count < -1 || a->null_count > a->length)
    return lt_reject(
        TENSOR_ERROR_VALUE,
        "from_arrow: the array's length, offset, number of nulls, buffers or children is "
        "invalid");
  if (!a->length) return TENSOR_OK;
  uint64_t end = (uint64_t)a->length + (uint64_t)a->offset, bytes = end / 8 + (end % 8 != 0);
  uint64_t item = (uint64_t)tensor_dtype_size((tensor_dtype)dtype);
  void *first;
  if (a->buffers && dtype != TENSOR_BOOL && __builtin_mul_overflow(end, item, &bytes)) bytes = 0;
  if (!a->buffers || !bytes || !lt_foreign_bytes(a->buffers[1], 0, 0, bytes, &first) ||
      (a->buffers[0] && !lt_foreign_bytes(a->buffers[0], 0, 0, end / 8 + 1, &first)))
    return lt_reject(TENSOR_ERROR_VALUE,
                     "from_arrow: the array's buffers are missing, or its length and offset reach "
                     "outside of memory");
  return TENSOR_OK;
}

TENSOR_API tensor_status tensor_from_arrow(const void *schema_in, void *array_in, tensor_t **out) {
  const schema *s = schema_in;
  array *a = array_in;
  if (!lt_check_pointer(s, "from_arrow", "schema") || !lt_check_pointer(a, "from_arrow", "array") ||
      !lt_check_pointer(out, "from_arrow", "out"))
    return TENSOR_ERROR_VALUE;
  if (!s->release || !a->release)
    return lt_reject(TENSOR_ERROR_VALUE,
                     "from_arrow: argument '%s' was released before; export the array again",
                     s->release ? "array" : "schema");
  int dtype = dtype_of(s);
  if (dtype < 0) return s->format ? TENSOR_ERROR_TYPE : TENSOR_ERROR_VALUE;
  tensor_status status = check_array(dtype, a);
  if (status) return status;
  int64_t missing = count_nulls(a);
  return missing ? reject_nulls(missing, a->length) : import_array(dtype, a, out);
}

// The arrays of a stream.
typedef struct chunks {
  array *arrays;
  tensor_t **tensors;
  int64_t count, taken, missing, length;
} chunks;

static tensor_status fail_stream(stream *s, const char *what, int code) {
  const char *reason = s->get_last_error ? s->get_last_error(s) : NULL;
  return lt_reject(TENSOR_ERROR_RUNTIME, "from_arrow: reading the %s of the stream failed: %.300s",
                   what, reason ? reason : strerror(code));
}

// Reads the stream to its end.
static tensor_status read_all(stream *s, int dtype, chunks *c) {
  for (int64_t room = 0;; c->count++) {
    if (c->count == room) {
      room = room ? 2 * room : 8;
      array *arrays = realloc(c->arrays, (size_t)room * sizeof *arrays);
      if (!arrays) return lt_reject(TENSOR_ERROR_MEMORY, "from_arrow: out of memory");
      c->arrays = arrays;
    }
    array *a = &c->arrays[c->count];
    int code = s->get_next(s, a);
    if (code) return fail_stream(s, "next array", code);
    if (!a->release) return TENSOR_OK;
    tensor_status status = check_array(dtype, a);
    if (!status) {
      c->missing += count_nulls(a);
      status = __builtin_add_overflow(c->length, a->length, &c->length)
                   ? lt_reject(TENSOR_ERROR_VALUE, "from_arrow: the arrays' lengths overflow")
                   : TENSOR_OK;
    }
    if (status) {
      a->release(a);
      return status;
    }
  }
}

static tensor_status join_chunks(int dtype, chunks *c, tensor_t **out) {
  const int64_t none = 0;
  if (c->missing) return reject_nulls(c->missing, c->length);
  if (!c->count) return tensor_from_data(NULL, &none, 1, (tensor_dtype)dtype, out);
  if (c->count == 1) return import_array(dtype, c->arrays, out);
  c->tensors = calloc((size_t)c->count, sizeof *c->tensors);
  if (!c->tensors) return lt_reject(TENSOR_ERROR_MEMORY, "from_arrow: out of memory");
  for (; c->taken < c->count; c->taken++) {
    tensor_status status = import_array(dtype, &c->arrays[c->taken], &c->tensors[c->taken]);
    if (status) return status;
  }
  return tensor_cat((const tensor_t *const *)c->tensors, c->count, 0, out);
}

TENSOR_API tensor_status tensor_from_arrow_stream(void *stream_in, tensor_t **out) {
  stream *s = stream_in;
  if (!lt_check_pointer(s, "from_arrow", "stream") || !lt_check_pointer(out, "from_arrow", "out"))
    return TENSOR_ERROR_VALUE;
  if (!s->release)
    return lt_reject(TENSOR_ERROR_VALUE,
                     "from_arrow: argument 'stream' was released before; export the stream again");
  if (!s->get_schema || !s->get_next)
    return lt_reject(TENSOR_ERROR_VALUE,
                     "from_arrow: the stream has no get_schema or get_next function");
  schema kind = {0};
  chunks c = {0};
  int code = s->get_schema(s, &kind);
  tensor_status status = TENSOR_OK;
  if (code) {
    status = fail_stream(s, "schema", code);
  } else {
    int dtype = dtype_of(&kind);
    status = dtype >= 0    ? read_all(s, dtype, &c)
             : kind.format ? TENSOR_ERROR_TYPE
                           : TENSOR_ERROR_VALUE;
    if (!status) status = join_chunks(dtype, &c, out);
    if (kind.release) kind.release(&kind);
  }
  for (int64_t i = 0; i < c.taken; i++) tensor_free(c.tensors[i]);
  for (int64_t i = 0; i < c.count; i++)
    if (c.arrays[i].release) c.arrays[i].release(&c.arrays[i]);
  free(c.tensors);
  free(c.arrays);
  if (s->release) s->release(s);
  return status;
}
