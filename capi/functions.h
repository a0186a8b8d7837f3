// Queries that bindings make for every call of a custom autograd function (tensor_record_function).
// They bypass the operator call path, which would be slower.
#ifndef LIBTENSOR_CAPI_FUNCTIONS_H
#define LIBTENSOR_CAPI_FUNCTIONS_H

#include "../include/tensor.h"

// The autograd state of a tensor. An untracked view was made under no_grad from a tensor that
// requires grad, and has the requires_grad of its base. A stale view cannot be differentiated,
// because its memory was written to after it was made.
enum { LT_NO_GRADIENT, LT_GRADIENT, LT_UNTRACKED_VIEW, LT_STALE_VIEW };

// Returns whether the calling thread is inside a transform.
TENSOR_API bool tensor_is_transforming(void);

// Sets the grad mode of the calling thread, and returns the previous mode.
TENSOR_API bool tensor_exchange_grad_enabled(bool enabled);

// Sets the calling thread's innermost transform to the one that encloses transform `level`, and
// returns the previous one, for tensor_restore_transform. An unknown level changes nothing.
TENSOR_API uint32_t tensor_lower_transform(int64_t level);
TENSOR_API void tensor_restore_transform(uint32_t level);

// Writes the autograd state of each of n tensors to kinds. If `usable` is true, a stale view
// returns an error.
TENSOR_API tensor_status tensor_gradient_kinds(const tensor_t *const *tensors, int64_t n,
                                               bool usable, uint8_t *kinds);

// Returns the context that was passed with `deleter` to tensor_record_function for the node that
// created self, if self holds the only reference to the node; otherwise NULL. Calls no callbacks,
// so that a garbage collector can call it.
TENSOR_API void *tensor_sole_context(const tensor_t *self, tensor_deleter deleter);

#endif
