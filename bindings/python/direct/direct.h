// The Python binding of libtensor: the base class of Tensor, whose objects own a handle and free
// it, and callables that convert a call's arguments to those of an operator, by the library's table
// of operators (../../../capi/value.h), and its results to Python objects.
// This is the fast path. Tensors, Python numbers, tuples and lists are read directly. Arguments of
// other classes fall back to __torch_function__ and then to the converters of _core/convert.py,
// which convert or reject them. _base/direct.py loads it by ctypes.
//   state.c      the library's functions, and errors of failed calls
//   arguments.c  arguments of a call, converted to those of an operator
//   results.c    results of an operator, converted to Python objects
//   getters.c    properties of a tensor, converted to Python objects
//   lists.c      nested lists of numbers, to and from tensors
//   dlpack.c     DLPack capsules, to and from tensors
//   buffer.c     Python's buffer protocol
//   apply.c      calls of custom functions
//   calls.c      calls of operators: overload resolution and __torch_function__
//   direct.c     the callables and classes
#ifndef LIBTENSOR_PYTHON_DIRECT_H
#define LIBTENSOR_PYTHON_DIRECT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../capi/functions.h"
#include "../../../capi/value.h"
#include "cpython.h"

#define EXPORT __attribute__((visibility("default")))

enum {
  MOST_PLAIN = 4,
  MOST_OVERLOADS = 8,
  MOST_NUMBERS = 32,
  MOST_DTYPES = 32,
  MOST_KEPT = 2 * LT_MOST_PARAMETERS,
  ALIASES = 12
};

typedef struct {
  PyObject head;
  uint64_t handle;
  PyObject *base;    // the base of a view, NULL for other tensors
  bool of_function;  // a custom function made it, whose call may be kept by it alone
} tensor;

// The node of a graph, NULL for none yet, whose handle the object owns.
typedef struct {
  PyObject head;
  uint64_t handle;
} node_object;

// The objects of the Python side of one interpreter. They are never freed.
typedef struct {
  PyTypeObject *tensor_type, *size_type, *function_type;
  PyTypeObject *kin;  // a subclass that is treated like Tensor, and that calls then return, or NULL
  PyTypeObject *plain[MOST_PLAIN];  // subclasses whose tensors are taken as Tensors are
  PyObject *dtypes[MOST_DTYPES], *cpu;
  PyObject *failure;              // makes the exception for a status
  PyObject *dispatch, *nobody;    // finds the __torch_function__ of a call, and its result for none
  PyObject *no_overload;          // makes the exception for arguments that fit no overload
  PyObject *pinned, *leaf;        // pin a tensor's memory, and set requires_grad
  PyObject *named;                // names a tensor's dimensions
  PyObject *outputs;              // several tensors to write to
  PyObject *storage, *generator;  // make the objects that own such handles
  PyObject *device;               // makes a device
  PyObject *raised;               // stores an exception of a callback
  PyObject *no_setup;             // Function.setup_context itself
  PyObject *nothing;              // ()
  PyObject *gradients, *backward_class, *forward, *setup_context, *is_tensor, *needs_input_grad,
      *to_save, *dirty, *non_differentiable, *materialize_grads, *defaults, *name, *class_of;
  PyObject *dtype_name, *out, *inplace, *dim, *requires_grad, *pin_memory, *names;
  struct {
    PyObject *other, *name;
  } aliases[ALIASES];        // other names of parameters
  PyObject *converters[26];  // by the letter of a parameter, small or not
  int intercepting;          // how many modes want to see every call
} state;

// One overload of a callable.
typedef struct {
  const lt_operator *op;
  int mode;        // LT_FUNCTION or LT_INPLACE
  int positional;  // how many parameters may be given by position
  int required;    // how many have no default
  int least;       // the number of leading arguments to check if no keyword is given
  bool makes;      // its result is one tensor
  int changed;     // the parameter that is changed and given back, beyond the last for none
  char kinds[LT_MOST_PARAMETERS];
  bool tensors[LT_MOST_PARAMETERS];  // where one tensor may be given
  PyObject *names[LT_MOST_PARAMETERS];
} overload;

typedef PyObject *(*vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);

// A callable.
typedef struct {
  PyObject head;
  vectorcall call;
  state *s;
  PyObject *dict, *name;
  PyObject *fallback;   // the Python function to call if no overload matches directly, or NULL
  PyObject *other;      // converts the other operand, or an item of a sequence, or is the form in
                        // place that a flag chooses, or NULL
  PyObject *explains;   // raises the error for the first argument of a failed call, or NULL
  PyTypeObject *tuple;  // of several results
  bool overridable;     // arguments with __torch_function__ take its calls over
  int first, count;     // of the overloads that calls choose from
  overload *overloads;
  int reads;         // the property that a getter returns
  const void *from;  // and the C function that returns it
} function;

