// Custom operators (tensor_define_operator): their definitions, and their calls.
#ifndef LIBTENSOR_CAPI_CUSTOM_H
#define LIBTENSOR_CAPI_CUSTOM_H

#include "call.h"

// A definition. It is freed after it was removed, when no call and no node of an autograd graph
// uses it.
typedef struct lt_definition {
  int64_t id;
  int64_t holders;
  const lt_target *target;
  tensor_operator_function function;
  tensor_operator_options options;
  void *context;
  tensor_deleter deleter;
} lt_definition;

enum { LT_FEW_TENSORS = 16 };

// A call, without its tensors: `formals` has the parameter of each of them.
typedef struct lt_custom_call {
  lt_definition *definition;
  const lt_target *target;
  tensor_value arguments[LT_MOST_VALUES];
  int64_t tensor_count;
  uint8_t *formals;
  int64_t lengths[LT_MOST_RESULTS];       // tensors of each result, of the last run
  tensor_value results[LT_MOST_RESULTS];  // those that are not tensors
  int64_t runs;
} lt_custom_call;

// The results of a function of the application: handles, 0 for none, which the caller frees.
typedef struct lt_made {
  uintptr_t *handles;
  int64_t count;
  int64_t lengths[LT_MOST_RESULTS];
  tensor_value results[LT_MOST_RESULTS];
  bool batched[LT_MOST_RESULTS];
} lt_made;

// Normalizes a schema, such as ns::op(Tensor x, int k=1) -> Tensor. Returns false, with a problem,
// for an invalid schema.
bool lt_normalize_schema(const char *schema, char *to, size_t room, lt_problem *problem);
// Makes the target of a normalized schema; NULL if there is no memory.
lt_target *lt_make_custom_target(const char *schema);

// Returns the overloads of a name that are defined; NULL for none.
const lt_family *lt_find_custom(const char *name);
// Returns the definition of a target, which the caller releases; NULL, with the last error set, if
// it was removed.
lt_definition *lt_hold_definition(const lt_target *target);
void lt_release_definition(lt_definition *definition);

// Calls a custom operator with the arguments `a`, and stores its results there.
tensor_status lt_run_custom(const lt_target *target, lt_value *a);

// Called by Go: these call functions of the application with handles, which they do not free.
int32_t lt_call_function(const lt_custom_call *c, uintptr_t *given, bool meta, lt_made *made);
int32_t lt_call_vmap(const lt_custom_call *c, uintptr_t *given, const bool *mapped, int64_t size,
                     lt_made *made);
// `given` has the gradients of the results, and the saved tensors of arguments and results.
int32_t lt_call_backward(const lt_custom_call *c, uintptr_t *given, int64_t grads, lt_made *made);
// A copy of a call, without tensors, that outlives it; NULL if there is no memory.
lt_custom_call *lt_keep_call(const lt_custom_call *c);
void lt_drop_call(lt_custom_call *c);

#endif
