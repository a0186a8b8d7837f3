// Memory shared between tensors and ArrayBuffers, in both directions.
#include <stdio.h>

#include "addon.h"

static void open_letter(napi_env env, lt_letter *letter) {
  lt_release_buffer(env, (lt_buffer *)letter);
}

// The deleter of storages in ArrayBuffers: any thread.
static void storage_freed(void *context) { lt_post(context); }

// ----------------------------------------------------------------------------------------- loans

// The data of an ArrayBuffer that data() returned: the storage, and the accounting of its memory.
typedef struct lt_loan {
  tensor_t *held;
  lt_memory *memory;
  const char *data;
  size_t bytes;
  struct lt_loan *previous, *next;  // of the environment's
} loan;

static void buffer_collected(napi_env env, void *data, void *hint) {
  (void)data;
  lt_env *e = lt_get_env(env);
  loan *l = hint;
  if (!e || e->closing) return;
  if (l->previous)
    l->previous->next = l->next;
  else
    e->loans = l->next;
  if (l->next) l->next->previous = l->previous;
  tensor_free(l->held);
  if (l->memory) lt_leave_memory(env, e, l->memory);
  free(l);
}

// The loan that contains an address, NULL for none.
static const loan *find_loan(const lt_env *e, const void *address) {
  const loan *l = e->loans;
  while (l && ((const char *)address < l->data || (const char *)address >= l->data + l->bytes))
    l = l->next;
  return l;
}

// ------------------------------------------------------------------------------- typed arrays in

// The bytes of a typed array according to the runtime: properties of the object may be overwritten.
typedef struct span {
  napi_value array_buffer;
  void *data;
  size_t bytes;
} span;

static bool typed_span(napi_env env, napi_value value, span *to) {
  static const uint8_t sizes[] = {
      [napi_int8_array] = 1,     [napi_uint8_array] = 1,     [napi_uint8_clamped_array] = 1,
      [napi_int16_array] = 2,    [napi_uint16_array] = 2,    [napi_int32_array] = 4,
      [napi_uint32_array] = 4,   [napi_float32_array] = 4,   [napi_float64_array] = 8,
      [napi_bigint64_array] = 8, [napi_biguint64_array] = 8, [napi_float16_array] = 2};
  napi_typedarray_type type;
  size_t length, offset;
  if (!lt_ok(env, napi_get_typedarray_info(env, value, &type, &length, &to->data, &to->array_buffer,
                                           &offset)))
    return false;
  bool detached;
  if (!lt_ok(env, napi_is_detached_arraybuffer(env, to->array_buffer, &detached))) return false;
  if (detached) {
    lt_throw_status(env, TENSOR_ERROR_HANDLE,
                    "tensor: the ArrayBuffer of the array was transferred");
    return false;
  }
  if ((size_t)type >= sizeof sizes) return lt_throw_type(env, "an unsupported typed array");
  to->bytes = length * sizes[type];
  return true;
}

static void tensor_unused(void *held) { tensor_free(held); }

// A tensor over memory that data() has given out: it has the storage itself, since an ArrayBuffer
// that it kept would keep the ArrayBuffer's own loan.
static napi_value share_loan(napi_env env, const loan *l, const span *s, tensor_dtype dtype,
                             const int64_t *size, int64_t dim) {
  tensor_t *held, *t;
  tensor_status status = tensor_new_handle(l->held, &held);
  if (status) return lt_throw_last(env, status, "asTensor");
  status = tensor_from_blob(s->data, (int64_t)s->bytes, dtype, size, dim, NULL, 0,
                            (void *)tensor_unused, held, false, &t);
  if (!status) return lt_wrap(env, LT_TENSOR, t, NULL);
  tensor_free(held);
  return lt_throw_last(env, status, "asTensor");
}

