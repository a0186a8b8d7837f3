// Arithmetic on the symbolic numbers of exported programs.
#ifndef LIBTENSOR_CAPI_PROGRAM_NUMBERS_H
#define LIBTENSOR_CAPI_PROGRAM_NUMBERS_H

#include "../include/tensor.h"

// Returns whether a value is an int, a float or a bool.
bool lt_is_number(const tensor_value *v);
// Conversions of numbers. That to an int requires an int or a bool.
int64_t lt_number_to_int(const tensor_value *v);
double lt_number_to_float(const tensor_value *v);
bool lt_number_to_bool(const tensor_value *v);
// Returns whether two numbers are equal, of whichever kinds. No number is equal to NaN.
bool lt_equal_numbers(const tensor_value *a, const tensor_value *b);

tensor_value lt_make_int(int64_t i);
tensor_value lt_make_float(double f);
tensor_value lt_make_bool(bool b);

// Computes with the operator LT_SYM_... of a plan. Returns false if an operand is not a number, the
// result has more than 64 bits, or a divisor is 0.
bool lt_compute_ints(int64_t code, int64_t a, int64_t b, tensor_value *to);
bool lt_compute_pair(int64_t code, const tensor_value *a, const tensor_value *b, tensor_value *to);
bool lt_compute_one(int64_t code, const tensor_value *a, tensor_value *to);

#endif
