#include "direct.h"

static void free_object(PyObject *self) {
  PyTypeObject *type = self->type;
  ((void (*)(void *))PyType_GetSlot(type, Py_tp_free))(self);
  Py_DecRef((PyObject *)type);
}

// Creates a Tensor without a handle. The class defines this function so that object.__new__, which
// would do the same, raises for it.
static PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  (void)args, (void)keywords;
  return PyType_GenericAlloc(type, 0);
}

// An attribute of a view's base may be the view, and one of the objects that a custom function
// keeps in ctx its result.
static int tensor_traverse(PyObject *self, int (*visit)(PyObject *, void *), void *argument) {
  PyObject *parts[] = {(PyObject *)self->type, ((tensor *)self)->base, sole_ctx((tensor *)self)};
  for (int i = 0; i < 3; i++) {
    int stop = parts[i] ? visit(parts[i], argument) : 0;
    if (stop) return stop;
  }
  return 0;
}

static int tensor_clear(PyObject *self) {
  PyObject *base = ((tensor *)self)->base;
  ((tensor *)self)->base = NULL;
  if (base) Py_DecRef(base);
  return 0;
}

static void tensor_dealloc(PyObject *self) {
  PyObject_GC_UnTrack(self);
  if (((tensor *)self)->handle) free_handle((void *)((tensor *)self)->handle);
  tensor_clear(self);
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
      {"_view_of", T_OBJECT, offsetof(tensor, base), 0,
       "_base, for transforms that know the tensor outside that a result is a view of."},
      {0}};
  static PyType_Slot slots[] = {{Py_tp_members, members},
                                {Py_tp_new, tensor_new},
                                {Py_tp_traverse, tensor_traverse},
                                {Py_tp_clear, tensor_clear},
                                {Py_tp_dealloc, tensor_dealloc},
                                {Py_bf_getbuffer, give_buffer},
                                {Py_bf_releasebuffer, take_buffer_back},
                                {0}};
  static PyType_Spec spec = {"libtensor._base.direct.TensorBase", sizeof(tensor), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  return PyType_FromSpec(&spec);
}

// Frees the handle when nothing finds the object any more, weak references neither.
static void node_dealloc(PyObject *self) {
  if (((node_object *)self)->handle) library.node_free((void *)((node_object *)self)->handle);
  free_object(self);
}

