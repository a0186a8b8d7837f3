// What a binding asks at every call of a custom function (tensor_record_function), which operators
// would take longer for.
#ifndef LIBTENSOR_CAPI_FUNCTIONS_H
#define LIBTENSOR_CAPI_FUNCTIONS_H

#include "../include/tensor.h"

// What autograd knows of a tensor. An untracked view was made under no_grad of one that requires
// grad, and requires grad as that does. A stale view has no gradient since its memory was written
// to.
enum { LT_NO_GRADIENT, LT_GRADIENT, LT_UNTRACKED_VIEW, LT_STALE_VIEW };

// Returns whether the calling thread is inside a transform.
TENSOR_API bool tensor_is_transforming(void);

// Sets whether operations of the calling thread are recorded, and returns whether they were.
TENSOR_API bool tensor_exchange_grad_enabled(bool enabled);

// Has the calling thread in the transform around that of a number, and returns the one that it was
// in, for tensor_restore_transform. A number of no transform changes nothing.
TENSOR_API uint32_t tensor_lower_transform(int64_t level);
TENSOR_API void tensor_restore_transform(uint32_t level);

// Writes what autograd knows of each of n tensors to kinds. With usable, a stale view is an error.
TENSOR_API tensor_status tensor_gradient_kinds(const tensor_t *const *tensors, int64_t n,
                                               bool usable, uint8_t *kinds);

// Returns the context that tensor_record_function was given with deleter for the call that made
// self, where nothing but self keeps that call; otherwise NULL. Calls no function of the program,
// so that a garbage collector may ask.
TENSOR_API void *tensor_sole_context(const tensor_t *self, tensor_deleter deleter);

#endif
