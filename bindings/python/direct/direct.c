#include "direct.h"

#define EXPORT __attribute__((visibility("default")))

library_functions library;
PyTypeObject *tensor_type, *size_type;
PyObject *dtypes[MOST_DTYPES], *cpu, *dtype_keyword;

// ------------------------------------------------------------------------------------------- calls

PyObject *wrap(intptr_t handle) {
  PyObject *made = PyType_GenericAlloc(tensor_type, 0);
  if (made) ((tensor *)made)->handle = (uint64_t)handle;
  if (!made) library.free((void *)handle);
  return made;
}

// A tuple of the Tensors that own handles. None of these is left on failure.
static PyObject *wrap_all(PyTypeObject *type, void *const *handles, int64_t n, size_t step) {
  PyObject *made = PyType_GenericAlloc(type, n);
  bool failed = !made;
  for (int64_t i = 0; i < n; i++) {
    void *handle = *(void *const *)((const char *)handles + (size_t)i * step);
    PyObject *one = failed ? NULL : wrap((intptr_t)handle);
    if (failed) library.free(handle);
    if (one) PyTuple_SetItem(made, i, one);
    failed = !one;
  }
  if (!failed || !made) return made;
  return Py_DecRef(made), NULL;
}

static PyObject *result_of(const entry *e, arguments *a, intptr_t given, PyObject *first) {
  if (e->result == MAKES || e->result == VIEWS) return given >= LT_STATUSES ? wrap(given) : NULL;
  if (given) return NULL;
  if (e->result == TELLS) return PyBool_FromLong(a->values[0].i != 0);
  if (e->result == SEVERAL)
    return wrap_all(e->tuple, &a->values[0].pointer, e->results, sizeof(lt_value));
  if (e->result == LISTS) {
    void *list = (void *)a->values[0].list.data;
    PyObject *made = wrap_all(e->tuple, list, a->values[0].list.length, sizeof(void *));
    library.free_list(list, 0);
    return made;
  }
  Py_IncRef(first);
  return first;
}

// The result; NULL without an exception when the library refuses the call. Views take less time
// than to let go of the interpreter.
static PyObject *invoke(const entry *e, arguments *a, PyObject *first) {
  lt_words call = a->number ? e->call_number : e->call;
  if (e->result == VIEWS) return result_of(e, a, call(a->values), first);
  PyThreadState *state = PyEval_SaveThread();
  intptr_t given = call(a->values);
  PyEval_RestoreThread(state);
  return result_of(e, a, given, first);
}

PyObject *or_fallback(PyObject *result, const function *f, PyObject *const *args, size_t flagged,
                      PyObject *names) {
  PyObject *keywords = NULL;
  if (result || PyErr_Occurred()) return result;
  Py_ssize_t n = (Py_ssize_t)count_of(flagged);
  if (names) {
    if (!(keywords = PyDict_New())) return NULL;
    for (Py_ssize_t k = 0; k < PyTuple_Size(names); k++)
      if (PyDict_SetItem(keywords, PyTuple_GetItem(names, k), args[n + k])) {
        Py_DecRef(keywords);
        return NULL;
      }
  }
  result = PyObject_VectorcallDict(f->fallback, args, flagged, keywords);
  if (keywords) Py_DecRef(keywords);
  return result;
}

// The result of the first of some entries that fits; NULL without an exception when the fallback
// has to act.
static PyObject *try_entries(const entry *const *entries, int count, PyObject *const *args,
                             Py_ssize_t n, PyObject *names) {
  PyObject *result = NULL;
  bool fit = false;
  for (int i = 0; i < count && !fit; i++) {
    arguments a;
    a.held = NULL, a.operand = a.many = NULL;
    fit = fits(entries[i], args, n, names, &a);
    if (fit) result = invoke(entries[i], &a, n ? args[0] : NULL);
    if (a.held) Py_DecRef(a.held);
    free(a.many);
    if (a.operand) library.free(a.operand);
  }
  return result;
}

static PyObject *call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  Py_ssize_t n = (Py_ssize_t)count_of(flagged);
  PyObject *result = try_entries(f->entries, f->count, args, n, names);
  return or_fallback(result, f, args, flagged, names);
}

// other - tensor: the entries have the operands the other way round.
static PyObject *reflected(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  PyObject *result = NULL;
  if (count_of(flagged) == 2 && !names)
    result = try_entries(f->entries, f->count, (PyObject *const[]){args[1], args[0]}, 2, NULL);
  return or_fallback(result, f, args, flagged, names);
}

