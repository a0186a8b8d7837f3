#include "direct.h"

library_functions library;

// ------------------------------------------------------------------------------------------- calls

PyObject *refuse(const state *s, intptr_t status) {
  PyObject *number = PyLong_FromLong(status);
  PyObject *error = number ? PyObject_VectorcallDict(s->failure, &number, 1, NULL) : NULL;
  if (error) PyErr_SetObject((PyObject *)error->type, error), Py_DecRef(error);
  if (number) Py_DecRef(number);
  return NULL;
}

// A tensor, whose gradient is wanted where that was asked for.
static PyObject *as_leaf(const arguments *a, PyObject *made) {
  if (!made || !a->leaf) return made;
  PyObject *leaf = PyObject_VectorcallDict(a->s->leaf, &made, 1, NULL);
  Py_DecRef(made);
  return leaf;
}

// The tensor that owns a handle, with what was asked for beside: pinned memory, names, and that its
// gradient is wanted.
static PyObject *made_as_asked(const function *f, const arguments *a, intptr_t handle) {
  PyObject *made = wrap(a->s, handle);
  if (made && a->pins) {
    PyObject *pinned = PyObject_VectorcallDict(a->s->pinned, &made, 1, NULL);
    Py_DecRef(made);
    made = pinned;
  }
  PyObject *asked[] = {made, a->names, f->name};
  if (made && a->names) {
    PyObject *named = PyObject_VectorcallDict(a->s->named, asked, 3, NULL);
    Py_DecRef(made);
    made = named;
  }
  return as_leaf(a, made);
}

// Calls a packed form. Brief calls take less time than to let go of the interpreter.
static PyObject *invoke(const function *f, const overload *o, arguments *a) {
  lt_packed call = o->op->packed[a->out ? LT_AS_OUT : o->mode][a->number];
  PyThreadState *thread = o->op->flags & LT_BRIEF ? NULL : PyEval_SaveThread();
  intptr_t given = call(a->values);
  if (thread) PyEval_RestoreThread(thread);
  if (o->makes && !a->out) {
    if (given >= LT_STATUSES)
      return a->leaf || a->pins || a->names ? made_as_asked(f, a, given)
                                            : as_view(f, o, a, wrap(f->s, given));
    if (!given) return maybe(f->s, NULL);
  } else if (!given) {
    return as_leaf(a, result_of(f, o, a));
  }
  if (f->explains) {
    PyObject *said = PyObject_VectorcallDict(f->explains, &a->first, 1, NULL);
    if (!said) return NULL;
    Py_DecRef(said);
  }
  return refuse(f->s, given);
}

// Tells whether the class of an object, or of an item of a list (in a list), has
// __torch_function__. Tensor's own takes nothing over.
static bool overrides(const state *s, PyObject *o, int depth) {
  PyTypeObject *type = o->type;
  if (type == s->tensor_type || type == &PyLong_Type || type == &PyFloat_Type ||
      type == &PyUnicode_Type || type == s->dtypes[0]->type || o == &_Py_NoneStruct)
    return false;
  bool list = type == &PyList_Type;
  if (list || type == &PyTuple_Type) {
    for (Py_ssize_t i = 0; depth < 2 && i < (list ? PyList_Size(o) : PyTuple_Size(o)); i++)
      if (overrides(s, list ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i), depth + 1)) return true;
    return false;
  }
  PyObject *hook = PyObject_GetAttrString((PyObject *)type, "__torch_function__");
  if (hook) return Py_DecRef(hook), true;
  return PyErr_Clear(), false;
}

static bool may_be_overridden(const function *f, PyObject *const *args, Py_ssize_t n) {
  if (!f->overridable) return false;
  for (Py_ssize_t i = 0; i < n && !f->s->intercepting; i++)
    if (overrides(f->s, args[i], 0)) return true;
  return f->s->intercepting;
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
  PyObject *result = given ? PyObject_VectorcallDict(f->s->dispatch, all, 3, NULL) : NULL;
  if (given) Py_DecRef(given);
  if (result == f->s->nobody) Py_DecRef(result);
  return result;
}

// The keywords of a call as a dictionary; NULL without any, and with an exception.
static PyObject *dictionary(PyObject *const *values, PyObject *names) {
  PyObject *made = names ? PyDict_New() : NULL;
  for (Py_ssize_t k = 0, n = made ? PyTuple_Size(names) : 0; made && k < n; k++)
    if (PyDict_SetItem(made, PyTuple_GetItem(names, k), values[k])) Py_DecRef(made), made = NULL;
  return made;
}

