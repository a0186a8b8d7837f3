#include "direct.h"

library_functions library;
PyTypeObject *tensor_type, *size_type;
PyObject *dtypes[MOST_DTYPES], *cpu, *dtype_keyword, *failure, *dispatch, *nobody;
int intercepting;

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
  if (e->result == MAKES || e->result == VIEWS) return wrap(given);
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

PyObject *refuse(intptr_t status) {
  PyObject *number = PyLong_FromLong(status);
  PyObject *error = number ? PyObject_VectorcallDict(failure, &number, 1, NULL) : NULL;
  if (error) PyErr_SetObject((PyObject *)error->type, error), Py_DecRef(error);
  if (number) Py_DecRef(number);
  return NULL;
}

// The result; NULL when the library refuses the call, without an exception where the fallback
// explains. Views take less time than to let go of the interpreter.
static PyObject *invoke(const function *f, const entry *e, arguments *a, PyObject *first) {
  lt_words call = a->number ? e->call_number : e->call;
  PyThreadState *state = e->result == VIEWS ? NULL : PyEval_SaveThread();
  intptr_t given = call(a->values);
  if (state) PyEval_RestoreThread(state);
  bool handle = e->result == MAKES || e->result == VIEWS;
  if (handle ? given >= LT_STATUSES : !given) return result_of(e, a, given, first);
  return f->explains ? NULL : refuse(given);
}

// Tells whether the class of an object, or of an item of a list (in a list), has
// __torch_function__. Tensor's own takes nothing over.
static bool overrides(PyObject *o, int depth) {
  PyTypeObject *type = o->type;
  if (type == tensor_type || type == &PyLong_Type || type == &PyFloat_Type ||
      type == &PyUnicode_Type || type == dtypes[0]->type || o == &_Py_NoneStruct)
    return false;
  bool list = type == &PyList_Type;
  if (list || type == &PyTuple_Type) {
    for (Py_ssize_t i = 0; depth < 2 && i < (list ? PyList_Size(o) : PyTuple_Size(o)); i++)
      if (overrides(list ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i), depth + 1)) return true;
    return false;
  }
  PyObject *hook = PyObject_GetAttrString((PyObject *)type, "__torch_function__");
  if (hook) return Py_DecRef(hook), true;
  return PyErr_Clear(), false;
}

static bool may_be_overridden(const function *f, PyObject *const *args, Py_ssize_t n) {
  if (!f->overridable) return false;
  for (Py_ssize_t i = 0; i < n && !intercepting; i++)
    if (overrides(args[i], 0)) return true;
  return intercepting;
}

// What takes the call over gives; `nobody`, a borrowed reference, when nothing does.
static PyObject *overridden(const function *f, PyObject *const *args, Py_ssize_t n,
                            PyObject *keywords) {
  PyObject *given = PyType_GenericAlloc(&PyTuple_Type, n);
  for (Py_ssize_t i = 0; given && i < n; i++) {
    Py_IncRef(args[i]);
    PyTuple_SetItem(given, i, args[i]);
  }
  PyObject *all[] = {(PyObject *)f, given, keywords ? keywords : &_Py_NoneStruct};
  PyObject *result = given ? PyObject_VectorcallDict(dispatch, all, 3, NULL) : NULL;
  if (given) Py_DecRef(given);
  if (result == nobody) Py_DecRef(result);
  return result;
}

PyObject *or_fallback(PyObject *result, const function *f, PyObject *const *args, size_t flagged,
                      PyObject *names) {
  PyObject *keywords = NULL;
  if (result || PyErr_Occurred()) return result;
  Py_ssize_t n = (Py_ssize_t)count_of(flagged), named = names ? PyTuple_Size(names) : 0;
  if (names && !(keywords = PyDict_New())) return NULL;
  for (Py_ssize_t k = 0; k < named; k++)
    if (PyDict_SetItem(keywords, PyTuple_GetItem(names, k), args[n + k]))
      return Py_DecRef(keywords), NULL;
  result = nobody;
  if (may_be_overridden(f, args, n + named)) result = overridden(f, args, n, keywords);
  if (result == nobody) result = PyObject_VectorcallDict(f->fallback, args, flagged, keywords);
  if (keywords) Py_DecRef(keywords);
  return result;
}

// The result of the first of the function's entries, from one on, that fits; NULL without an
// exception when the fallback has to act.
static PyObject *try_entries(const function *f, int from, PyObject *const *args, Py_ssize_t n,
                             PyObject *names) {
  PyObject *result = NULL;
  bool fit = intercepting;
  for (int i = from; i < f->count && !fit; i++) {
    arguments a;
    a.held = NULL, a.operand = a.many = NULL;
    fit = fits(f->entries[i], args, n, names, &a);
    if (fit) result = invoke(f, f->entries[i], &a, n ? args[0] : NULL);
    if (a.held) Py_DecRef(a.held);
    free(a.many);
    if (a.operand) library.free(a.operand);
  }
  return result;
}

static PyObject *call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  Py_ssize_t n = (Py_ssize_t)count_of(flagged);
  PyObject *result = try_entries(f, 0, args, n, names);
  return or_fallback(result, f, args, flagged, names);
}

