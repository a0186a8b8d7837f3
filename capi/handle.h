// Handles: a tensor_t * is the address of a slot in one reserved region, plus a tag from the slot's
// generation in its low bits. Any pointer can be checked, whatever it is: outside the region,
// between slots, freed, or of a recycled slot.
#ifndef LIBTENSOR_CAPI_HANDLE_H
#define LIBTENSOR_CAPI_HANDLE_H

#include <stdatomic.h>

#include "value.h"

enum { LT_TENSOR = 1, LT_STORAGE = 2, LT_GENERATOR = 3 };
enum { LT_EMPTY = 0, LT_LIVE = 1, LT_DEAD = 2 };
enum { LT_INLINE_DIMS = 8, LT_SLOT_BYTES = 256, LT_TAGS = 32, LT_MAX_SLOTS = 1 << 24 };

typedef struct lt_slot {
  _Atomic uint32_t state;
  uint32_t generation;
  void *key;             // go-pointer's key of the Go side of the slot's chunk
  struct lt_slot *next;  // in the queue of freed slots
  int64_t queued;        // length of that queue from this slot on
  uint8_t kind;
  int8_t dtype, layout, device_type;
  int16_t device_index;
  uint8_t immediate;  // free at once: the memory is large or somebody else's
  int32_t dim;
  int64_t numel, offset;
  int64_t *sizes, *strides;  // inline_dims, or a block of their own when there are more dimensions
  int64_t inline_dims[2 * LT_INLINE_DIMS];
} lt_slot;

enum { LT_FUNCTION = 0, LT_INPLACE = 1, LT_OUT = 2, LT_RESULTS = 8 };

// A call: which operator, how, with what.
typedef struct lt_frame {
  int32_t op, mode;
  int32_t number;  // position + 1 of an operand that is given as a scalar, 0 for none
  lt_value *args;
  lt_slot *out[LT_RESULTS];  // LT_OUT: the tensors to write
  lt_value results[LT_RESULTS];
} lt_frame;

// Finds the slot of a handle. On failure sets the last error, naming the operator and the argument,
// and returns NULL.
lt_slot *lt_resolve(const void *handle, int kind, const char *op, const char *argument);
// NULL-tolerant and list forms; false on failure.
_Bool lt_resolve_optional(const void *handle, int kind, const char *op, const char *argument,
                          lt_slot **slot);
_Bool lt_check_list(const void *handles, int64_t length, _Bool optional, const char *op,
                    const char *argument);
_Bool lt_check_texts(const char *const *texts, int64_t length, const char *op,
                     const char *argument);
_Bool lt_check_span(const void *data, int64_t length, const char *op, const char *argument);
_Bool lt_check_index(const tensor_index *items, int64_t length, const char *op,
                     const char *argument);
_Bool lt_check_range(int64_t value, int64_t low, int64_t high, const char *op,
                     const char *argument);
_Bool lt_check_pointer(const void *pointer, const char *op, const char *argument);
tensor_status lt_invoke(lt_frame *frame, const char *op);

// For the Go side.
lt_slot *lt_region(void);        // first slot; NULL when the region cannot be reserved
int64_t lt_grow(int64_t slots);  // makes more slots usable, returns how many there are now, or -1
_Atomic(lt_slot *) *lt_freed(void);  // queue of slots whose handles were freed
int64_t *lt_taken(void);             // how many slots are not free, kept by Go
void lt_fail(int32_t code, const char *message);

#endif
