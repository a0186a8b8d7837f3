#include "allocator.h"

#include "handle.h"
#include "restart.h"
#include "start.h"

LT_KEPT lt_callback_slot lt_allocator = LT_CALLBACK_SLOT;

void lt_deallocate(lt_callback *owner, void *data, int64_t size) {
  if (data) ((tensor_deallocate)owner->functions[1])(owner->context, data, size);
  lt_drop_callback(&lt_allocator, owner);
}

void *lt_allocate(int64_t size, int64_t alignment, lt_callback **owner) {
  lt_callback *c = *owner = lt_hold_callback(&lt_allocator);
  if (!c) return NULL;
  void *data = ((tensor_allocate)c->functions[0])(c->context, size, alignment);
  if (data && (uintptr_t)data % (uintptr_t)alignment == 0) return data;
  lt_deallocate(c, data, size);
  return NULL;
}

TENSOR_API tensor_status tensor_set_allocator(tensor_allocate allocate,
                                              tensor_deallocate deallocate, void *context,
                                              tensor_deleter deleter) {
  if (!allocate != !deallocate) {
    lt_fail(0, "set_allocator: allocate and deallocate must both be functions or both be NULL");
    return TENSOR_ERROR_VALUE;
  }
  const lt_callback set = {
      {(void (*)(void))allocate, (void (*)(void))deallocate}, context, deleter, 0};
  const tensor_status status = lt_set_callback(&lt_allocator, set, "set_allocator");
  if (status) return status;
  // Blocks that were freed before must not serve allocations from now on.
  return lt_state == LT_RUNNING ? tensor_empty_cache() : TENSOR_OK;
}