// The exception for arguments that fit no overload.
static PyObject *no_overload(const function *f, PyObject *const *args, Py_ssize_t n,
                             PyObject *keywords) {
  PyObject *forms = PyList_New(f->count - f->first), *given = PyList_New(n), *error = NULL;
  for (int i = f->first; forms && i < f->count; i++)
    PyList_SetItem(forms, i - f->first, PyUnicode_FromString(f->overloads[i].op->signature));
  for (Py_ssize_t i = 0; given && i < n; i++) {
    Py_IncRef(args[i]);
    PyList_SetItem(given, i, args[i]);
  }
  PyObject *all[] = {f->name, forms, given, keywords ? keywords : &_Py_NoneStruct};
  if (forms && given) error = PyObject_VectorcallDict(f->s->no_overload, all, 4, NULL);
  if (error) PyErr_SetObject((PyObject *)error->type, error), Py_DecRef(error);
  if (forms) Py_DecRef(forms);
  if (given) Py_DecRef(given);
  return NULL;
}

// The result of the first overload that fits. Where `asks`, values of unknown classes are
// converted, and arguments that fit nothing raise an exception; otherwise the result is NULL
// without one for them. What fits only loosely comes last: of max(a, tensor(0)), that is a
// dimension.
static PyObject *choose(const function *f, PyObject *const *args, Py_ssize_t n, PyObject *names,
                        bool asks) {
  PyObject *result = NULL;
  verdict fits = NO;
  int forms = f->count - f->first;
  for (int i = 0; i < forms << (asks && forms > 1) && fits == NO; i++) {
    const overload *o = f->overloads + f->first + i % forms;
    arguments a;
    a.s = f->s, a.asks = asks, a.loose = i >= forms, a.used = 0, a.number = false, a.keeps = 0;
    a.out = a.names = NULL, a.blocks = a.operand = NULL, a.leaf = a.pins = false;
    fits = match(f, o, args, n, names, &a);
    if (fits == YES) result = invoke(f, o, &a);
    if (a.keeps || a.blocks || a.operand) release(&a);
  }
  if (fits == FAILED && !asks) PyErr_Clear();
  return result;
}

PyObject *or_fallback(PyObject *result, const function *f, PyObject *const *args, size_t flagged,
                      PyObject *names) {
  if (result || PyErr_Occurred()) return result;
  Py_ssize_t n = (Py_ssize_t)count_of(flagged), named = names ? PyTuple_Size(names) : 0;
  PyObject *keywords = dictionary(args + n, names);
  if (names && !keywords) return NULL;
  result = f->s->nobody;
  if (may_be_overridden(f, args, n + named)) result = overridden(f, args, n, keywords);
  if (result == f->s->nobody && f->fallback) {
    result = PyObject_VectorcallDict(f->fallback, args, flagged, keywords);
  } else if (result == f->s->nobody) {
    result = choose(f, args, n, names, true);
    if (!result && !PyErr_Occurred()) no_overload(f, args, n, keywords);
  }
  if (keywords) Py_DecRef(keywords);
  return result;
}

static PyObject *call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  Py_ssize_t n = (Py_ssize_t)count_of(flagged);
  bool seen = f->s->intercepting && f->overridable;
  PyObject *result = seen ? NULL : choose(f, args, n, names, false);
  return or_fallback(result, f, args, flagged, names);
}

// tensor - other, and other - tensor. Other operands than tensors and numbers are converted first,
// and `fallback`, the function, takes them then.
static PyObject *operate(const function *f, PyObject *const *args, bool reflected) {
  PyObject *both[] = {args[reflected], args[!reflected]};
  PyObject *result = f->s->intercepting ? NULL : choose(f, both, 2, NULL, false);
  if (result || PyErr_Occurred()) return result;
  PyObject *other = PyObject_VectorcallDict(f->other, args + 1, 1, NULL);
  if (!other || other == &_Py_NotImplementedStruct) return other;
  both[!reflected] = other;
  result = PyObject_VectorcallDict(f->fallback, both, 2, NULL);
  Py_DecRef(other);
  return result;
}