// tensor[int] and tensor[slice], by the entries of select and slice; other keys by the next entry.
static PyObject *subscript(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  arguments a;
  lt_value *v = a.values;
  PyObject *result = NULL;
  Py_ssize_t start, stop, step;
  if (count_of(flagged) == 2 && !names && read_tensor(args[0], &v->pointer)) {
    a.number = false;
    v[1].i = 0;
    if (read_int(args[1], &v[2].i)) {
      result = invoke(f->entries[0], &a, NULL);
    } else if (read_slice(args[1], &start, &stop, &step)) {
      v[2].i = start, v[3].i = stop, v[4].i = step;
      result = invoke(f->entries[1], &a, NULL);
    } else {
      result = try_entries(f->entries + 2, 1, args, 2, NULL);
    }
  }
  return or_fallback(result, f, args, flagged, names);
}

// ------------------------------------------------------------------------------------------- types

static void free_object(PyObject *self) {
  PyTypeObject *type = self->type;
  ((void (*)(void *))PyType_GetSlot(type, Py_tp_free))(self);
  Py_DecRef((PyObject *)type);
}

static void tensor_dealloc(PyObject *self) {
  if (((tensor *)self)->handle) library.free((void *)((tensor *)self)->handle);
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

// Tells what the callables need to know: the library's functions, and the classes, the dtypes and
// the device of Python's side, which must live as long as the process, and the keyword "dtype".
// False when the functions are not those that this file knows.
EXPORT bool direct_start(const library_functions *functions, int count, PyObject *tensor_class,
                         PyObject *size_class, PyObject *dtype_tuple, PyObject *cpu_device,
                         PyObject *dtype_name) {
  if ((size_t)count * sizeof(void *) != sizeof library) return false;
  library = *functions;
  Py_IncRef(dtype_keyword = dtype_name);
  tensor_type = (PyTypeObject *)tensor_class;
  size_type = (PyTypeObject *)size_class;
  cpu = cpu_device;
  for (Py_ssize_t i = 0; i < PyTuple_Size(dtype_tuple) && i < MOST_DTYPES; i++)
    dtypes[i] = PyTuple_GetItem(dtype_tuple, i);
  return true;
}

// An entry, which is never freed: the word forms, what they do with their result, the type and
// number of several results, a letter for each parameter, how many of these may be positional, and
// tuples of their names and defaults, where `required` stands for none. NULL when there are too
// many.
EXPORT const entry *direct_entry(void *words, void *number_words, int result, PyObject *tuple,
                                 int results, const char *kinds, int positional, PyObject *names,
                                 PyObject *defaults, PyObject *required) {
  size_t count = strlen(kinds);
  entry *e = count <= MOST_PARAMETERS && results <= MOST_PARAMETERS ? calloc(1, sizeof *e) : NULL;
  if (!e) return NULL;
  e->call = (lt_words)words, e->call_number = (lt_words)number_words;
  e->result = result, e->count = (int)count, e->positional = positional;
  Py_IncRef(tuple);
  e->tuple = (PyTypeObject *)tuple, e->results = results;
  for (size_t i = 0; i < count; i++) {
    parameter *p = e->parameters + i;
    p->kind = kinds[i];
    Py_IncRef(p->name = PyTuple_GetItem(names, (Py_ssize_t)i));
    PyObject *absent = PyTuple_GetItem(defaults, (Py_ssize_t)i);
    if (absent != required) Py_IncRef(p->absent = absent);
  }
  return e;
}

static function *new_function(PyObject *fallback, vectorcall how) {
  function *f = (function *)PyType_GenericAlloc(function_type, 0);
  if (!f) return NULL;
  f->call = how;
  Py_IncRef(f->fallback = fallback);
  return f;
}

// A callable that tries the entries in their order, or does what `how` tells, and else calls
// `fallback`.
EXPORT PyObject *direct_function(PyObject *fallback, const entry *const *entries, int count,
                                 int how) {
  static const vectorcall calls[] = {call, reflected, subscript, make_tensor, receive, lend};
  function *f = count <= MOST_ENTRIES ? new_function(fallback, calls[how]) : NULL;
  if (!f) return NULL;
  f->count = count;
  memcpy(f->entries, entries, sizeof *entries * (size_t)count);
  return (PyObject *)f;
}

// A callable that gives what a C function tells of a tensor and else calls `fallback`.
EXPORT PyObject *direct_getter(PyObject *fallback, int reads, const void *from) {
  function *f = new_function(fallback, get);
  if (f) f->reads = reads, f->from = from;
  return (PyObject *)f;
}
