// Calls by name (tensor_call): how a name is resolved to operators, and arguments to their
// parameters.
#ifndef LIBTENSOR_CAPI_CALL_H
#define LIBTENSOR_CAPI_CALL_H

#include "value.h"

enum { LT_MOST_VALUES = LT_MOST_PARAMETERS + LT_MOST_RESULTS, LT_MOST_DEFAULT_ITEMS = 8 };

// A parameter as callers of a name see it.
typedef struct lt_formal {
  const char *name;
  const char *type;    // in ATen's schema language
  const char *called;  // the operator's name of it
  char kind;           // the letter of lt_parameter by which the operator reads it
  signed char to;      // the place of its lt_value in lt_bound.a, -1 if no value is needed
  signed char alias;   // its alias set, -1 for none
  bool nullable, by_name, has_default, is_written, is_out;
  bool is_scalar;         // of an operand: numbers alone
  bool needs_conversion;  // the default is not in the target's defaults
  unsigned short flags;   // of lt_parameter
  tensor_value absent;    // the default
} lt_formal;

// Computes results from arguments, for an operator of ATen that is none of libtensor's.
typedef tensor_status (*lt_composite)(lt_value *a, lt_value *r);

// What a name with its overload calls. It is made at the first use of the name, and never freed.
typedef struct lt_target {
  const char *name;  // for errors: aten::add.Tensor
  const char *schema;
  const lt_operator *op;  // NULL for a composite
  lt_composite compute;   // NULL for an operator
  int form;               // of the operator
  bool emulated;          // the operator lacks the form: the function's results are copied
  bool cloned;            // the operator writes to its first argument, of which it gets a copy
  const char *results;    // letters of the function's results
  char letters[LT_MOST_RESULTS + 1];  // those of the schema
  int count, positional;              // parameters; those that can be positional
  int hidden;                         // parameters with a constant value, which follow
  int inputs, outs;                   // values that the operator reads; tensors that it writes to
  int dtype_at;                       // its parameter for the dtype of `out`, -1 without one
  lt_formal *formals;
  lt_value defaults[LT_MOST_VALUES];
  bool number;     // the defaults have a number as operand
  bool is_custom;  // defined by the application, without `op` and `compute`
  tensor_operator_info info;
} lt_target;

// The overloads of a name, in the order in which they are tried.
typedef struct lt_family {
  const char *name;
  int count;
  const lt_target *targets[];
} lt_family;

// Why a call failed.
typedef struct lt_problem {
  tensor_status code;
  char argument[64];
  char text[2048];
} lt_problem;

// Arguments in the form that lt_run_operator takes.
typedef struct lt_bound {
  const lt_target *target;
  bool number;     // the operand is a scalar
  bool converted;  // an argument was converted to the type of its parameter
  lt_value a[LT_MOST_VALUES];
  int held_count, used;
  tensor_t *held[4];  // temporary tensors
  void *blocks;       // temporary memory that does not fit in numbers
  int64_t numbers[32];
} lt_bound;

// Returns the overloads that a name denotes; NULL, with a problem, for an unknown name.
const lt_family *lt_find_call(const char *name, lt_problem *problem);

// Makes the target of a form of an operator, and that of an overload of ATen; NULL if there is no
// memory.
lt_target *lt_make_target(const lt_operator *op, int form);
lt_target *lt_make_aten_target(int row);

// Binds arguments to the parameters of a target. After an error nothing has to be released.
tensor_status lt_bind(const lt_target *target, const tensor_value *values,
                      const char *const *keywords, int32_t count, lt_bound *bound,
                      lt_problem *problem);

// Binds the first overload that accepts the arguments without a conversion, or else with one.
tensor_status lt_bind_call(const lt_family *family, const tensor_value *values,
                           const char *const *keywords, int32_t count, lt_bound *bound,
                           lt_problem *problem);

// Runs a bound call, any number of times, and stores its results: at most LT_MOST_RESULTS.
tensor_status lt_execute(const lt_bound *bound, tensor_value *results, int32_t *count,
                         lt_problem *problem);

void lt_release_bound(lt_bound *bound);

// Converts a value to the representation of a parameter. Returns false if it does not fit, with a
// problem unless that is NULL.
bool lt_convert(const lt_target *target, const lt_formal *f, const tensor_value *value,
                lt_bound *bound, lt_problem *problem);

// Stores the reason of an error in a problem.
__attribute__((format(printf, 4, 5))) void lt_explain(lt_problem *problem, tensor_status code,
                                                      const char *argument, const char *format,
                                                      ...);
// Writes a value for people, as in an error message.
void lt_show_value(const tensor_value *value, char *to, size_t room);

#endif
