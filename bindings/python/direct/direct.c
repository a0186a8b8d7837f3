// Python's way into libtensor without ctypes: the base class of Tensor, whose objects hold a handle
// and free it, and callables that turn plain arguments (tensors, Python's own numbers, tuples,
// lists) into a call of a word form (../../../capi/value.h). Whatever else they are given, and
// every error, they leave to a Python function, which converts, refuses or explains. _direct.py
// loads this file by ctypes.
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
enum { MAKES, VIEWS, CHANGES };

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
  parameter parameters[MOST_PARAMETERS];
} entry;

typedef PyObject *(*vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);

typedef struct {
  PyObject head;
  vectorcall call;
  PyObject *dict, *fallback;
  int count;
  const entry *entries[MOST_ENTRIES];
  int reads;         // what a getter gives
  const void *from;  // and the C function that knows it
} function;

// What a getter gives: an int64_t, the dtype, the device, the one element, the first size, and the
// sizes or the strides as a Size or a tuple.
enum { NUMBER, DTYPE, DEVICE, ELEMENT, LENGTH, SIZES, STRIDES };

// How a callable is called: as a function, as the method of an operand on the right, as
// __getitem__.
enum { CALLS, REFLECTS, SUBSCRIPTS };

// The arguments of one call.
typedef struct {
  lt_value values[MOST_PARAMETERS];
  int64_t numbers[MOST_NUMBERS];  // what lists and addresses among the values point to
  int used;
  bool number;     // the operand is one
  void *operand;   // the tensor made of a number, freed after the call
  PyObject *held;  // the tuple of a list, whose items stay alive through the call
  tensor_index indices[MOST_INDICES];
} arguments;

static PyTypeObject *tensor_type, *size_type;
static PyObject *dtypes[MOST_DTYPES], *cpu;
static void (*free_handle)(void *);
static int64_t (*dimensions)(const void *);
static lt_words make_operand;

// --------------------------------------------------------------------------------------- arguments

static bool read_tensor(PyObject *o, void **handle) {
  if (o->type != tensor_type) return false;
  *handle = (void *)((tensor *)o)->handle;
  return true;
}

