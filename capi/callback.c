#include "callback.h"

#include <stdlib.h>

#include "handle.h"

lt_callback *lt_hold_callback(lt_callback_slot *slot) {
  pthread_mutex_lock(&slot->lock);
  lt_callback *c = slot->current;
  if (c) c->holders++;
  pthread_mutex_unlock(&slot->lock);
  return c;
}

void lt_drop_callback(lt_callback_slot *slot, lt_callback *c) {
  pthread_mutex_lock(&slot->lock);
  const bool is_last = c && --c->holders == 0;
  pthread_mutex_unlock(&slot->lock);
  if (!is_last) return;
  if (c->deleter) c->deleter(c->context);
  free(c);
}

// A callback that can be restored.
typedef struct lt_replaced {
  struct lt_replaced *next;
  lt_callback *callback;
  int64_t id;
} lt_replaced;

static tensor_status fail_memory(const char *op) {
  return lt_reject(TENSOR_ERROR_MEMORY, "%s: not enough memory to register the function", op);
}

// Copies a callback; without a first function there is none.
static bool copy_callback(const lt_callback *callback, lt_callback **copy) {
  *copy = NULL;
  if (!callback->functions[0]) return true;
  if (!(*copy = malloc(sizeof **copy))) return false;
  **copy = *callback, (*copy)->holders = 1;
  return true;
}

tensor_status lt_set_callback(lt_callback_slot *slot, lt_callback callback, const char *op) {
  lt_callback *c;
  if (!copy_callback(&callback, &c)) return fail_memory(op);
  pthread_mutex_lock(&slot->lock);
  lt_callback *before = slot->current;
  slot->current = c;
  pthread_mutex_unlock(&slot->lock);
  lt_drop_callback(slot, before);
  return TENSOR_OK;
}

tensor_status lt_replace_callback(lt_callback_slot *slot, lt_callback callback, const char *op,
                                  int64_t *previous) {
  lt_callback *c;
  lt_replaced *unused = malloc(sizeof *unused);
  if (!unused || !copy_callback(&callback, &c)) return free(unused), fail_memory(op);
  pthread_mutex_lock(&slot->lock);
  *previous = 0;
  if (slot->current) {
    *previous = ++slot->last_id;
    *unused = (lt_replaced){slot->replaced, slot->current, *previous};
    slot->replaced = unused, unused = NULL;
  }
  slot->current = c;
  pthread_mutex_unlock(&slot->lock);
  free(unused);
  return TENSOR_OK;
}

bool lt_restore_callback(lt_callback_slot *slot, int64_t id) {
  pthread_mutex_lock(&slot->lock);
  lt_replaced **at = &slot->replaced;
  while (*at && (*at)->id != id) at = &(*at)->next;
  lt_replaced *found = *at;
  lt_callback *before = NULL;
  if (found) *at = found->next;
  if (found || !id) before = slot->current, slot->current = found ? found->callback : NULL;
  pthread_mutex_unlock(&slot->lock);
  lt_drop_callback(slot, before);
  free(found);
  return found || !id;
}
