// The application's observer of operator calls.
#ifndef LIBTENSOR_CAPI_OBSERVER_H
#define LIBTENSOR_CAPI_OBSERVER_H

#include "callback.h"
#include "handle.h"

extern lt_callback_slot lt_observer;

// Whether there is an observer: without one, calls only read this.
static inline _Bool lt_is_observed(void) {
  return atomic_load_explicit(&lt_observer.current, memory_order_relaxed) != NULL;
}

// Sets whether the calls of the thread are hidden from observers, as those are that the library
// makes for other reasons than an operator of the application. Returns the setting before.
_Bool lt_hide_calls(_Bool hidden);

// A call that is observed.
typedef struct lt_observation {
  lt_callback *observer;  // NULL for none
  const char *name;
  int64_t began;
} lt_observation;

// Reports the beginning of a call with its tensors, of pinned slots, and its end with those of its
// results.
void lt_observe_begin(lt_observation *o, const char *name, lt_slot *const *tensors, int32_t count);
void lt_observe_end(lt_observation *o, tensor_status status, lt_slot *const *tensors,
                    int32_t count);

// The same with the live tensors of handles.
void lt_observe_tensors(lt_observation *o, const char *name, tensor_t *const *tensors,
                        int64_t count);
void lt_observe_end_tensors(lt_observation *o, tensor_status status, tensor_t *const *tensors,
                            int64_t count);

// Adds the live tensors of a value to a list of at most LT_MOST_OBSERVED slots, by the letter of
// its kind. Returns the new length.
int32_t lt_add_observed(lt_slot **list, int32_t n, char kind, const lt_value *value);

// The same for operators of the table. The most tensors that an event has.
enum { LT_MOST_OBSERVED = 64 };
void lt_observe_arguments(lt_observation *o, const lt_operator *op, const char *name,
                          const lt_frame *frame);
void lt_observe_results(lt_observation *o, const lt_operator *op, const lt_frame *frame,
                        tensor_status status);

#endif