// Results of getters: an int64_t, the dtype, the device, all elements as nested lists without a
// mode, as nested lists with any mode, and as bytes, the tensor itself if it is contiguous, the
// first size, and the sizes or the strides as a Size or a tuple.
enum { NUMBER, DTYPE, DEVICE, LIST, ELEMENTS, BYTES, CONTIGUOUS, LENGTH, SIZES, STRIDES };

// Kinds of callables, in order: a function; a binary operator, and its reflected form; __getitem__
// and __setitem__; tensor(data, dtype=), and the conversion of any sequence to a tensor; the import
// of a DLPack capsule, and the method __dlpack__; the class method that calls a Function; a
// function with a flag, inplace, after its other positional arguments; and a unary operator.
enum {
  CALLS,
  OPERATES,
  REFLECTS,
  SUBSCRIPTS,
  ASSIGNS,
  MAKES_TENSOR,
  OF_SEQUENCE,
  RECEIVES,
  LENDS,
  APPLIES,
  SWITCHES,
  NEGATES
};

// The arguments of one call.
typedef struct {
  const state *s;
  lt_value values[LT_MOST_PARAMETERS + LT_MOST_RESULTS];
  int64_t numbers[MOST_NUMBERS];  // memory for lists and addresses among the values
  int used;
  bool asks;      // values of unknown classes are converted
  bool loose;     // tensors without dimensions may be integers, which nothing fits better
  bool number;    // the operand is one
  bool kin;       // an argument has the subclass that calls return
  bool pins;      // the result is to be in pinned memory
  bool leaf;      // the result is to require grad
  void *blocks;   // for lists that are too long for `numbers`, freed after the call
  void *operand;  // the tensor of a scalar operand, freed after the call
  int keeps;      // objects that stay alive through the call
  PyObject *kept[MOST_KEPT];
  PyObject *out, *first,
      *changed;             // the arguments out=, the first one, and the one that is changed
  PyObject *const *listed;  // the first list, where its items are given one by one
  PyObject *names;          // and for names=
} arguments;

// Whether arguments match an overload: no, yes, only after a conversion, and no, with an exception.
typedef enum { NO, YES, ASK, FAILED } verdict;

struct lt_list;

// The library's functions, in the order of _base/direct.py's list.
typedef struct {
  const lt_operator *(*find)(const char *);
  tensor_status (*free)(void *);
  tensor_status (*free_list)(void *, int64_t);
  void (*free_text)(void *);
  void (*free_texts)(void *, int64_t);
  int64_t (*dim)(const void *), (*numel)(const void *);
  bool (*same_memory)(const void *, const void *);
  uint8_t (*lazy)(const void *);
  const int64_t *(*sizes)(const void *), *(*strides)(const void *);
  tensor_dtype (*dtype)(const void *);
  int64_t (*dtype_size)(tensor_dtype);
  tensor_device (*device)(const void *);
  tensor_layout (*layout)(const void *);
  tensor_status (*hold)(const void *, void **, int64_t *);
  void (*let_go)(int64_t);
  tensor_status (*operand)(tensor_scalar, void **);
  tensor_status (*default_device)(tensor_device *);
  tensor_status (*dim_by_name)(const void *, const char *, int64_t *);
  tensor_status (*to_dlpack)(const void *, bool, bool, void **);
  tensor_status (*from_dlpack)(void *, bool, void **);
  void (*free_dlpack)(void *, bool);
  tensor_status (*lend)(const void *, void **, void **, bool *);
  const char *(*last_error)(void);
  void (*list_begin)(struct lt_list *, tensor_dtype, tensor_dtype);
  tensor_status (*list_open)(struct lt_list *, int64_t);
  tensor_status (*list_number)(struct lt_list *, tensor_scalar, tensor_dtype);
  tensor_status (*list_beyond)(struct lt_list *, const char *, double);
  tensor_status (*list_end)(struct lt_list *, void **);
  bool (*is_transforming)(void), (*exchange_grad_enabled)(bool);
  tensor_status (*gradient_kinds)(void *const *, int64_t, bool, uint8_t *);
  void *(*sole_context)(const void *, void (*)(void *));
  tensor_status (*detach)(const void *, void **), (*view_as)(const void *, const void *, void **);
  tensor_status (*requires_grad)(const void *, bool *);
  tensor_status (*new_handle)(const void *, void **);
  tensor_status (*record)(const char *, void *const *, int64_t, void *const *, int64_t,
                          const int64_t *, int64_t, void *const *, int64_t, bool,
                          int32_t (*)(void *, void **, int64_t, void **, int64_t), void *,
                          void (*)(void *), void **);
  tensor_status (*node_free)(void *);
} library_functions;