// The class that those of nodes are made from. Returns a new reference, NULL with an exception.
EXPORT PyObject *direct_node_base(void) {
  static PyMemberDef members[] = {
      {"_h", T_ULONGLONG, offsetof(node_object, handle), 0, "The handle, which the object owns."},
      {0}};
  static PyType_Slot slots[] = {{Py_tp_members, members}, {Py_tp_dealloc, node_dealloc}, {0}};
  static PyType_Spec spec = {"libtensor._base.direct.NodeBase", sizeof(node_object), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
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
      "libtensor._base.direct.Function", sizeof(function), 0,
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

// The state that an interpreter's callables share; it is never freed. Returns NULL if the functions
// are not those that this file expects.
EXPORT state *direct_state(const library_functions *functions, int count) {
  state *s = calloc(1, sizeof *s);
  if (!s || (size_t)count * sizeof(void *) != sizeof library) return NULL;
  library = *functions;
  struct {
    PyObject **at;
    const char *text;
  } names[] = {{&s->dtype_name, "dtype"},
               {&s->out, "out"},
               {&s->inplace, "inplace"},
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
               {&s->defaults, "__defaults__"},
               {&s->name, "__name__"},
               {&s->class_of, "__class__"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!(*names[i].at = PyUnicode_InternFromString(names[i].text))) return NULL;
  for (int i = 0; i < ALIASES; i++)
    if (!(s->aliases[i].other = PyUnicode_InternFromString(aliases[i].other)) ||
        !(s->aliases[i].name = PyUnicode_InternFromString(aliases[i].name)))
      return NULL;
  if (!(s->nothing = PyType_GenericAlloc(&PyTuple_Type, 0))) return NULL;
  return (s->function_type = function_class()) ? s : NULL;
}

EXPORT PyObject *direct_function_class(const state *s) { return (PyObject *)s->function_type; }

// Sets the objects of the Python side, in the order in which they are read here.
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

// Sets the Python functions of the slow paths, in the order in which they are read here.
EXPORT bool direct_help(state *s, PyObject *python) {
  PyObject **const all[] = {&s->no_overload, &s->pinned,    &s->leaf,   &s->outputs,
                            &s->storage,     &s->generator, &s->device, &s->named};
  Py_ssize_t n = sizeof all / sizeof *all;
  if (PyTuple_Size(python) != n) return false;
  Py_IncRef(python);
  for (Py_ssize_t i = 0; i < n; i++) *all[i] = PyTuple_GetItem(python, i);
  return true;
}

// Sets the store for exceptions of callbacks, and Function.setup_context.
EXPORT void direct_apply_with(state *s, PyObject *raised, PyObject *no_setup) {
  Py_IncRef(raised), Py_IncRef(no_setup);
  s->raised = raised, s->no_setup = no_setup;
}

// Sets the subclass that calls return if an argument has it, and that does not override calls.
EXPORT void direct_kin(state *s, PyObject *class) {
  Py_IncRef(class);
  s->kin = (PyTypeObject *)class;
}

// Adds a subclass that does not override calls, and for which operations return Tensors; false if
// there are too many.
EXPORT bool direct_plain(state *s, PyObject *class) {
  for (int i = 0; i < MOST_PLAIN; i++) {
    if (s->plain[i]) continue;
    Py_IncRef(class);
    s->plain[i] = (PyTypeObject *)class;
    return true;
  }
  return false;
}

// Sets the converter of values to arguments of a kind.
EXPORT void direct_convert(state *s, char kind, PyObject *converter) {
  Py_IncRef(converter);
  s->converters[kind - 'A'] = converter;
}

// Counts a mode that wants to see every call, or one that no longer does.
EXPORT void direct_intercept(state *s, int change) {
  s->intercepting += change;
  interceptors += change;
}

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
  if (!op || op->count > LT_MOST_PARAMETERS || strlen(op->results) > LT_MOST_RESULTS) return false;
  o->mode = inplace ? LT_INPLACE : LT_FUNCTION;
  o->makes = !inplace && !strcmp(op->results, "T");
  o->changed = inplace ? 0 : op->changed < 0 ? LT_MOST_PARAMETERS : op->changed;
  for (int i = 0; i < op->count; i++) {
    bool operand = op->parameters[i].kind == 'O' || op->parameters[i].kind == 'P';
    o->kinds[i] = inplace && !i && operand ? 'T' : op->parameters[i].kind;
    o->tensors[i] = strchr("TtOP", o->kinds[i]);
    if (!(op->parameters[i].flags & LT_BY_NAME)) o->positional = i + 1;
    if (!(op->parameters[i].flags & LT_DEFAULT)) o->required++;
    if (!(op->parameters[i].flags & LT_DEFAULT) || operand || strchr("VR", o->kinds[i]))
      o->least = i + 1;
    const char *name = op->parameters[i].shown;
    if (!name) name = strcmp(op->parameters[i].name, "self") ? op->parameters[i].name : "input";
    if (!(o->names[i] = PyUnicode_InternFromString(name))) return false;
  }
  return (o->op = op);
}

// Returns a callable for operators, named in `operators` with spaces between, that runs the first
// overload that matches, or a callable of the kind `how`. `fallback` is the Python function to call
// if no overload matches. `explains` raises the error of a failed call, converts the other operand,
// or is the in-place form. `tuple` is the type of several results. All may be None. Returns None if
// there is no such operator.
EXPORT PyObject *direct_function(state *s, PyObject *name, const char *operators, bool inplace,
                                 int how, bool overridable, PyObject *fallback, PyObject *explains,
                                 PyObject *tuple) {
  static const vectorcall calls[] = {call,
                                     call_binary_operator,
                                     call_reflected_operator,
                                     subscript,
                                     assign,
                                     make_tensor,
                                     make_of_sequence,
                                     receive,
                                     lend,
                                     apply,
                                     switches,
                                     negates};
  function *f = (function *)PyType_GenericAlloc(s->function_type, 0);
  if (!f) return nothing();
  f->s = s, f->call = calls[how], f->overridable = overridable;
  f->first = how == SUBSCRIPTS ? 2 : 0;
  f->name = held(name), f->fallback = held(fallback);
  *(how == CALLS || how == NEGATES ? &f->explains : &f->other) = held(explains);
  f->tuple = (PyTypeObject *)held(tuple == &_Py_NoneStruct ? (PyObject *)&PyTuple_Type : tuple);
  if (!*operators) return (PyObject *)f;
  f->overloads = calloc(MOST_OVERLOADS, sizeof *f->overloads);
  for (const char *at = operators, *end; at && f->overloads; at = end ? end + 1 : NULL) {
    char one[128] = "";
    end = strchr(at, ' ');
    size_t length = end ? (size_t)(end - at) : strlen(at);
    if (length < sizeof one) memcpy(one, at, length), one[length] = 0;
    if (f->count == MOST_OVERLOADS || !fill(f->overloads + f->count, one, inplace))
      return Py_DecRef((PyObject *)f), nothing();
    f->count++;
  }
  return (PyObject *)f;
}

// Returns a callable for a property of a tensor that a C function reads; it calls `fallback` if
// that fails.
EXPORT PyObject *direct_getter(state *s, PyObject *fallback, int reads, const void *from) {
  function *f = (function *)PyType_GenericAlloc(s->function_type, 0);
  if (!f) return nothing();
  f->s = s, f->call = get, f->fallback = held(fallback);
  f->reads = reads, f->from = from;
  return (PyObject *)f;
}
