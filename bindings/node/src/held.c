// The resources that a call holds until it ends: its tensors, temporaries, and the memory of its
// lists.
#include "addon.h"

typedef struct lt_block {
  struct lt_block *next;
  _Alignas(16) char data[];
} lt_block;

void *lt_allocate(lt_call *call, size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  if (bytes <= sizeof call->inline_block - call->used) {
    void *p = call->inline_block + call->used;
    call->used += bytes;
    return p;
  }
  lt_block *block = malloc(sizeof *block + bytes);
  if (!block) return NULL;
  block->next = call->blocks;
  call->blocks = block;
  return block->data;
}

typedef struct lt_temporary {
  tensor_t *tensor;
  struct lt_temporary *next;
} lt_temporary;

bool lt_keep_tensor(napi_env env, lt_call *call, tensor_t *tensor) {
  lt_temporary *kept = lt_allocate(call, sizeof *kept);
  if (!kept) {
    tensor_free(tensor);
    lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for the arguments");
    return false;
  }
  *kept = (lt_temporary){tensor, call->temporaries};
  call->temporaries = kept;
  return true;
}

bool lt_hold(napi_env env, lt_call *call, const char *argument, lt_box *box, lt_access access,
             void **handle) {
  if (access == LT_READS && call->views) access = LT_LOOKS;
  if (!lt_check_box(env, call->name, argument, box, access)) return false;
  if (call->held_count == call->held_room) {
    int32_t room = call->held_room ? 2 * call->held_room : 4;
    lt_held *held = lt_allocate(call, (size_t)room * sizeof *held);
    if (!held) {
      lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for the arguments");
      return false;
    }
    if (call->held_count) memcpy(held, call->held, (size_t)call->held_count * sizeof *held);
    call->held = held, call->held_room = room;
  }
  call->held[call->held_count++] =
      (lt_held){.box = box, .argument = argument, .access = access, .handle = handle};
  call->shares |= box->memory && box->memory->buffer;
  call->moves |= access == LT_MOVES;
  *handle = box->handle;
  return true;
}

bool lt_check_held(napi_env env, const lt_call *call) {
  for (int i = 0; i < call->held_count; i++) {
    const lt_held *held = &call->held[i];
    if (!lt_check_box(env, call->name, held->argument, held->box, held->access)) return false;
  }
  return true;
}

void lt_start_call(lt_call *call, const lt_overload *op, int mode) {
  call->op = op, call->mode = mode;
  call->shares = call->moves = false;
  call->views = mode == LT_FUNCTION && op->result_count > 0;
  call->aliases = false;
  for (int i = 0; i < op->result_count; i++) {
    bool alias = op->results[i].flags & LT_IS_ALIAS || op->results[i].type == LT_STORAGE;
    call->views &= alias;
    call->aliases |= alias;
  }
  call->held = NULL, call->held_count = call->held_room = 0;
  call->temporaries = NULL;
  call->callback = NULL;
  call->blocks = NULL, call->used = 0;
  call->names = NULL, call->name_count = 0;
  call->leaf = false;
  call->waiting = NULL, call->reused = call->made = 0;
}

void lt_end_call(lt_call *call) {
  for (lt_temporary *t = call->temporaries; t; t = t->next) tensor_free(t->tensor);
  if (call->callback) lt_let_go(call->callback);
  while (call->blocks) {
    lt_block *next = call->blocks->next;
    free(call->blocks);
    call->blocks = next;
  }
}