// A tensor over the memory of an ArrayBuffer, which stays as long as the tensor does.
static napi_value share_memory(napi_env env, const span *s, tensor_dtype dtype, const int64_t *size,
                               int64_t dim) {
  lt_buffer *buffer = calloc(1, sizeof *buffer);
  if (!buffer) return lt_throw_status(env, TENSOR_ERROR_MEMORY, "asTensor: no memory");
  buffer->data = s->data, buffer->length = s->bytes, buffer->holders = 1;
  buffer->letter.open = open_letter;
  tensor_t *t;
  if (!lt_ok(env, napi_is_arraybuffer(env, s->array_buffer, &buffer->detachable)) ||
      !lt_ok(env, napi_create_reference(env, s->array_buffer, 1, &buffer->array_buffer))) {
    free(buffer);
    return NULL;
  }
  tensor_status status = tensor_from_blob(s->data, (int64_t)s->bytes, dtype, size, dim, NULL, 0,
                                          (void *)storage_freed, buffer, false, &t);
  if (status) {
    lt_release_buffer(env, buffer);
    return lt_throw_status(env, status, tensor_last_error());
  }
  lt_env *e = lt_get_env(env);
  lt_expect(e->inbox, &buffer->letter);
  buffer->next = e->buffers, buffer->link = &e->buffers;
  if (e->buffers) e->buffers->link = &buffer->next;
  e->buffers = buffer;
  // The box finds the buffer as one finds that of a call's tensor.
  lt_memory memory = {.buffer = buffer};
  lt_box box = {.memory = &memory};
  lt_held held = {.box = &box};
  lt_call call = {.aliases = true, .shares = true, .held = &held, .held_count = 1};
  return lt_wrap(env, LT_TENSOR, t, &call);
}

// fromTypedArray(typedArray, dtype, sizes as a BigInt64Array, share): a tensor of the array's
// elements, or over its memory.
static napi_value from_typed_array(napi_env env, napi_callback_info info) {
  size_t argc = 4;
  napi_value argv[4];
  char name[16] = "";
  span s, sizes;
  tensor_dtype dtype;
  bool share;
  lt_make_room(env, lt_get_env(env));
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL)) ||
      !typed_span(env, argv[0], &s) || !typed_span(env, argv[2], &sizes) ||
      !lt_ok(env, napi_get_value_bool(env, argv[3], &share)))
    return NULL;
  if (!lt_short_text(env, argv[1], name, sizeof name) || !lt_read_dtype(name, &dtype)) {
    lt_throw_type(env, "tensor: dtype '%s' does not exist", name);
    return NULL;
  }
  const int64_t *size = sizes.data;
  int64_t dim = (int64_t)(sizes.bytes / sizeof *size), bytes = tensor_dtype_size(dtype);
  bool fits = true;
  for (int64_t i = 0; i < dim; i++)
    fits = fits && size[i] >= 0 && !__builtin_mul_overflow(bytes, size[i], &bytes);
  if (!fits || (size_t)bytes != s.bytes) {
    char message[128], needed[48] = "more bytes than a 64-bit integer can represent";
    if (fits) snprintf(needed, sizeof needed, "%lld bytes", (long long)bytes);
    snprintf(message, sizeof message, "tensor: the shape requires %s of %s, but the array has %zu",
             needed, name, s.bytes);
    return lt_throw_status(env, TENSOR_ERROR_VALUE, message);
  }
  const loan *l = share && s.bytes ? find_loan(lt_get_env(env), s.data) : NULL;
  if (l) return share_loan(env, l, &s, dtype, size, dim);
  if (share && s.bytes) return share_memory(env, &s, dtype, size, dim);
  tensor_t *t;
  tensor_status status = tensor_from_data(s.data, size, dim, dtype, &t);
  return status ? lt_throw_status(env, status, tensor_last_error())
                : lt_wrap(env, LT_TENSOR, t, NULL);
}

// ------------------------------------------------------------------------------ typed arrays out

// The ArrayBuffer that a box has given out before and that still shows its elements, NULL without.
static napi_value lent_before(napi_env env, const lt_box *box, const void *data, size_t bytes) {
  napi_value array_buffer = NULL;
  bool detached;
  if (!box->lent || box->lent_data != data || box->lent_bytes != bytes ||
      napi_get_reference_value(env, box->lent, &array_buffer) != napi_ok || !array_buffer ||
      napi_is_detached_arraybuffer(env, array_buffer, &detached) != napi_ok || detached)
    return NULL;
  return array_buffer;
}

// An ArrayBuffer over the memory of a tensor. It keeps the storage alive and at its address. It is
// NULL if that is not possible: for read-only memory, or a runtime without external memory. It is
// created once, since each one counts as new memory of JavaScript.
static bool lend(napi_env env, lt_box *box, size_t bytes, napi_value *array_buffer) {
  tensor_t *held;
  void *data;
  bool read_only;
  tensor_status status = tensor_lend(box->handle, &held, &data, &read_only);
  if (status) {
    lt_throw_last(env, status, "data");
    return false;
  }
  loan *l = NULL;
  if (!(*array_buffer = lent_before(env, box, data, bytes)) && !read_only) l = malloc(sizeof *l);
  if (!l) {
    tensor_free(held);
    return true;
  }
  lt_track(env, lt_get_env(env), box);
  *l = (loan){.held = held, .memory = box->memory, .data = data, .bytes = bytes};
  napi_status made =
      napi_create_external_arraybuffer(env, data, bytes, buffer_collected, l, array_buffer);
  if (made != napi_ok) {
    tensor_free(held);
    free(l);
    *array_buffer = NULL;
    return made == napi_no_external_buffers_allowed || lt_ok(env, made);
  }
  if (l->memory) l->memory->users++;
  lt_env *e = lt_get_env(env);
  l->next = e->loans;
  if (l->next) l->next->previous = l;
  e->loans = l;
  if (box->lent) napi_delete_reference(env, box->lent);
  box->lent = NULL, box->lent_data = data, box->lent_bytes = bytes;
  return lt_ok(env, napi_create_reference(env, *array_buffer, 0, &box->lent));
}

