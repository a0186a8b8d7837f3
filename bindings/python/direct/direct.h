// Python's way into libtensor without ctypes: the base class of Tensor, whose objects hold a handle
// and free it, and callables that turn plain arguments (tensors, Python's own numbers, tuples,
// lists) into calls of C functions, whose errors they raise. Whatever else they are given they
// leave to a Python function, which converts or refuses it, unless it is an object that takes the
// call over
// (__torch_function__). _direct.py loads it all by ctypes.
//   arguments.c  a call's arguments, turned into those of a word form (../../../capi/value.h)
//   getters.c    what is known of a tensor, as Python objects
//   lists.c      nested lists of numbers, to and from tensors
//   dlpack.c     capsules of DLPack, to and from tensors
//   direct.c     the callables and classes
#ifndef LIBTENSOR_PYTHON_DIRECT_H
#define LIBTENSOR_PYTHON_DIRECT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../capi/value.h"
#include "cpython.h"

#define EXPORT __attribute__((visibility("default")))

enum {
  MOST_PARAMETERS = 16,
  MOST_ENTRIES = 8,
  MOST_NUMBERS = 32,
  MOST_DTYPES = 32,
  MOST_INDICES = 6
};

typedef struct {
  PyObject head;
  uint64_t handle;
} tensor;

// What a word form does with its result.
enum { MAKES, VIEWS, CHANGES, SEVERAL, LISTS, TELLS };

// A parameter: which Python objects fit it. A capital letter may be small, for one that also takes
// None. T a Tensor, O and P a Tensor or a number (O has a word form for numbers, P makes a tensor
// of one), X what stands between the brackets of x[...], A a tuple or list of Tensors, I an int, L
// an int or a tuple or list of ints, V the same or all further arguments, S a number, F a real
// number, B a bool, U a str, D a dtype, - nothing but the default.
typedef struct {
  char kind;
  PyObject *name, *absent;  // absent: the default, NULL for none
} parameter;

typedef struct {
  lt_words call, call_number;  // the latter for a number as the operand
  int result, count, positional;
  PyTypeObject *tuple;  // of several results
  int results;
  parameter parameters[MOST_PARAMETERS];
} entry;

typedef PyObject *(*vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);

// A callable.
typedef struct {
  PyObject head;
  vectorcall call;
  PyObject *dict, *fallback;
  bool overridable;  // arguments with __torch_function__ take its calls over
  bool explains;     // the fallback has an error of its own for what the library refuses
  int count;
  const entry *entries[MOST_ENTRIES];
  int reads;         // what a getter gives
  const void *from;  // and the C function that knows it
} function;

// What a getter gives: an int64_t, the dtype, the device, the one element, all elements as nested
// lists, the tensor itself if it is contiguous, the first size, and the sizes or the strides as a
// Size or a tuple.
enum { NUMBER, DTYPE, DEVICE, ELEMENT, LIST, CONTIGUOUS, LENGTH, SIZES, STRIDES };

// How a callable is called: as a function, as the method of an operand on the right, as
// __getitem__; as tensor(data, dtype=), as the functions that make a tensor of a DLPack capsule and
// a capsule of a tensor.
enum { CALLS, REFLECTS, SUBSCRIPTS, MAKES_TENSOR, RECEIVES, LENDS };

// The arguments of one call.
typedef struct {
  lt_value values[MOST_PARAMETERS];
  int64_t numbers[MOST_NUMBERS];  // what lists and addresses among the values point to
  int used;
  bool number;     // the operand is one
  void *operand;   // the tensor made of a number, freed after the call
  void *many;      // for a list that is too long for `numbers`, freed after the call
  PyObject *held;  // the tuple of a list, whose items stay alive through the call
  tensor_index indices[MOST_INDICES];
} arguments;

// The library's functions, in the order of _direct.py's list.
typedef struct {
  tensor_status (*free)(void *);
  tensor_status (*free_list)(void *, int64_t);
  int64_t (*dim)(const void *);
  const int64_t *(*sizes)(const void *), *(*strides)(const void *);
  tensor_dtype (*dtype)(const void *);
  int64_t (*dtype_size)(tensor_dtype);
  tensor_device (*device)(const void *);
  tensor_status (*data)(const void *, void **);
  lt_words operand;
  tensor_status (*make)(const void *, const int64_t *, int64_t, tensor_dtype, void **);
  tensor_status (*default_dtype)(tensor_dtype *);
  tensor_status (*default_device)(tensor_device *);
  tensor_status (*to_dlpack)(const void *, bool, bool, void **);
  tensor_status (*from_dlpack)(void *, bool, void **);
  void (*free_dlpack)(void *, bool);
} library_functions;

// What Python's side has told.
extern library_functions library;
extern PyTypeObject *tensor_type, *size_type;
extern PyObject *dtypes[MOST_DTYPES], *cpu, *dtype_keyword;
extern PyObject *failure;   // makes the exception for a status
extern PyObject *dispatch;  // finds who takes a call over, and `nobody`
extern PyObject *nobody;
extern int intercepting;  // how many modes want to see every call

static inline size_t count_of(size_t flagged) { return flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET; }

// Each is false when the object is of another kind, without an exception.
bool read_tensor(PyObject *o, void **handle);
bool read_int(PyObject *o, int64_t *to);
bool read_dtype(PyObject *o, int64_t *to);
bool read_slice(PyObject *o, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step);

// Tells whether the arguments fit the entry, and converts them. `names` are those of the keywords
// among args[n:], NULL for none.
bool fits(const entry *e, PyObject *const *args, Py_ssize_t n, PyObject *names, arguments *a);

// The Tensor that owns a handle, a new reference.
PyObject *wrap(intptr_t handle);

// Raises what the library has told the calling thread of a refused call; NULL.
PyObject *refuse(intptr_t status);

// The result, or what the fallback gives where there is neither a result nor an exception.
PyObject *or_fallback(PyObject *result, const function *f, PyObject *const *args, size_t flagged,
                      PyObject *names);

// Vectorcalls.
PyObject *get(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *make_tensor(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *receive(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);
PyObject *lend(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names);

// The elements of a tensor on the CPU as nested lists; NULL without an exception for another one
// and for 16-bit numbers.
PyObject *list_of(const void *handle);

#endif
