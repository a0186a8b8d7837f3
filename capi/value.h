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

// Flags of a parameter.
enum {
  LT_BY_NAME = 1,          // it is given by name alone
  LT_DEFAULT = 2,          // it may be left out, for `absent`
  LT_NONE_IS_DEFAULT = 4,  // none represents `absent`, too
  LT_ANY_DTYPE = 8,        // a dtype that may be quantized
  LT_OPTIONAL = 16,        // none may be given, by the operator's signature
  LT_MUTATED = 32,         // the operator writes to it
  LT_MOVED = 64,           // the operator may move its storage to other memory
  LT_SPREAD = 128,         // a list whose items may be given one by one, as in zeros(2, 3)
  LT_CALLS_BACK = 256,     // an address of a tensor_callback, behind which are its context and what
                           // deletes that
  LT_INTEGERS = 512        // a tensor of integers, such as indices
};

// A parameter. Its kind is a letter, a small one where none may be given: T a tensor, P a tensor or
// a number that represents one, O such a one that has a form for numbers, S a number, I an int, F a
// float, B a bool, U a text, D a dtype, Y a layout, M a memory format, C a device, G a generator, W
// a storage, J a node, Q an address, X an index; lists: A of tensors, Z of tensors or none, L of
// ints, E of floats, H of bools, N of numbers, K of strings; V and R are L and A that may be given
// as separate arguments.
typedef struct lt_parameter {
  const char *name;
  const char *shown;  // name in Python's errors, unless it is the name, or input for self
  char kind;
  signed char dim_of;  // the parameter whose dimension it is, which may be given by name; -1
  unsigned short flags;
  lt_value absent;
} lt_parameter;

// The largest number of parameters and results of an operator, for buffers in bindings.
enum { LT_MOST_PARAMETERS = 25, LT_MOST_RESULTS = 8 };

// Flags of an operator.
enum {
  LT_BRIEF = 1,         // its calls take less time than to let other threads run
  LT_FACTORY = 2,       // it makes tensors of nothing
  LT_VIEWS = 4,         // its results may share memory with its first argument,
  LT_ITSELF = 8,        // and may be that argument itself
  LT_RUNS = 16,         // its errors name the inner operator, which is more specific
  LT_A_VIEW = 32,       // its one result shares memory with its first argument
  LT_NAMED = 64,        // users find it as a function
  LT_METHOD = 128,      // and as a method of its first argument's class
  LT_LENGTHY = 256,     // it may take long, whatever its results are
  LT_UNOBSERVED = 512,  // observers are not notified of its calls: it computes nothing
};

// The forms of an operator: it makes its results, writes over its first argument, or to tensors
// that are given.
enum { LT_FUNCTION, LT_INPLACE, LT_OUT, LT_FORMS };
// The bit in lt_operator.forms of a form, for a tensor or for a number as the last operand.
#define LT_HAS(form, number) (1 << (2 * (form) + (number)))

typedef struct lt_operator lt_operator;
struct lt_operator {
  // Runs a form with all arguments in one array, after which an out form has the tensors to write
  // to. Results are left in the first elements of the array.
  tensor_status (*run)(const lt_operator *self, int form, bool number, lt_value *arguments);
  const char *name;     // with its overload: max.dim
  const char *called;   // name in errors
  const char *called_;  // that of the in-place form; NULL without one
  const lt_parameter *parameters;
  int count;
  const char *results;    // a letter each
  const char *out;        // the results' names, with a NUL behind each
  const char *signature;  // the parameters for people
  int changed;            // the parameter that a function without results changes, -1 for none
  int flags, forms;
  unsigned char aliases;  // a bit for each result that may share memory with an argument
  unsigned char order;    // among the overloads of the name, in which a call looks for its own
  unsigned short number;  // the row's, in the table
};

static inline bool lt_is_complex(tensor_dtype d) {
  return d >= TENSOR_COMPLEX64 && d <= TENSOR_COMPLEX32;
}

// Returns whether two tensors share one storage.
TENSOR_API bool tensor_same_memory(const tensor_t *self, const tensor_t *other);

// How elements are changed when they are read: conjugated where bit 0 is set, negated where bit 1
// is.
TENSOR_API uint8_t tensor_lazy(const tensor_t *self);

// All operators, sorted by name; the overloads of one are adjacent.
TENSOR_API const lt_operator *tensor_operators(int32_t *count);
// The operator of a name; NULL for none.
TENSOR_API const lt_operator *tensor_operator(const char *name);
// Returns whether a name is that of a function of whose calls observers are not notified.
TENSOR_API bool tensor_is_unobserved(const char *name);
// Returns whether the process has an observer.
TENSOR_API bool tensor_is_observed(void);
// Reports the beginning of a custom operator that a binding calls as a function of its language,
// with its tensors; `name` is borrowed until the end. Returns what tensor_end_observed reports the
// end with; NULL, which it ignores, if the call is not observed.
TENSOR_API void *tensor_begin_observed(const char *name, tensor_t *const *tensors, int64_t count);
TENSOR_API void tensor_end_observed(void *call, tensor_status status, tensor_t *const *tensors,
                                    int64_t count);

#endif
