// Copies of operands in ArrayBuffers, whose memory can be transferred while an asynchronous call
// runs: the call uses the copies, and copies written elements back at its end.
#include <stdio.h>

#include "addon.h"

// The copy that the call uses in place of a tensor, NULL for the tensor itself.
static tensor_t *copy_of(const lt_call *call, const lt_box *box) {
  for (int i = 0; i < call->held_count; i++)
    if (call->held[i].box == box && call->held[i].copy) return call->held[i].copy;
  return NULL;
}

// A SharedArrayBuffer cannot be transferred.
static bool needs_copy(const lt_box *box) {
  const lt_memory *m = box->memory;
  return box->kind == LT_TENSOR && m && m->buffer && m->buffer->detachable;
}

bool lt_copy_operands(napi_env env, const lt_env *e, lt_call *call) {
  for (int i = 0; call->shares && i < call->held_count; i++) {
    lt_held *held = &call->held[i];
    if (!needs_copy(held->box)) continue;
    tensor_t *copy = copy_of(call, held->box);
    tensor_status status = copy ? TENSOR_OK : lt_resume(e->default_dtype);
    if (!copy && !status) {
      status = tensor_clone(held->box->handle, TENSOR_PRESERVE, &held->copy);
      copy = held->copy;
      lt_pause();
    }
    if (status) {
      lt_throw_last(env, status, call->name);
      return false;
    }
    *held->handle = copy;
  }
  return true;
}

static bool same_sizes(const tensor_t *a, const tensor_t *b) {
  int64_t dim = tensor_dim(a);
  return dim == tensor_dim(b) &&
         memcmp(tensor_sizes(a), tensor_sizes(b), (size_t)dim * sizeof dim) == 0;
}

static tensor_status give_back(napi_env env, const lt_call *call, const lt_held *held,
                               const tensor_t *copy, char **message) {
  tensor_t *t = held->box->handle;
  tensor_status status = TENSOR_OK;
  if (lt_buffer_detached(env, held->box->memory->buffer)) {
    char text[512];
    snprintf(text, sizeof text,
             "%s: the ArrayBuffer of argument '%s' was transferred, or its WebAssembly.Memory "
             "grew, during the call, so the result was lost; pass a tensor with separate memory",
             call->name, held->argument);
    *message = strdup(text);
    return TENSOR_ERROR_HANDLE;
  }
  if (!same_sizes(t, copy))
    status = tensor_resize_(t, tensor_sizes(copy), tensor_dim(copy), TENSOR_CONTIGUOUS);
  if (!status) status = tensor_copy_(t, copy, false);
  if (status) *message = lt_in_name_of(call->name, tensor_last_error());
  return status;
}

tensor_status lt_copy_back(napi_env env, const lt_call *call, char **message) {
  tensor_status status = TENSOR_OK;
  for (int i = 0; !status && i < call->held_count; i++) {
    const lt_held *held = &call->held[i];
    const tensor_t *copy = held->access >= LT_WRITES ? copy_of(call, held->box) : NULL;
    if (copy) status = give_back(env, call, held, copy, message);
  }
  return status;
}

void lt_drop_copies(lt_call *call) {
  for (int i = 0; i < call->held_count; i++) {
    if (call->held[i].copy) tensor_free(call->held[i].copy);
    call->held[i].copy = NULL;
  }
}

bool lt_writes_shared(const lt_call *call) {
  for (int i = 0; i < call->held_count; i++) {
    const lt_box *box = call->held[i].box;
    for (int k = 0; call->held[i].access >= LT_WRITES && k < call->held_count; k++)
      if (call->held[k].box != box && lt_overlap(call->held[k].box, box)) return true;
  }
  return false;
}