static bool read_int(PyObject *o, int64_t *to) {
  if (o->type != &PyLong_Type) return false;
  *to = PyLong_AsLongLong(o);
  if (*to != -1 || !PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

static bool read_number(PyObject *o, tensor_scalar *to) {
  if (o->type == &PyFloat_Type) {
    *to = tensor_float(PyFloat_AsDouble(o));
  } else if (o->type == &PyLong_Type) {
    *to = tensor_int(0);
    return read_int(o, &to->value.i);
  } else if (o == &_Py_TrueStruct || o == &_Py_FalseStruct) {
    *to = tensor_bool(o == &_Py_TrueStruct);
  } else if (o->type == &PyComplex_Type) {
    *to = tensor_complex(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
  } else {
    return false;
  }
  return true;
}

static bool read_float(PyObject *o, double *to) {
  int64_t whole;
  if (o->type == &PyFloat_Type) return *to = PyFloat_AsDouble(o), true;
  return read_int(o, &whole) && (*to = (double)whole, true);
}

// The items of a tuple, or of a list as it is now; their number, -1 for anything else.
static Py_ssize_t items(PyObject *o, arguments *a, PyObject **tuple) {
  *tuple = o;
  if (o->type == &PyList_Type) {
    if (a->held || !(a->held = *tuple = PySequence_Tuple(o))) return -1;
  } else if (o->type != &PyTuple_Type && o->type != size_type) {
    return -1;
  }
  return PyTuple_Size(*tuple);
}

static bool room(arguments *a, Py_ssize_t n) { return n >= 0 && n <= MOST_NUMBERS - a->used; }

static bool read_ints(PyObject *o, arguments *a, lt_value *v) {
  int64_t *to = a->numbers + a->used;
  PyObject *tuple;
  v->list.data = to, v->list.length = 1;
  if (o->type == &PyLong_Type) return room(a, 1) && (a->used++, read_int(o, to));
  Py_ssize_t n = items(o, a, &tuple);
  if (!room(a, n)) return false;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!read_int(PyTuple_GetItem(tuple, i), to + i)) return false;
  v->list.length = n;
  a->used += (int)n;
  return true;
}

static bool read_tensors(PyObject *o, arguments *a, lt_value *v) {
  void **to = (void **)(a->numbers + a->used);
  PyObject *tuple;
  Py_ssize_t n = items(o, a, &tuple);
  if (!room(a, n)) return false;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!read_tensor(PyTuple_GetItem(tuple, i), to + i)) return false;
  v->list.data = to, v->list.length = n;
  a->used += (int)n;
  return true;
}

static bool read_dtype(PyObject *o, int64_t *to) {
  for (*to = 0; *to < MOST_DTYPES && dtypes[*to]; ++*to)
    if (dtypes[*to] == o) return true;
  return false;
}

static bool read_text(PyObject *o, const char **to) {
  Py_ssize_t size;
  if ((*to = PyUnicode_AsUTF8AndSize(o, &size))) return strlen(*to) == (size_t)size;
  PyErr_Clear();
  return false;
}

// A number as a tensor that counts as one in promotion.
static bool read_operand(PyObject *o, arguments *a, lt_value *v) {
  if (read_tensor(o, &v->pointer)) return true;
  if (a->operand || !read_number(o, &v->scalar)) return false;
  intptr_t made = make_operand(v);
  if (made >= LT_STATUSES) v->pointer = a->operand = (void *)made;
  return a->operand;
}

static bool read_index(PyObject *o, tensor_index *to) {
  Py_ssize_t start, stop, step;
  void *handle;
  if (read_int(o, &to->start)) {
    to->kind = TENSOR_INDEX_INT;
  } else if (o->type == &PySlice_Type) {
    if (PySlice_Unpack(o, &start, &stop, &step)) return PyErr_Clear(), false;
    to->kind = TENSOR_INDEX_SLICE, to->start = start, to->stop = stop, to->step = step;
  } else if (o == &_Py_NoneStruct) {
    to->kind = TENSOR_INDEX_NEW_AXIS;
  } else if (o == &_Py_EllipsisObject) {
    to->kind = TENSOR_INDEX_ELLIPSIS;
  } else if (o == &_Py_TrueStruct || o == &_Py_FalseStruct) {
    to->kind = TENSOR_INDEX_BOOL, to->start = o == &_Py_TrueStruct;
  } else if (read_tensor(o, &handle)) {
    to->kind = TENSOR_INDEX_TENSOR, to->tensor = handle;
  } else {
    return false;
  }
  return true;
}

static bool read_indices(PyObject *o, arguments *a, lt_value *v) {
  Py_ssize_t n = o->type == &PyTuple_Type ? PyTuple_Size(o) : 1;
  if (n > MOST_INDICES) return false;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!read_index(o->type == &PyTuple_Type ? PyTuple_GetItem(o, i) : o, a->indices + i))
      return false;
  v->list.data = a->indices, v->list.length = n;
  return true;
}

// What None stands for.
static void read_none(char kind, lt_value *v) {
  switch (kind) {
    case 's':
      v->scalar = tensor_none();
      break;
    case 'i':
      v->i = TENSOR_NONE;
      break;
    case 'b':
    case 'd':
      v->i = -1;
      break;
    default:
      v->list.data = NULL, v->list.length = 0;
  }
}

static bool convert(const parameter *p, PyObject *o, arguments *a, lt_value *v) {
  char kind = p->kind;
  if (kind >= 'a') {
    if (o == &_Py_NoneStruct) return read_none(kind, v), true;
    kind = (char)(kind - 'a' + 'A');
  }
  switch (kind) {
    case 'O':
      return read_tensor(o, &v->pointer) || (a->number = read_number(o, &v->scalar));
    case 'P':
      return read_operand(o, a, v);
    case 'T':
      return read_tensor(o, &v->pointer);
    case 'X':
      return read_indices(o, a, v);
    case 'A':
      return read_tensors(o, a, v);
    case 'I':
      return read_int(o, &v->i);
    case 'L':
    case 'V':
      return read_ints(o, a, v);
    case 'S':
      return read_number(o, &v->scalar);
    case 'F':
      if (p->kind == 'F') return read_float(o, &v->f);
      v->pointer = a->numbers + a->used;  // by address, as NULL is none
      return room(a, 1) && (a->used++, read_float(o, v->pointer));
    case 'B':
      v->i = o == &_Py_TrueStruct;
      return v->i || o == &_Py_FalseStruct;
    case 'U':
      return o->type == &PyUnicode_Type && read_text(o, &v->text);
    case 'D':
      return read_dtype(o, &v->i);
  }
  return o == p->absent;
}

