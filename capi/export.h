// Macros of the generated exports: an export writes its arguments to an array, and calls the
// operator's row of the table.
#ifndef LIBTENSOR_CAPI_EXPORT_H
#define LIBTENSOR_CAPI_EXPORT_H

#include "gen_numbers.h"
#include "handle.h"

// Not constant, so that a test can replace lt_run.
extern lt_operator lt_operators[];
#define LT_OP(name) (lt_operators + LT_OP_##name)

// lt_operator.run of every operator.
tensor_status lt_run(const lt_operator *op, int form, bool number, lt_value *a);

// lt_run of an operator whose one result is a handle.
tensor_status lt_give(const lt_operator *op, bool number, lt_value *a, void *out);

// lt_run of an operator whose one result is a list.
tensor_status lt_give_list(const lt_operator *op, bool number, lt_value *a, void *out,
                           int64_t *length);

// Returns from an export that has no place for a result.
#define LT_RESULT(pointer, op, argument) \
  if (!(pointer) && !lt_check_pointer(pointer, op, argument)) return TENSOR_ERROR_VALUE

#endif
