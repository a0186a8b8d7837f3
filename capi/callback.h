// Functions of the application that the whole process shares, each with a context. They are kept in
// C, so that they can be set before the library is started.
#ifndef LIBTENSOR_CAPI_CALLBACK_H
#define LIBTENSOR_CAPI_CALLBACK_H

#include <pthread.h>
#include <stdatomic.h>

#include "../include/tensor.h"

// A function, or a pair of functions, with their context. `holders` counts their users, among which
// is the slot in which they are current.
typedef struct lt_callback {
  void (*functions[2])(void);
  void *context;
  tensor_deleter deleter;
  int64_t holders;
} lt_callback;

// Holds the current callback of one kind; NULL for none. Declare it LT_KEPT. `current` may be
// compared with NULL without the lock. `replaced` are those that can be restored.
typedef struct lt_callback_slot {
  pthread_mutex_t lock;
  lt_callback *_Atomic current;
  struct lt_replaced *replaced;
  int64_t last_id;
} lt_callback_slot;
#define LT_CALLBACK_SLOT {PTHREAD_MUTEX_INITIALIZER, NULL, NULL, 0}

// Replaces the current callback: `callback` is copied, and without a first function there is none.
// Returns an error of `op` if there is no memory; nothing has changed then.
tensor_status lt_set_callback(lt_callback_slot *slot, lt_callback callback, const char *op);
// Sets the callback as lt_set_callback does, but keeps the previous one: `previous` is its id for
// lt_restore_callback; 0 for none.
tensor_status lt_replace_callback(lt_callback_slot *slot, lt_callback callback, const char *op,
                                  int64_t *previous);
// Sets a callback that was replaced; none for the id 0. Returns false for another id; nothing has
// changed then.
bool lt_restore_callback(lt_callback_slot *slot, int64_t id);
// Returns the current callback, or NULL. The caller ends its use with lt_drop_callback.
lt_callback *lt_hold_callback(lt_callback_slot *slot);
// Ends a use. The last one calls the deleter. Does nothing for NULL.
void lt_drop_callback(lt_callback_slot *slot, lt_callback *callback);

#endif