// Tells whether the arguments fit the entry, and converts them.
static bool fits(const entry *e, PyObject *const *args, Py_ssize_t n, PyObject *names,
                 arguments *a) {
  PyObject *given[MOST_PARAMETERS];
  const parameter *p = e->parameters;
  int last = e->positional - 1;
  a->used = 0, a->number = false;
  bool spread = n > e->positional && last >= 0 && p[last].kind == 'V';
  if (n > e->positional && !spread) return false;
  for (int i = 0; i < e->count; i++) given[i] = i < n && i <= last ? args[i] : p[i].absent;
  Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t k = 0; k < named; k++) {
    PyObject *name = PyTuple_GetItem(names, k);
    int i = n > last ? last + 1 : (int)n;
    while (i < e->count && p[i].name != name) i++;
    if (i >= e->count) return false;
    given[i] = args[n + k];
  }
  for (int i = 0; i < e->count; i++) {
    if (spread && i == last) {
      int64_t *to = a->numbers + a->used;
      if (!room(a, n - last)) return false;
      for (Py_ssize_t k = last; k < n; k++, a->used++)
        if (!read_int(args[k], a->numbers + a->used)) return false;
      a->values[i].list.data = to, a->values[i].list.length = n - last;
    } else if (!given[i] || !convert(p + i, given[i], a, a->values + i)) {
      return false;
    }
  }
  return true;
}

// ------------------------------------------------------------------------------------------- calls

static PyObject *wrap(intptr_t handle) {
  PyObject *made = PyType_GenericAlloc(tensor_type, 0);
  if (made) ((tensor *)made)->handle = (uint64_t)handle;
  if (!made) free_handle((void *)handle);
  return made;
}

// The result; NULL without an exception when the library refuses the call. Views take less time
// than to let go of the interpreter.
static PyObject *invoke(const entry *e, const arguments *a, PyObject *first) {
  lt_words call = a->number ? e->call_number : e->call;
  if (e->result == VIEWS) {
    intptr_t made = call(a->values);
    return made >= LT_STATUSES ? wrap(made) : NULL;
  }
  PyThreadState *state = PyEval_SaveThread();
  intptr_t made = call(a->values);
  PyEval_RestoreThread(state);
  if (e->result == MAKES) return made >= LT_STATUSES ? wrap(made) : NULL;
  if (made) return NULL;
  Py_IncRef(first);
  return first;
}

static PyObject *call_fallback(const function *f, PyObject *const *args, size_t flagged,
                               PyObject *names) {
  PyObject *keywords = NULL;
  Py_ssize_t n = (Py_ssize_t)(flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET);
  if (names) {
    if (!(keywords = PyDict_New())) return NULL;
    for (Py_ssize_t k = 0; k < PyTuple_Size(names); k++)
      if (PyDict_SetItem(keywords, PyTuple_GetItem(names, k), args[n + k])) {
        Py_DecRef(keywords);
        return NULL;
      }
  }
  PyObject *result = PyObject_VectorcallDict(f->fallback, args, flagged, keywords);
  if (keywords) Py_DecRef(keywords);
  return result;
}

// The result of the first entry that fits; NULL without an exception when the fallback has to act.
static PyObject *try_entries(const function *f, PyObject *const *args, Py_ssize_t n,
                             PyObject *names) {
  PyObject *result = NULL;
  bool fit = false;
  for (int i = 0; i < f->count && !fit; i++) {
    arguments a;
    a.held = NULL, a.operand = NULL;
    fit = fits(f->entries[i], args, n, names, &a);
    if (fit) result = invoke(f->entries[i], &a, n ? args[0] : NULL);
    if (a.held) Py_DecRef(a.held);
    if (a.operand) free_handle(a.operand);
  }
  return result;
}

static PyObject *call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  Py_ssize_t n = (Py_ssize_t)(flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET);
  PyObject *result = try_entries(f, args, n, names);
  return result || PyErr_Occurred() ? result : call_fallback(f, args, flagged, names);
}

// other - tensor: the entries have the operands the other way round.
static PyObject *reflected(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  PyObject *result = NULL;
  if ((flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET) == 2 && !names)
    result = try_entries(f, (PyObject *const[]){args[1], args[0]}, 2, NULL);
  return result || PyErr_Occurred() ? result : call_fallback(f, args, flagged, names);
}

