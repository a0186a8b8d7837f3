// The ArrayBuffers that contain tensors.
#include "addon.h"

void lt_release_buffer(napi_env env, lt_buffer *buffer) {
  if (--buffer->holders > 0) return;
  if (buffer->next) buffer->next->link = buffer->link;
  if (buffer->link) *buffer->link = buffer->next;
  napi_delete_reference(env, buffer->array_buffer);
  free(buffer);
}

bool lt_buffer_detached(napi_env env, const lt_buffer *buffer) {
  napi_value array_buffer;
  bool detached;
  return napi_get_reference_value(env, buffer->array_buffer, &array_buffer) == napi_ok &&
         napi_is_detached_arraybuffer(env, array_buffer, &detached) == napi_ok && detached;
}

const lt_buffer *lt_buffer_of(napi_env env, const lt_env *e, const tensor_t *t) {
  void *data = NULL;
  if (!e->buffers || tensor_data_ptr(t, &data) || !data) return NULL;
  // Where memory was taken away, another array's may be there since,
  const lt_buffer *found = NULL;
  for (const lt_buffer *b = e->buffers; b; b = b->next) {
    if ((const char *)data < b->data || (const char *)data >= b->data + b->length) continue;
    if (!found || !lt_buffer_detached(env, b)) found = b;
  }
  // or the library's own, which can be resized.
  tensor_storage_t *storage;
  bool resizable = true;
  if (!found || tensor_untyped_storage(t, &storage)) return NULL;
  if (tensor_storage_resizable(storage, &resizable)) resizable = true;
  tensor_storage_free(storage);
  return resizable ? NULL : found;
}
