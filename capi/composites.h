// What the functions of ATen's operators that are composed in C share (gen_aten.h declares them).
#ifndef LIBTENSOR_CAPI_COMPOSITES_H
#define LIBTENSOR_CAPI_COMPOSITES_H

#include "errors.h"
#include "gen_aten.h"

// Temporary tensors of a function, and its first error, after which RUN does nothing.
typedef struct lt_temporaries {
  tensor_status status;
  int count;
  tensor_t *held[24];
} lt_temporaries;

// Runs a call that stores a new tensor in a variable, which the temporaries own.
#define RUN(temporaries, variable, call)                            \
  do {                                                              \
    if (!(temporaries)->status) {                                   \
      (temporaries)->status = (call);                               \
      if (!(temporaries)->status) lt_hold(temporaries, (variable)); \
    }                                                               \
  } while (0)
// Runs a call without a result.
#define DO(temporaries, call)                                   \
  do {                                                          \
    if (!(temporaries)->status) (temporaries)->status = (call); \
  } while (0)

// Stores the tensor that a call made, unless it failed; returns the status.
static inline tensor_status lt_set_result(tensor_status status, tensor_t *made, lt_value *r) {
  if (!status) r->pointer = made;
  return status;
}
// Returns the tensor that a call stores at &made as the result r.
#define RETURN_TENSOR(call)              \
  tensor_t *made = NULL;                 \
  const tensor_status returned = (call); \
  return lt_set_result(returned, made, r)

void lt_hold(lt_temporaries *t, tensor_t *tensor);
// Moves a temporary tensor to a result; NULL to none.
void lt_return(lt_temporaries *t, tensor_t *tensor, lt_value *result);
// Frees the temporaries, and the results after an error; returns the status.
tensor_status lt_finish(lt_temporaries *t, lt_value *results);
// Converts a tensor to a dtype: a new handle of it if it has the dtype.
tensor_status lt_convert_dtype(const tensor_t *t, tensor_dtype dtype, tensor_t **out);

// Returns the error of an argument that is no dimension of a tensor of n dimensions.
tensor_status lt_reject_dim(tensor_status status, const char *argument, int64_t dim, int64_t n);

// Returns a view of the argument `name`, a vector whose elements belong to the slices of 'input'
// along an axis, that is broadcast with 'input'.
tensor_t *lt_view_along_axis(lt_temporaries *t, const char *name, const tensor_t *vector,
                             const tensor_t *input, int64_t axis);

// Computes a function of tensors, for its gradients.
typedef tensor_status (*lt_forward)(const lt_value *a, tensor_t *const *inputs, tensor_t **out);
// Computes the gradients of a function with respect to its inputs: NULL for those that are NULL,
// and where `mask` is not NULL and false.
tensor_status lt_differentiate(const lt_value *a, lt_forward forward, tensor_t *const *inputs,
                               int count, const bool *mask, const tensor_t *gradient, lt_value *r);

#endif