// tensor[int] and tensor[slice], by the entries of select and slice; other keys by the next entry.
static PyObject *subscript(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  arguments a;
  lt_value *v = a.values;
  PyObject *result = NULL;
  if ((flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET) != 2 || names ||
      !read_tensor(args[0], &v->pointer))
    return call_fallback(f, args, flagged, names);
  a.held = NULL, a.operand = NULL, a.number = false;
  v[1].i = 0;
  Py_ssize_t start, stop, step;
  if (read_int(args[1], &v[2].i)) {
    result = invoke(f->entries[0], &a, NULL);
  } else if (args[1]->type == &PySlice_Type) {
    if (PySlice_Unpack(args[1], &start, &stop, &step)) {
      PyErr_Clear();
    } else {
      v[2].i = start, v[3].i = stop, v[4].i = step;
      result = invoke(f->entries[1], &a, NULL);
    }
  } else if (fits(f->entries[2], args, 2, NULL, &a)) {
    result = invoke(f->entries[2], &a, NULL);
  }
  return result || PyErr_Occurred() ? result : call_fallback(f, args, flagged, names);
}

// ----------------------------------------------------------------------------------------- getters

static PyObject *tuple_of(PyTypeObject *type, const int64_t *numbers, int64_t n) {
  PyObject *made = PyType_GenericAlloc(type, n);
  for (int64_t i = 0; made && i < n; i++) {
    PyObject *number = PyLong_FromLongLong(numbers[i]);
    if (!number) return Py_DecRef(made), NULL;
    PyTuple_SetItem(made, i, number);
  }
  return made;
}

static PyObject *number_of(const tensor_scalar *s) {
  switch (s->kind) {
    case TENSOR_SCALAR_BOOL:
      return PyBool_FromLong(s->value.i != 0);
    case TENSOR_SCALAR_INT:
      return PyLong_FromLongLong(s->value.i);
    case TENSOR_SCALAR_FLOAT:
      return PyFloat_FromDouble(s->value.f.re);
  }
  return PyComplex_FromDoubles(s->value.f.re, s->value.f.im);
}

// What a getter gives of a tensor, and of one dimension when `dim` is not NULL; NULL without an
// exception where the fallback has to explain.
static PyObject *read(const function *f, const void *handle, PyObject *dim) {
  tensor_scalar element;
  tensor_device device;
  PyObject *known = NULL;
  int64_t n, at = 0;
  const int64_t *numbers;
  if (dim && f->reads < SIZES) return NULL;
  switch (f->reads) {
    case NUMBER:
      return PyLong_FromLongLong(((int64_t (*)(const void *))f->from)(handle));
    case ELEMENT:
      if (((tensor_status (*)(const void *, tensor_scalar *))f->from)(handle, &element))
        return NULL;
      return number_of(&element);
    case DTYPE:
      n = ((tensor_dtype (*)(const void *))f->from)(handle);
      if (n >= 0) known = dtypes[n];
      break;
    case DEVICE:
      device = ((tensor_device (*)(const void *))f->from)(handle);
      if (device.type == TENSOR_CPU && device.index < 0) known = cpu;
      break;
    default:
      n = dimensions(handle);
      numbers = ((const int64_t *(*)(const void *))f->from)(handle);
      if (!numbers) return NULL;
      if (f->reads == LENGTH) return n ? PyLong_FromLongLong(numbers[0]) : NULL;
      if (!dim) return tuple_of(f->reads == SIZES ? size_type : &PyTuple_Type, numbers, n);
      if (!read_int(dim, &at) || at < -n || at >= n) return NULL;
      return PyLong_FromLongLong(numbers[at < 0 ? at + n : at]);
  }
  if (known) Py_IncRef(known);
  return known;
}

static PyObject *get(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  size_t n = flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET;
  void *handle;
  PyObject *result = NULL;
  if ((n == 1 || n == 2) && !names && read_tensor(args[0], &handle))
    result = read(f, handle, n == 2 ? args[1] : NULL);
  return result || PyErr_Occurred() ? result : call_fallback(f, args, flagged, names);
}

// ------------------------------------------------------------------------------------------- types

static void free_object(PyObject *self) {
  PyTypeObject *type = self->type;
  ((void (*)(void *))PyType_GetSlot(type, Py_tp_free))(self);
  Py_DecRef((PyObject *)type);
}

static void tensor_dealloc(PyObject *self) {
  if (((tensor *)self)->handle) free_handle((void *)((tensor *)self)->handle);
  free_object(self);
}

static void function_dealloc(PyObject *self) {
  function *f = (function *)self;
  if (f->dict) Py_DecRef(f->dict);
  Py_DecRef(f->fallback);
  free_object(self);
}

