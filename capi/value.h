// One argument or result of a call into the engine, by its type in the schema, and the table of
// operators that bindings read.
#ifndef LIBTENSOR_CAPI_VALUE_H
#define LIBTENSOR_CAPI_VALUE_H

#include "../include/tensor.h"

struct lt_slot;

typedef union lt_value {
  struct lt_slot *slot;
  tensor_scalar scalar;
  int64_t i;
  double f;
  void *pointer;
  const char *text;
  tensor_device device;
  struct {
    const void *data;  // NULL when absent
    int64_t length;
  } list;
} lt_value;

// The packed form of a function: all arguments in one array, after which an out form has the
// tensors to write to. It returns the handle of the one result, or a status. A form that gives
// something else than one tensor returns a status and leaves its results in the first elements of
// the array.
typedef intptr_t (*lt_packed)(lt_value *arguments);
enum { LT_STATUSES = 1 << 12 };  // statuses are below it, handles are not

// What is told of a parameter: it is given by name alone; it may be left out, for `absent`; none
// stands for `absent`, too.
enum { LT_BY_NAME = 1, LT_DEFAULT = 2, LT_NONE_IS_DEFAULT = 4 };

// A parameter. Its kind is a letter, a small one where none may be given: T a tensor, P a tensor or
// a number that stands for one, O such a one that has a packed form for numbers, S a number, I an
// int, F a float, B a bool, U a text, D a dtype, Y a layout, M a memory format, C a device, G a
// generator, W a storage, Q an address, X an index; lists: A of tensors, Z of tensors or none, L of
// ints, E of floats, H of bools, N of numbers, K of texts; V and R are L and A that may be given as
// separate arguments.
typedef struct lt_parameter {
  const char *name;
  char kind;
  unsigned char flags;
  signed char dim_of;  // the parameter whose dimension it is, which may be given by name; -1
  lt_value absent;
} lt_parameter;

// What is told of an operator: its calls take less time than to let other threads run; it makes
// tensors of nothing; its results may lie in the memory of its first argument, and may be that one
// itself where there is nothing to do.
enum { LT_BRIEF = 1, LT_FACTORY = 2, LT_VIEWS = 4, LT_ITSELF = 8 };

enum { LT_AS_FUNCTION, LT_AS_INPLACE, LT_AS_OUT, LT_FORMS };

typedef struct lt_operator {
  const char *name;  // with its overload: max.dim
  lt_packed packed[LT_FORMS]
                  [2];  // for a tensor and for a number as the last operand; NULL for none
  const lt_parameter *parameters;
  int count;
  const char *results;    // a letter each
  const char *signature;  // the parameters for people
  int changed;            // the parameter that a function without results changes, -1 for none
  int flags;
} lt_operator;

// Tells whether two tensors lie in one storage.
TENSOR_API bool tensor_same_memory(const tensor_t *self, const tensor_t *other);

// The operator of a name; NULL for none.
TENSOR_API const lt_operator *tensor_operator(const char *name);

#endif
