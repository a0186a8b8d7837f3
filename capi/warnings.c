// The application's warning handler.
#include "callback.h"
#include "handle.h"
#include "restart.h"

LT_KEPT static lt_callback_slot handler = LT_CALLBACK_SLOT;

TENSOR_API tensor_status tensor_set_warning_handler(tensor_warning_handler function, void *context,
                                                    tensor_deleter deleter) {
  const lt_callback set = {{(void (*)(void))function}, context, deleter, 0};
  return lt_set_callback(&handler, set, "set_warning_handler");
}

_Bool lt_listens(void) { return handler.current != NULL; }

int32_t lt_warn(const char *kind, const char *text) {
  lt_callback *c = lt_hold_callback(&handler);
  if (!c) return TENSOR_OK;
  const tensor_status status = ((tensor_warning_handler)c->functions[0])(c->context, kind, text);
  lt_drop_callback(&handler, c);
  return (int32_t)status;
}
