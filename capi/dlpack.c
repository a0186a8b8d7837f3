// DLPack in both directions: https://dmlc.github.io/dlpack/latest/c_api.html
#include <stdio.h>
#include <stdlib.h>

#include "foreign.h"
#include "gen_exchange.h"
#include "handle.h"

enum { CPU_DEVICE = 1, CUDA_DEVICE = 2, CUDA_HOST_DEVICE = 3, MAJOR = 1, MINOR = 1, MAX_DIMS = 64 };
static const uint64_t READ_ONLY = 1, COPIED = 2;

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

// By dtype; without bits where DLPack has no type.
static const struct {
  uint8_t code, bits;
} codes[] = LT_DLPACK_TYPES;
enum { CODES = sizeof codes / sizeof *codes };

static void release_legacy(legacy *managed) {
  tensor_free(managed->context);
  free(managed);
}

static void release_versioned(versioned *managed) {
  tensor_free(managed->context);
  free(managed);
}

TENSOR_API tensor_status tensor_to_dlpack(const tensor_t *self, bool with_version, bool copy,
                                          void **out) {
  if (!lt_check_pointer(out, "to_dlpack", "out")) return TENSOR_ERROR_VALUE;
  tensor_dtype dtype = tensor_get_dtype(self);
  if (dtype < 0) return TENSOR_ERROR_HANDLE;
  const tensor_device device = tensor_get_device(self);
  char shown[32];
  if (device.type != TENSOR_CPU && device.type != TENSOR_CUDA)
    return lt_reject(TENSOR_ERROR_RUNTIME,
                     "to_dlpack: argument 'self' is on %s; cpu or cuda is required",
                     lt_show_device(device, shown));
  if ((int)dtype >= CODES || !codes[dtype].bits)
    return lt_reject(TENSOR_ERROR_TYPE,
                     "to_dlpack: argument 'self' has dtype %s, for which DLPack has no type; "
                     "convert it, for example to float32",
                     tensor_dtype_name(dtype));
  void *managed = malloc(with_version ? sizeof(versioned) : sizeof(legacy));
  if (!managed) return lt_reject(TENSOR_ERROR_MEMORY, "to_dlpack: out of memory");
  // The consumer keeps the address, so that the storage must not move.
  tensor_t *cloned = NULL, *held = NULL;
  void *data;
  bool read_only;
  tensor_status status = copy ? tensor_clone(self, TENSOR_PRESERVE, &cloned) : TENSOR_OK;
  if (!status) status = lt_lend("to_dlpack", copy ? cloned : self, &held, &data, &read_only);
  tensor_free(cloned);
  if (!status && tensor_get_dtype(held) != dtype)
    status = lt_reject(TENSOR_ERROR_RUNTIME,
                       "to_dlpack: another thread changed the tensor during the call");
  if (!status && read_only && !with_version)
    status =
        lt_reject(TENSOR_ERROR_RUNTIME,
                  "to_dlpack: the tensor is read-only, which unversioned DLPack cannot express; "
                  "clone() it first");
  if (status) {
    tensor_free(held);
    free(managed);
    return status;
  }
  view v = {.data = data, .ndim = (int32_t)tensor_dim(held)};
  v.device.type = device.type == TENSOR_CPU ? CPU_DEVICE : CUDA_DEVICE;
  v.device.id = device.type == TENSOR_CPU ? 0 : device.index;
  v.dtype.code = codes[dtype].code, v.dtype.bits = codes[dtype].bits, v.dtype.lanes = 1;
  v.shape = (int64_t *)tensor_sizes(held), v.strides = (int64_t *)tensor_strides(held);
  uint64_t flags = (read_only ? READ_ONLY : 0) | (copy ? COPIED : 0);
  if (with_version)
    *(versioned *)managed = (versioned){MAJOR, MINOR, held, release_versioned, flags, v};
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

TENSOR_API void tensor_dlpack_free(void *managed, bool with_version) {
  if (managed) (with_version ? delete_versioned : delete_legacy)(managed);
}

// The strides of a view, row-major unless it has its own; false when they overflow.
static bool strides_of(const view *v, int64_t *strides) {
  int64_t next = 1;
  for (int i = v->ndim - 1; i >= 0; i--) {
    strides[i] = v->strides ? v->strides[i] : next;
    if (v->shape[i] > 1 && !v->strides && __builtin_mul_overflow(next, v->shape[i], &next))
      return false;
  }
  return true;
}

// The elements at an address that is not aligned, from a copy of their bytes.
static tensor_status copy_bytes(const void *data, int64_t nbytes, tensor_dtype dtype, const view *v,
                                const int64_t *strides, tensor_t **out) {
  tensor_t *bytes = NULL, *elements = NULL;
  tensor_status status = tensor_from_data(data, &nbytes, 1, TENSOR_UINT8, &bytes);
  if (!status) status = tensor_view_dtype(bytes, dtype, &elements);
  if (!status) status = tensor_as_strided(elements, v->shape, v->ndim, strides, v->ndim, 0, out);
  tensor_free(bytes), tensor_free(elements);
  return status;
}

static tensor_status import(const view *v, bool read_only, void (*deleter)(void *), void *managed,
                            tensor_t **out) {
  int dtype = 0;
  while (dtype < CODES &&
         (codes[dtype].code != v->dtype.code || codes[dtype].bits != v->dtype.bits))
    dtype++;
  if (dtype == CODES || !v->dtype.bits || v->dtype.lanes != 1)
    return lt_reject(TENSOR_ERROR_TYPE,
                     "from_dlpack: no dtype for DLPack type code %d with %d bits and %d lanes",
                     v->dtype.code, v->dtype.bits, v->dtype.lanes);
  const bool pinned = v->device.type == CUDA_HOST_DEVICE;
  if (v->device.type != CPU_DEVICE && v->device.type != CUDA_DEVICE && !pinned)
    return lt_reject(TENSOR_ERROR_RUNTIME,
                     "from_dlpack: device type %d is not supported; cpu (1), cuda (2) and pinned "
                     "memory (3) are",
                     v->device.type);
  if (v->device.type == CUDA_DEVICE && (v->device.id < 0 || v->device.id > INT16_MAX))
    return lt_reject(TENSOR_ERROR_VALUE,
                     "from_dlpack: the tensor is on cuda:%d; the index of a device is from 0 to %d",
                     (int)v->device.id, INT16_MAX);
  const tensor_device device = v->device.type == CUDA_DEVICE
                                   ? (tensor_device){TENSOR_CUDA, (int16_t)v->device.id}
                                   : (tensor_device){TENSOR_CPU, -1};
  if (v->ndim < 0 || v->ndim > MAX_DIMS || (v->ndim && !v->shape))
    return lt_reject(TENSOR_ERROR_VALUE,
                     "from_dlpack: the number of dimensions must be 0 to 64, with a shape");
  // DLPack has no size of the memory: the range that shape and strides cover is taken for all of
  // it.
  int64_t strides[MAX_DIMS], backward[MAX_DIMS], first = 0, last = 0, flips = 0;
  bool empty = false, fits = strides_of(v, strides);
  for (int i = 0; i < v->ndim && fits; i++) {
    int64_t size = v->shape[i], reach, *end = strides[i] < 0 ? &first : &last;
    if (size == 0) empty = true;
    if (size > 1)
      fits = !__builtin_mul_overflow(size - 1, strides[i], &reach) &&
             !__builtin_add_overflow(*end, reach, end);
    if (strides[i] >= 0) continue;
    if (size > 1) backward[flips++] = i;
    fits = fits && !__builtin_sub_overflow(0, strides[i], &strides[i]);
  }
  int64_t span, nbytes = 0, before, item = tensor_dtype_size((tensor_dtype)dtype);
  if (!fits || __builtin_sub_overflow(last, first, &span) ||
      __builtin_mul_overflow(first, item, &before) ||
      (!empty && (span == INT64_MAX || __builtin_mul_overflow(span + 1, item, &nbytes))))
    return lt_reject(TENSOR_ERROR_VALUE,
                     "from_dlpack: the tensor has more bytes than a 64-bit integer can represent");
  void *data = NULL;
  if (nbytes &&
      !lt_foreign_bytes(v->data, v->byte_offset, 0 - (uint64_t)before, (uint64_t)nbytes, &data))
    return lt_reject(TENSOR_ERROR_VALUE,
                     "from_dlpack: %lld bytes at address %p and byte_offset %llu are outside of "
                     "the address space",
                     (long long)nbytes, v->data, (unsigned long long)v->byte_offset);
  const bool aligned = !lt_misaligned((tensor_dtype)dtype, data);
  if (aligned && !flips)
    return tensor_from_blob_on(device, data, nbytes, (tensor_dtype)dtype, v->shape, v->ndim,
                               strides, v->ndim, deleter, managed, read_only, out);
  tensor_t *seen;
  tensor_status status =
      aligned || device.type != TENSOR_CPU
          ? tensor_from_blob_on(device, data, nbytes, (tensor_dtype)dtype, v->shape, v->ndim,
                                strides, v->ndim, NULL, NULL, read_only, &seen)
          : copy_bytes(data, nbytes, (tensor_dtype)dtype, v, strides, &seen);
  if (status) return status;
  status =
      flips ? tensor_flip(seen, backward, flips, out) : tensor_clone(seen, TENSOR_PRESERVE, out);
  tensor_free(seen);
  if (!status) deleter(managed);
  return status;
}

TENSOR_API tensor_status tensor_from_dlpack(void *managed, bool with_version, tensor_t **out) {
  if (!lt_check_pointer(managed, "from_dlpack", "managed") ||
      !lt_check_pointer(out, "from_dlpack", "out"))
    return TENSOR_ERROR_VALUE;
  if (!with_version)
    return import(&((legacy *)managed)->tensor, false, delete_legacy, managed, out);
  versioned *m = managed;
  if (m->major != MAJOR)
    return lt_reject(TENSOR_ERROR_RUNTIME,
                     "from_dlpack: DLPack %u.%u is not supported; version %d is", m->major,
                     m->minor, MAJOR);
  return import(&m->tensor, (m->flags & READ_ONLY) != 0, delete_versioned, managed, out);
}