static bool is_contiguous(const tensor_t *t) {
  const int64_t *sizes = tensor_sizes(t), *strides = tensor_strides(t);
  int64_t expected = 1;
  if (tensor_numel(t) == 0) return true;
  for (int64_t i = tensor_dim(t) - 1; i >= 0; i--) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

// The bytes of a tensor in an ArrayBuffer, as a part of that buffer: a transfer detaches both.
static napi_value part_of(napi_env env, const lt_buffer *buffer, const tensor_t *t, size_t bytes) {
  napi_value array_buffer, result;
  void *data, *start;
  size_t length;
  tensor_status status = tensor_data_ptr(t, &data);
  if (status) return lt_throw_last(env, status, "data");
  if (!lt_ok(env, napi_get_reference_value(env, buffer->array_buffer, &array_buffer)) ||
      !lt_ok(env, napi_get_arraybuffer_info(env, array_buffer, &start, &length)) ||
      !lt_ok(env, napi_create_typedarray(env, napi_uint8_array, bytes, array_buffer,
                                         (size_t)((char *)data - (char *)start), &result)))
    return NULL;
  return result;
}

// memoryOf(tensor, share): the tensor's elements, as a Uint8Array of their ArrayBuffer, or as an
// ArrayBuffer over them, or over a copy: if share is false, the runtime has no external memory, or
// the memory is read-only. Returns undefined if the elements are not contiguous, or not stored in
// the memory itself.
static napi_value memory_of(napi_env env, napi_callback_info info) {
  size_t argc = 2;
  napi_value argv[2], result = NULL;
  lt_js js;
  bool share;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL)) ||
      !lt_look(env, argv[0], &js) || !lt_ok(env, napi_get_value_bool(env, argv[1], &share)))
    return NULL;
  if (js.kind != LT_JS_TENSOR) {
    lt_throw_type(env, "data: the argument must be a tensor");
    return NULL;
  }
  if (!lt_check_box(env, "data", "self", js.box, LT_READS)) return NULL;
  tensor_t *t = js.box->handle;
  if (tensor_get_device(t).type == TENSOR_META)
    return lt_throw_status(env, TENSOR_ERROR_RUNTIME,
                           "data: tensors on the meta device have no elements; zerosLike(tensor, "
                           "{device: 'cpu'}) creates one that has");
  if (tensor_get_device(t).type != TENSOR_CPU)
    return lt_throw_status(
        env, TENSOR_ERROR_RUNTIME,
        "data: only tensors on the CPU are supported; copy the tensor with to('cpu')");
  if (!is_contiguous(t) || tensor_lazy(t)) return NULL;
  size_t bytes = (size_t)(tensor_numel(t) * tensor_dtype_size(tensor_get_dtype(t)));
  void *data = NULL, *copy;
  const lt_buffer *buffer = share && bytes ? lt_buffer_of(env, lt_get_env(env), t) : NULL;
  if (buffer && buffer->detachable) return part_of(env, buffer, t, bytes);
  if (share && bytes && !lend(env, js.box, bytes, &result)) return NULL;
  if (result) return result;
  tensor_status status = tensor_data_ptr(t, &data);
  if (status) return lt_throw_last(env, status, "data");
  if (!lt_ok(env, napi_create_arraybuffer(env, bytes, &copy, &result))) return NULL;
  if (bytes) memcpy(copy, data, bytes);
  return result;
}

bool lt_define_buffers(napi_env env, napi_value exports) {
  const napi_property_descriptor functions[] = {
      {"fromTypedArray", NULL, from_typed_array, NULL, NULL, NULL, napi_default, NULL},
      {"memoryOf", NULL, memory_of, NULL, NULL, NULL, napi_default, NULL},
  };
  return lt_ok(
      env, napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions));
}
