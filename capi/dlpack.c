// DLPack in both directions: https://dmlc.github.io/dlpack/latest/c_api.html
#include <stdio.h>
#include <stdlib.h>

#include "handle.h"

enum { CPU_DEVICE = 1, MAJOR = 1, MINOR = 1 };
enum {
  INT_CODE = 0,
  UINT_CODE = 1,
  FLOAT_CODE = 2,
  BFLOAT_CODE = 4,
  COMPLEX_CODE = 5,
  BOOL_CODE = 6
};
static const uint64_t READ_ONLY = 1;

typedef struct {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} view;

typedef struct legacy {
  view tensor;
  void *context;
  void (*deleter)(struct legacy *);
} legacy;

typedef struct versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct versioned *);
  uint64_t flags;
  view tensor;
} versioned;

static const struct {
  uint8_t code, bits;
} codes[] = {{BOOL_CODE, 8},    {UINT_CODE, 8},   {INT_CODE, 8},      {INT_CODE, 16},
             {INT_CODE, 32},    {INT_CODE, 64},   {FLOAT_CODE, 16},   {BFLOAT_CODE, 16},
             {FLOAT_CODE, 32},  {FLOAT_CODE, 64}, {COMPLEX_CODE, 64}, {COMPLEX_CODE, 128},
             {COMPLEX_CODE, 32}};
enum { CODES = sizeof codes / sizeof *codes };

static tensor_status refuse(tensor_status status, const char *message) {
  lt_fail(status, message);
  return status;
}

static void release_legacy(legacy *managed) {
  tensor_free(managed->context);
  free(managed);
}

static void release_versioned(versioned *managed) {
  tensor_free(managed->context);
  free(managed);
}

TENSOR_API tensor_status tensor_to_dlpack(const tensor_t *self, bool with_version, void **out) {
  if (!out) return refuse(TENSOR_ERROR_VALUE, "to_dlpack: argument 'out' is NULL");
  tensor_dtype dtype = tensor_get_dtype(self);
  if (dtype < 0) return TENSOR_ERROR_HANDLE;
  if (tensor_get_device(self).type != TENSOR_CPU)
    return refuse(TENSOR_ERROR_RUNTIME, "to_dlpack: the tensor is not on the cpu");
  if ((int)dtype >= CODES)
    return refuse(TENSOR_ERROR_TYPE, "to_dlpack: DLPack has no type for this dtype");
  bool read_only;
  tensor_status status = tensor_is_read_only(self, &read_only);
  if (status) return status;
  if (read_only && !with_version)
    return refuse(TENSOR_ERROR_RUNTIME,
                  "to_dlpack: the tensor is read-only, which only versioned DLPack can say; "
                  "clone() it first");
  tensor_t *held;
  void *data;
  tensor_storage_t *storage = NULL;
  if ((status = tensor_detach(self, &held))) return status;
  // The consumer keeps the address, so that the storage must not move.
  if ((status = tensor_untyped_storage(held, &storage)) ||
      (status = tensor_storage_fix_(storage)) || (status = tensor_data_ptr(held, &data))) {
    tensor_storage_free(storage);
    tensor_free(held);
    return status;
  }
  tensor_storage_free(storage);
  view v = {.data = data, .ndim = (int32_t)tensor_dim(held)};
  v.device.type = CPU_DEVICE;
  v.dtype.code = codes[dtype].code, v.dtype.bits = codes[dtype].bits, v.dtype.lanes = 1;
  v.shape = (int64_t *)tensor_sizes(held), v.strides = (int64_t *)tensor_strides(held);
  void *managed = malloc(with_version ? sizeof(versioned) : sizeof(legacy));
  if (!managed) {
    tensor_free(held);
    return refuse(TENSOR_ERROR_MEMORY, "to_dlpack: out of memory");
  }
  if (with_version)
    *(versioned *)managed =
        (versioned){MAJOR, MINOR, held, release_versioned, read_only ? READ_ONLY : 0, v};
  else
    *(legacy *)managed = (legacy){v, held, release_legacy};
  *out = managed;
  return TENSOR_OK;
}

static void delete_legacy(void *managed) {
  legacy *m = managed;
  if (m->deleter) m->deleter(m);
}

static void delete_versioned(void *managed) {
  versioned *m = managed;
  if (m->deleter) m->deleter(m);
}

static tensor_status import(const view *v, bool read_only, void (*deleter)(void *), void *managed,
                            tensor_t **out) {
  char message[160];
  int dtype = 0;
  while (dtype < CODES &&
         (codes[dtype].code != v->dtype.code || codes[dtype].bits != v->dtype.bits))
    dtype++;
  if (dtype == CODES || v->dtype.lanes != 1) {
    snprintf(message, sizeof message,
             "from_dlpack: no dtype for DLPack type code %d with %d bits and %d lanes",
             v->dtype.code, v->dtype.bits, v->dtype.lanes);
    return refuse(TENSOR_ERROR_TYPE, message);
  }
  if (v->device.type != CPU_DEVICE) {
    snprintf(message, sizeof message,
             "from_dlpack: device type %d is not supported; only cpu (1) is", v->device.type);
    return refuse(TENSOR_ERROR_RUNTIME, message);
  }
  if (v->ndim < 0 || v->ndim > 64 || (v->ndim && !v->shape))
    return refuse(TENSOR_ERROR_VALUE,
                  "from_dlpack: the number of dimensions must be 0 to 64, with a shape");
  // The bytes that the shape and strides claim are all that DLPack tells of the memory.
  int64_t last = 0;
  bool empty = false;
  for (int i = 0; i < v->ndim; i++) {
    int64_t size = v->shape[i], reach;
    if (size == 0) empty = true;
    if (!v->strides || size < 2) continue;
    if (v->strides[i] < 0)
      return refuse(TENSOR_ERROR_VALUE,
                    "from_dlpack: negative strides are not supported; copy the array first");
    if (__builtin_mul_overflow(size - 1, v->strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return refuse(TENSOR_ERROR_VALUE,
                    "from_dlpack: the strides reach further than a 64-bit integer counts");
  }
  if (!v->strides) {
    int64_t count = 1;
    for (int i = 0; i < v->ndim; i++)
      if (__builtin_mul_overflow(count, v->shape[i], &count))
        return refuse(TENSOR_ERROR_VALUE,
                      "from_dlpack: the shape has more elements than a 64-bit integer counts");
    last = count - 1;
  }
  int64_t nbytes = empty ? 0 : (last + 1) * tensor_dtype_size((tensor_dtype)dtype);
  char *data = v->data ? (char *)v->data + v->byte_offset : NULL;
  return tensor_from_blob(nbytes ? data : NULL, nbytes, (tensor_dtype)dtype, v->shape, v->ndim,
                          v->strides, v->strides ? v->ndim : 0, deleter, managed, read_only, out);
}

TENSOR_API tensor_status tensor_from_dlpack(void *managed, bool with_version, tensor_t **out) {
  if (!managed || !out)
    return refuse(TENSOR_ERROR_VALUE, "from_dlpack: arguments must not be NULL");
  if (!with_version)
    return import(&((legacy *)managed)->tensor, false, delete_legacy, managed, out);
  versioned *m = managed;
  if (m->major != MAJOR) {
    char message[120];
    snprintf(message, sizeof message, "from_dlpack: DLPack %u.%u is not understood; version %d is",
             m->major, m->minor, MAJOR);
    return refuse(TENSOR_ERROR_RUNTIME, message);
  }
  return import(&m->tensor, (m->flags & READ_ONLY) != 0, delete_versioned, managed, out);
}