static PyObject *operates(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  if (count_of(flagged) == 2 && !names) return operate(f, args, false);
  return PyErr_Format(PyExc_TypeError, "%U() takes two operands", f->name);
}

static PyObject *reflects(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  if (count_of(flagged) == 2 && !names) return operate(f, args, true);
  return PyErr_Format(PyExc_TypeError, "%U() takes two operands", f->name);
}

// tensor[int] and tensor[slice], by the overloads select and slice; other keys, and those that the
// tensor does not have, by the next one, whose errors tell of an index.
// A call for what it does: Python shows what __setitem__ gives when it is called by name.
static PyObject *assign(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  PyObject *result = call(self, args, flagged, names);
  if (!result) return NULL;
  Py_DecRef(result);
  return Py_IncRef(&_Py_NoneStruct), &_Py_NoneStruct;
}

static PyObject *subscript(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  arguments a;
  lt_value *v = a.values;
  PyObject *result = NULL;
  Py_ssize_t start, stop, step;
  if (count_of(flagged) == 2 && !names && !f->s->intercepting &&
      read_plain_tensor(f->s, args[0], &v->pointer)) {
    int64_t n = library.dim(v->pointer) > 0 ? *library.sizes(v->pointer) : -1;
    a.number = a.leaf = a.pins = false, a.out = a.names = NULL, a.first = args[0];
    v[1].i = 0;
    if (read_int(args[1], &v[2].i) && v[2].i >= -n && v[2].i < n) {
      result = invoke(f, f->overloads, &a);
    } else if (n >= 0 && read_slice(args[1], &start, &stop, &step) && step > 0) {
      v[2].i = start, v[3].i = stop, v[4].i = step;
      result = invoke(f, f->overloads + 1, &a);
    } else {
      result = choose(f, args, 2, NULL, false);
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

// An attribute of what a view is of may be the view.
static int tensor_traverse(PyObject *self, int (*visit)(PyObject *, void *), void *argument) {
  PyObject *base = ((tensor *)self)->base;
  int stop = visit((PyObject *)self->type, argument);
  return stop || !base ? stop : visit(base, argument);
}

static int tensor_clear(PyObject *self) {
  PyObject *base = ((tensor *)self)->base;
  ((tensor *)self)->base = NULL;
  if (base) Py_DecRef(base);
  return 0;
}

// The owner of lent memory may be freed with the tensor, by Python code. An exception that is on
// its way has to arrive.
static void tensor_dealloc(PyObject *self) {
  PyObject *type, *value, *trace;
  bool raised = PyErr_Occurred();
  if (raised) PyErr_Fetch(&type, &value, &trace);
  PyObject_GC_UnTrack(self);
  if (((tensor *)self)->handle) library.free((void *)((tensor *)self)->handle);
  tensor_clear(self);
  if (raised) PyErr_Restore(type, value, trace);
  free_object(self);
}

static void function_dealloc(PyObject *self) {
  function *f = (function *)self;
  PyObject *held[] = {f->dict, f->name, f->fallback, f->other, f->explains, (PyObject *)f->tuple};
  for (size_t i = 0; i < sizeof held / sizeof *held; i++)
    if (held[i]) Py_DecRef(held[i]);
  for (int i = 0; i < f->count; i++)
    for (int k = 0; k < f->overloads[i].op->count; k++) Py_DecRef(f->overloads[i].names[k]);
  free(f->overloads);
  free_object(self);
}

// As a Python function in a class: a method.
static PyObject *function_get(PyObject *self, PyObject *object, PyObject *type) {
  (void)type;
  if (object && object != &_Py_NoneStruct) return PyMethod_New(self, object);
  Py_IncRef(self);
  return self;
}

// The class that Tensor is made from. Returns a new reference, NULL with an exception.
EXPORT PyObject *direct_tensor_base(void) {
  static PyMemberDef members[] = {
      {"_h", T_ULONGLONG, offsetof(tensor, handle), 0, "The handle, which the object owns."},
      {"_base", T_OBJECT, offsetof(tensor, base), READONLY,
       "The tensor that this one is a view of, None for other tensors."},
      {0}};
  static PyType_Slot slots[] = {{Py_tp_members, members},          {Py_tp_new, tensor_new},
                                {Py_tp_traverse, tensor_traverse}, {Py_tp_clear, tensor_clear},
                                {Py_tp_dealloc, tensor_dealloc},   {0}};
  static PyType_Spec spec = {"libtensor._direct.TensorBase", sizeof(tensor), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  return PyType_FromSpec(&spec);
}

// The class of the callables.
static PyTypeObject *function_class(void) {
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
  return (PyTypeObject *)PyType_FromSpec(&spec);
}

// Other names that keywords have: NumPy's, PyTorch's old ones, and words of Python's.
static const struct {
  const char *other, *name;
} aliases[ALIASES] = {
    {"axis", "dim"},   {"keepdims", "keepdim"}, {"split_size", "split_size_or_sections"},
    {"from", "from_"}, {"x", "input"},          {"a", "input"},
    {"x1", "input"},   {"x2", "other"},         {"input2", "L"},
    {"input2", "tau"}, {"input3", "other"},     {"input", "x"},
};

// What an interpreter's callables share, never freed; NULL when the functions are not those that
// this file knows.
EXPORT state *direct_state(const library_functions *functions, int count) {
  state *s = calloc(1, sizeof *s);
  if (!s || (size_t)count * sizeof(void *) != sizeof library) return NULL;
  library = *functions;
  struct {
    PyObject **at;
    const char *text;
  } names[] = {{&s->dtype_name, "dtype"},
               {&s->out, "out"},
               {&s->dim, "dim"},
               {&s->requires_grad, "requires_grad"},
               {&s->pin_memory, "pin_memory"},
               {&s->names, "names"},
               {&s->gradients, "gradients"},
               {&s->backward_class, "_backward_cls"},
               {&s->forward, "forward"},
               {&s->setup_context, "setup_context"},
               {&s->is_tensor, "is_tensor"},
               {&s->needs_input_grad, "needs_input_grad"},
               {&s->to_save, "to_save"},
               {&s->dirty, "dirty"},
               {&s->non_differentiable, "non_differentiable"},
               {&s->materialize_grads, "materialize_grads"},
               {&s->name, "__name__"},
               {&s->h, "_h"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!(*names[i].at = PyUnicode_InternFromString(names[i].text))) return NULL;
  for (int i = 0; i < ALIASES; i++)
    if (!(s->aliases[i].other = PyUnicode_InternFromString(aliases[i].other)) ||
        !(s->aliases[i].name = PyUnicode_InternFromString(aliases[i].name)))
      return NULL;
  s->nothing = PyType_GenericAlloc(&PyTuple_Type, 0), s->zero = PyLong_FromLong(0);
  if (!s->nothing || !s->zero) return NULL;
  return (s->function_type = function_class()) ? s : NULL;
}

EXPORT PyObject *direct_function_class(const state *s) { return (PyObject *)s->function_type; }

// Tells what the Python side has, in the order in which it is taken here.
EXPORT bool direct_start(state *s, PyObject *python) {
  PyObject *tensor_class, *size_class, *dtypes;
  PyObject **const all[] = {&tensor_class, &size_class,  &dtypes,   &s->cpu,
                            &s->failure,   &s->dispatch, &s->nobody};
  Py_ssize_t n = sizeof all / sizeof *all;
  if (PyTuple_Size(python) != n) return false;
  Py_IncRef(python);
  for (Py_ssize_t i = 0; i < n; i++) *all[i] = PyTuple_GetItem(python, i);
  s->tensor_type = (PyTypeObject *)tensor_class, s->size_type = (PyTypeObject *)size_class;
  for (Py_ssize_t i = 0; i < PyTuple_Size(dtypes) && i < MOST_DTYPES; i++)
    s->dtypes[i] = PyTuple_GetItem(dtypes, i);
  return true;
}

// Tells the functions for what is not plain, in the order in which they are taken here.
EXPORT bool direct_help(state *s, PyObject *python) {
  PyObject **const all[] = {&s->no_overload, &s->pinned,    &s->leaf,   &s->outputs,
                            &s->storage,     &s->generator, &s->device, &s->named};
  Py_ssize_t n = sizeof all / sizeof *all;
  if (PyTuple_Size(python) != n) return false;
  Py_IncRef(python);
  for (Py_ssize_t i = 0; i < n; i++) *all[i] = PyTuple_GetItem(python, i);
  return true;
}

// Tells what keeps the exceptions of what the library calls, and Function.setup_context.
EXPORT void direct_apply_with(state *s, PyObject *raised, PyObject *no_setup) {
  Py_IncRef(raised), Py_IncRef(no_setup);
  s->raised = raised, s->no_setup = no_setup;
}

// Tells what converts values that are not plain to arguments of a kind.
EXPORT void direct_convert(state *s, char kind, PyObject *converter) {
  Py_IncRef(converter);
  s->converters[kind - 'A'] = converter;
}

// Counts a mode that wants to see every call, or one that no longer does.
EXPORT void direct_intercept(state *s, int change) { s->intercepting += change; }

static PyObject *held(PyObject *o) {
  if (o == &_Py_NoneStruct) return NULL;
  Py_IncRef(o);
  return o;
}

// For ctypes, whose py_object must not be NULL.
static PyObject *nothing(void) {
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

static bool fill(overload *o, const char *name, bool inplace) {
  const lt_operator *op = library.find(name);
  if (!op || op->count > MOST_PARAMETERS || strlen(op->results) > MOST_RESULTS) return false;
  o->mode = inplace ? LT_AS_INPLACE : LT_AS_FUNCTION;
  o->makes = !inplace && !strcmp(op->results, "T");
  o->changed = inplace ? 0 : op->changed < 0 ? MOST_PARAMETERS : op->changed;
  for (int i = 0; i < op->count; i++) {
    bool operand = op->parameters[i].kind == 'O' || op->parameters[i].kind == 'P';
    o->kinds[i] = inplace && !i && operand ? 'T' : op->parameters[i].kind;
    o->tensors[i] = strchr("TtOP", o->kinds[i]);
    if (!(op->parameters[i].flags & LT_BY_NAME)) o->positional = i + 1;
    if (!(op->parameters[i].flags & LT_DEFAULT)) o->required++;
    if (!(op->parameters[i].flags & LT_DEFAULT) || operand || strchr("VR", o->kinds[i]))
      o->least = i + 1;
    if (!(o->names[i] = PyUnicode_InternFromString(op->parameters[i].name))) return false;
  }
  return (o->op = op);
}

// A callable of operators, of which it chooses the first that fits, named in `operators` with
// spaces between, or one that does what `how` tells. `fallback` is the Python function that acts
// where no operator fits, `explains` what has an error of its own for a refused call, or converts
// the other operand; `tuple` the type of several results; all may be None. Gives None when there is
// no such operator.
EXPORT PyObject *direct_function(state *s, PyObject *name, const char *operators, bool inplace,
                                 int how, bool overridable, PyObject *fallback, PyObject *explains,
                                 PyObject *tuple) {
  static const vectorcall calls[] = {call,        operates,         reflects, subscript, assign,
                                     make_tensor, make_of_sequence, receive,  lend,      apply};
  function *f = (function *)PyType_GenericAlloc(s->function_type, 0);
  if (!f) return nothing();
  f->s = s, f->call = calls[how], f->overridable = overridable;
  f->first = how == SUBSCRIPTS ? 2 : 0;
  f->name = held(name), f->fallback = held(fallback);
  *(how == CALLS ? &f->explains : &f->other) = held(explains);
  f->tuple = (PyTypeObject *)held(tuple == &_Py_NoneStruct ? (PyObject *)&PyTuple_Type : tuple);
  if (!*operators) return (PyObject *)f;
  f->overloads = calloc(MOST_OVERLOADS, sizeof *f->overloads);
  for (const char *at = operators, *end; at && f->overloads; at = end ? end + 1 : NULL) {
    char one[128] = "";
    end = strchr(at, ' ');
    size_t length = end ? (size_t)(end - at) : strlen(at);
    if (length < sizeof one) memcpy(one, at, length);
    if (f->count == MOST_OVERLOADS || !fill(f->overloads + f->count, one, inplace))
      return Py_DecRef((PyObject *)f), nothing();
    f->count++;
  }
  return (PyObject *)f;
}

// A callable that gives what a C function tells of a tensor and else calls `fallback`.
EXPORT PyObject *direct_getter(state *s, PyObject *fallback, int reads, const void *from) {
  function *f = (function *)PyType_GenericAlloc(s->function_type, 0);
  if (!f) return nothing();
  f->s = s, f->call = get, f->fallback = held(fallback);
  f->reads = reads, f->from = from;
  return (PyObject *)f;
}
