#include "functions.h"

#include "_cgo_export.h"
#include "handle.h"

static lt_thread *find_thread(void) { return lt_me || lt_join() ? lt_me : NULL; }

bool tensor_is_transforming(void) {
  const lt_thread *me = find_thread();
  return me && me->modes.level;
}

bool tensor_exchange_grad_enabled(bool enabled) {
  lt_thread *me = find_thread();
  if (!me) return false;
  const bool before = me->modes.grad;
  me->modes.grad = enabled;
  return before;
}

uint32_t tensor_lower_transform(int64_t level) {
  lt_thread *me = find_thread();
  if (!me) return 0;
  const uint32_t before = me->modes.level;
  me->modes.level = lt_transform_around(me, level);
  return before;
}

void tensor_restore_transform(uint32_t level) {
  lt_thread *me = find_thread();
  if (me) me->modes.level = level;
}

tensor_status tensor_gradient_kinds(const tensor_t *const *tensors, int64_t n, bool usable,
                                    uint8_t *kinds) {
  for (int64_t i = 0; i < n; i++) {
    lt_slot *slot = lt_resolve(tensors[i], LT_TENSOR, "gradient_kinds", "tensors");
    if (!slot) return TENSOR_ERROR_HANDLE;
    // Only slots with `immediate` set can hold tensors with autograd metadata (slot.freeEagerly).
    kinds[i] = slot->immediate ? lt_gradient_kind(slot) : LT_NO_GRADIENT;
    lt_unpin();
    tensor_node_t *none = NULL;
    if (usable && kinds[i] == LT_STALE_VIEW) return tensor_grad_fn(tensors[i], &none);
  }
  return TENSOR_OK;
}

void *tensor_sole_context(const tensor_t *self, tensor_deleter deleter) {
  lt_slot *slot = lt_pin(self);
  const uintptr_t found =
      slot && slot->kind == LT_TENSOR ? lt_sole_context(slot, (uintptr_t)deleter) : 0;
  lt_unpin();
  return (void *)found;
}
