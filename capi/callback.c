#include "callback.h"

#include <stdio.h>
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

tensor_status lt_set_callback(lt_callback_slot *slot, lt_callback callback, const char *op) {
  lt_callback *c = callback.functions[0] ? malloc(sizeof *c) : NULL;
  if (callback.functions[0] && !c) {
    char text[96];
    snprintf(text, sizeof text, "%s: not enough memory to register the function", op);
    lt_fail(0, text);
    return TENSOR_ERROR_MEMORY;
  }
  if (c) *c = callback, c->holders = 1;
  pthread_mutex_lock(&slot->lock);
  lt_callback *before = slot->current;
  slot->current = c;
  pthread_mutex_unlock(&slot->lock);
  lt_drop_callback(slot, before);
  return TENSOR_OK;
}