// As a Python function in a class: a method.
static PyObject *function_get(PyObject *self, PyObject *object, PyObject *type) {
  (void)type;
  if (object && object != &_Py_NoneStruct) return PyMethod_New(self, object);
  Py_IncRef(self);
  return self;
}

static PyTypeObject *function_type;

// The class that Tensor is made from. Returns a new reference, NULL with an exception.
EXPORT PyObject *direct_tensor_base(void) {
  static PyMemberDef members[] = {
      {"_h", T_ULONGLONG, offsetof(tensor, handle), 0, "The handle, which the object owns."}, {0}};
  static PyType_Slot slots[] = {{Py_tp_members, members}, {Py_tp_dealloc, tensor_dealloc}, {0}};
  static PyType_Spec spec = {"libtensor._direct.TensorBase", sizeof(tensor), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return PyType_FromSpec(&spec);
}

// The class of the callables.
EXPORT PyObject *direct_function_class(void) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(function, call), READONLY, NULL},
      {"__dictoffset__", T_PYSSIZET, offsetof(function, dict), READONLY, NULL},
      {0}};
  static PyType_Slot slots[] = {{Py_tp_members, members},
                                {Py_tp_dealloc, function_dealloc},
                                {Py_tp_call, PyVectorcall_Call},
                                {Py_tp_descr_get, function_get},
                                {0}};
  static PyType_Spec spec = {
      "libtensor._direct.Function", sizeof(function), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
  return (PyObject *)(function_type = (PyTypeObject *)PyType_FromSpec(&spec));
}

// Tells what the callables need to know: three C functions, and the classes, the dtypes and the
// device of Python's side, which must live as long as the process.
EXPORT void direct_start(void *free_function, void *dim_function, void *operand_words,
                         PyObject *tensor_class, PyObject *size_class, PyObject *dtype_tuple,
                         PyObject *cpu_device) {
  free_handle = (void (*)(void *))free_function;
  dimensions = (int64_t (*)(const void *))dim_function;
  make_operand = (lt_words)operand_words;
  tensor_type = (PyTypeObject *)tensor_class;
  size_type = (PyTypeObject *)size_class;
  cpu = cpu_device;
  for (Py_ssize_t i = 0; i < PyTuple_Size(dtype_tuple) && i < MOST_DTYPES; i++)
    dtypes[i] = PyTuple_GetItem(dtype_tuple, i);
}

// An entry, which is never freed: the word forms, what they do with their result, a letter for each
// parameter, how many of them may be positional, and tuples of their names and defaults, where
// `required` stands for none. NULL when there are too many.
EXPORT const entry *direct_entry(void *words, void *number_words, int result, const char *kinds,
                                 int positional, PyObject *names, PyObject *defaults,
                                 PyObject *required) {
  size_t count = strlen(kinds);
  entry *e = count <= MOST_PARAMETERS ? calloc(1, sizeof *e) : NULL;
  if (!e) return NULL;
  e->call = (lt_words)words, e->call_number = (lt_words)number_words;
  e->result = result, e->count = (int)count, e->positional = positional;
  for (size_t i = 0; i < count; i++) {
    parameter *p = e->parameters + i;
    p->kind = kinds[i];
    Py_IncRef(p->name = PyTuple_GetItem(names, (Py_ssize_t)i));
    PyObject *absent = PyTuple_GetItem(defaults, (Py_ssize_t)i);
    if (absent != required) Py_IncRef(p->absent = absent);
  }
  return e;
}

// A callable that tries the entries in their order and else calls `fallback`.
EXPORT PyObject *direct_function(PyObject *fallback, const entry *const *entries, int count,
                                 int how) {
  function *f = count <= MOST_ENTRIES ? (function *)PyType_GenericAlloc(function_type, 0) : NULL;
  if (!f) return NULL;
  f->call = how == CALLS ? call : how == REFLECTS ? reflected : subscript;
  Py_IncRef(f->fallback = fallback);
  f->count = count;
  memcpy(f->entries, entries, sizeof *entries * (size_t)count);
  return (PyObject *)f;
}

// A callable that gives what a C function tells of a tensor and else calls `fallback`.
EXPORT PyObject *direct_getter(PyObject *fallback, int reads, const void *from) {
  function *f = (function *)PyType_GenericAlloc(function_type, 0);
  if (!f) return NULL;
  f->call = get;
  Py_IncRef(f->fallback = fallback);
  f->reads = reads, f->from = from;
  return (PyObject *)f;
}
