// Handles: a tensor_t * is the address of a slot, with a tag of the slot's generation in its low
// bits. Any pointer can be validated: addresses outside of the table or between slots, freed
// handles, and handles of a reused slot are detected.
#ifndef LIBTENSOR_CAPI_HANDLE_H
#define LIBTENSOR_CAPI_HANDLE_H

#include "arguments.h"
#include "errors.h"
#include "table.h"
#include "value.h"

enum { LT_RESULTS = 8 };

// A call: the operator, its form, its arguments.
typedef struct lt_frame {
  int32_t op, mode;
  const char *name;  // the operator's name for the caller
  _Bool runs;        // errors keep the names of the inner operators, which are more specific
  int32_t number;    // position + 1 of an operand that is given as a scalar, 0 for none
  lt_value *args;
  lt_thread *thread;         // the caller's record
  lt_slot *freed;            // slots for the call to empty first
  lt_slot *out[LT_RESULTS];  // LT_OUT: the tensors to write
  lt_value results[LT_RESULTS];
} lt_frame;

tensor_status lt_invoke(lt_frame *frame, const char *op);
// lt_invoke with another function of Go than lt_enter.
tensor_status lt_invoke_with(lt_frame *frame, const char *op, int32_t (*enter)(lt_frame *));
// Frees the results of a call of an operator, which was cancelled after it had made them.
void lt_drop_results(lt_frame *frame);
// Empties freed slots that a call had pinned, after it has ended.
void lt_settle(void);

// For the Go side.
// The slots whose handles were freed since a call took them: the caller empties them.
lt_slot *lt_take_freed(void);

// Postpones the release of a freed slot that a running call uses until a call ends.
void lt_postpone(lt_slot *slot);
// lt_listens returns whether the application has a warning handler. lt_warn calls it, and returns
// its tensor_status.
_Bool lt_listens(void);
int32_t lt_warn(const char *kind, const char *text);

#endif
