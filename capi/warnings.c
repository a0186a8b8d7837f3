// The application's warning handler. It is kept in C, so that it can be set before the library is
// started.
#include <pthread.h>
#include <stdlib.h>

#include "handle.h"
#include "restart.h"

typedef struct listener {
  tensor_warning_handler handler;
  void *context;
  tensor_deleter deleter;
  int64_t holders;  // the calls that use it, and `current`
} listener;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
LT_KEPT static listener *_Atomic current;

static void let_go(listener *l) {
  pthread_mutex_lock(&lock);
  const _Bool last = l && --l->holders == 0;
  pthread_mutex_unlock(&lock);
  if (!last) return;
  if (l->deleter) l->deleter(l->context);
  free(l);
}

TENSOR_API tensor_status tensor_set_warning_handler(tensor_warning_handler handler, void *context,
                                                    tensor_deleter deleter) {
  listener *l = handler ? malloc(sizeof *l) : NULL;
  if (handler && !l) {
    lt_fail(0, "set_warning_handler: not enough memory to register the handler");
    return TENSOR_ERROR_MEMORY;
  }
  if (l) *l = (listener){handler, context, deleter, 1};
  pthread_mutex_lock(&lock);
  listener *before = current;
  current = l;
  pthread_mutex_unlock(&lock);
  let_go(before);
  return TENSOR_OK;
}

_Bool lt_listens(void) { return current != NULL; }

int32_t lt_warn(const char *kind, const char *text) {
  pthread_mutex_lock(&lock);
  listener *l = current;
  if (l) l->holders++;
  pthread_mutex_unlock(&lock);
  if (!l) return TENSOR_OK;
  const tensor_status status = l->handler(l->context, kind, text);
  let_go(l);
  return (int32_t)status;
}