// other - tensor: the entries have the operands the other way round.
static PyObject *reflected(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  PyObject *result = NULL;
  if (count_of(flagged) == 2 && !names)
    result = try_entries(f, 0, (PyObject *const[]){args[1], args[0]}, 2, NULL);
  return or_fallback(result, f, args, flagged, names);
}

// tensor[int] and tensor[slice], by the entries of select and slice; other keys, and those that the
// tensor does not have, by the next entry, whose errors tell of an index.
static PyObject *subscript(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  arguments a;
  lt_value *v = a.values;
  PyObject *result = NULL;
  Py_ssize_t start, stop, step;
  if (count_of(flagged) == 2 && !names && !intercepting && read_tensor(args[0], &v->pointer)) {
    int64_t n = library.dim(v->pointer) > 0 ? *library.sizes(v->pointer) : -1;
    a.number = false;
    v[1].i = 0;
    if (read_int(args[1], &v[2].i) && v[2].i >= -n && v[2].i < n) {
      result = invoke(f, f->entries[0], &a, NULL);
    } else if (n >= 0 && read_slice(args[1], &start, &stop, &step) && step > 0) {
      v[2].i = start, v[3].i = stop, v[4].i = step;
      result = invoke(f, f->entries[1], &a, NULL);
    } else {
      result = try_entries(f, 2, args, 2, NULL);
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

// A Tensor whose handle is to be set. The class has this function of its own so that
// object.__new__, which would leave one without, refuses.
static PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  (void)args, (void)keywords;
  return PyType_GenericAlloc(type, 0);
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

// __signature__, which inspect and help() ask for.
static PyObject *describe;
static PyObject *function_signature(PyObject *self, void *closure) {
  (void)closure;
  return PyObject_VectorcallDict(describe, &self, 1, NULL);
}

static PyTypeObject *function_type;

// The class that Tensor is made from. Returns a new reference, NULL with an exception.
EXPORT PyObject *direct_tensor_base(void) {
  static PyMemberDef members[] = {
      {"_h", T_ULONGLONG, offsetof(tensor, handle), 0, "The handle, which the object owns."}, {0}};
  static PyType_Slot slots[] = {
      {Py_tp_members, members}, {Py_tp_new, tensor_new}, {Py_tp_dealloc, tensor_dealloc}, {0}};
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
  static PyGetSetDef properties[] = {{"__signature__", function_signature, NULL, NULL, NULL}, {0}};
  static PyType_Slot slots[] = {{Py_tp_members, members},          {Py_tp_getset, properties},
                                {Py_tp_dealloc, function_dealloc}, {Py_tp_call, PyVectorcall_Call},
                                {Py_tp_descr_get, function_get},   {0}};
  static PyType_Spec spec = {
      "libtensor._direct.Function", sizeof(function), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
  return (PyObject *)(function_type = (PyTypeObject *)PyType_FromSpec(&spec));
}

// Tells what the callables need to know: the library's functions, and a tuple of what Python's side
// has, which must live as long as the process, in the order in which it is taken here. False when
// the functions are not those that this file knows.
EXPORT bool direct_start(const library_functions *functions, int count, PyObject *python) {
  PyObject *tensor_class, *size_class, *dtype_tuple;
  PyObject **const all[] = {&tensor_class, &size_class, &dtype_tuple, &cpu,     &dtype_keyword,
                            &failure,      &dispatch,   &nobody,      &describe};
  Py_ssize_t n = sizeof all / sizeof *all;
  if ((size_t)count * sizeof(void *) != sizeof library || PyTuple_Size(python) != n) return false;
  library = *functions;
  Py_IncRef(python);
  for (Py_ssize_t i = 0; i < n; i++) *all[i] = PyTuple_GetItem(python, i);
  tensor_type = (PyTypeObject *)tensor_class, size_type = (PyTypeObject *)size_class;
  for (Py_ssize_t i = 0; i < PyTuple_Size(dtype_tuple) && i < MOST_DTYPES; i++)
    dtypes[i] = PyTuple_GetItem(dtype_tuple, i);
  return true;
}

// Counts a mode that wants to see every call, or one that no longer does.
EXPORT void direct_intercept(int change) { intercepting += change; }

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
                                 int how, bool overridable, bool explains) {
  static const vectorcall calls[] = {call, reflected, subscript, make_tensor, receive, lend};
  function *f = count <= MOST_ENTRIES ? new_function(fallback, calls[how]) : NULL;
  if (!f) return NULL;
  f->count = count, f->overridable = overridable, f->explains = explains;
  memcpy(f->entries, entries, sizeof *entries * (size_t)count);
  return (PyObject *)f;
}

// A callable that gives what a C function tells of a tensor and else calls `fallback`.
EXPORT PyObject *direct_getter(PyObject *fallback, int reads, const void *from, bool overridable) {
  function *f = new_function(fallback, get);
  if (f) f->reads = reads, f->from = from, f->overridable = overridable;
  return (PyObject *)f;
}