extern library_functions library;

static inline size_t count_of(size_t flagged) { return flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET; }

// Whether a class is Tensor, its kin, or a subclass for which operations return Tensors.
static inline bool is_own(const state *s, const PyTypeObject *class) {
  bool own = class == s->tensor_type || class == s->kin;
  for (int i = 0; i < MOST_PLAIN; i++) own |= class == s->plain[i];
  return own;
}

// Each is false when the object is of another kind, without an exception. A plain tensor is one of
// a class of our own, a tensor in general also one of another subclass.
bool read_plain_tensor(const state *s, PyObject *o, void **handle);
bool read_tensor(const state *s, PyObject *o, void **handle);
bool read_int(PyObject *o, int64_t *to);
bool read_number(PyObject *o, tensor_scalar *to);
bool read_dtype(const state *s, PyObject *o, int64_t *to);
bool read_slice(PyObject *o, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step);

// Returns whether the arguments of a call are those of an overload, and converts them. `names` are
// those of the keywords among args[n:], NULL for none.
verdict bind_arguments(const function *f, const overload *o, PyObject *const *args, Py_ssize_t n,
                       PyObject *names, arguments *a);

// Releases the objects that a call's arguments own.
void release(arguments *a);

// The Tensor that owns a handle, a new reference.
static inline PyObject *wrap(const state *s, intptr_t handle) {
  PyObject *made = PyType_GenericAlloc(s->tensor_type, 0);
  if (made) ((tensor *)made)->handle = (uint64_t)handle;
  if (!made) library.free((void *)handle);
  return made;
}

// The tensor of a handle, None for NULL.
static inline PyObject *maybe(const state *s, void *handle) {
  if (handle) return wrap(s, (intptr_t)handle);
  return Py_IncRef(&_Py_NoneStruct), &_Py_NoneStruct;
}

// The same for a result, of the class that the arguments determine.
PyObject *wrap_for(const arguments *a, void *handle);

// A result that may be a view of an argument, with that argument as its base, or the argument
// itself if it is the same tensor.
PyObject *as_view(const function *f, const overload *o, PyObject *of, PyObject *made);

// Item i of the first argument if it is a list, otherwise NULL.
PyObject *listed(const arguments *a, Py_ssize_t i);

// The result of a successful call, except for the form that returns one tensor.
PyObject *result_of(const function *f, const overload *o, arguments *a);

PyObject *device_of(const state *s, tensor_device d);
bool is_contiguous(const void *handle);

// Frees the handle of a tensor. The owner of external memory may be freed with it, by Python code:
// a pending exception is preserved.
void free_handle(void *handle);

// The ctx of the call of a custom function that made a tensor, which nothing else keeps; NULL for
// none. It is borrowed, and found without a call of Python's.
PyObject *sole_ctx(const tensor *t);

// The keywords of a call as a dict, NULL for none, and with an exception.
PyObject *dictionary(PyObject *const *values, PyObject *names);

// Raises the library's error of the calling thread; returns NULL.
PyObject *raise_status(const state *s, intptr_t status);

// Returns whether a keyword is a known one.
bool is(PyObject *name, PyObject *known);

// Returns the result, or calls the fallback if there is neither a result nor an exception.
PyObject *or_fallback(PyObject *result, const function *f, PyObject *const *args, size_t flagged,
                      PyObject *names);

// Vectorcalls.
PyObject *call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *negates(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *call_binary_operator(PyObject *self, PyObject *const *args, size_t flagged,
                               PyObject *names);
PyObject *call_reflected_operator(PyObject *self, PyObject *const *args, size_t flagged,
                                  PyObject *names);
PyObject *assign(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *subscript(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *get(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *make_tensor(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *make_of_sequence(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *receive(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *lend(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *apply(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *switches(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);

// How many modes of all interpreters want to see every call.
extern int interceptors;

// The slots of the buffer protocol.
int give_buffer(PyObject *self, Py_buffer *view, int flags);
void take_buffer_back(PyObject *self, Py_buffer *view);

// The elements of a tensor on the CPU as nested lists; NULL without an exception for another one
// and for 16-bit numbers.
PyObject *list_of(const state *s, const void *handle);

// The bytes of a contiguous tensor on the CPU; NULL without an exception for another one.
PyObject *bytes_of(const state *s, const void *handle);

#endif
