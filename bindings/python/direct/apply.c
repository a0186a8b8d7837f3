// Function.apply: calls forward without gradients, and records the call. Inside transforms, and
// where arguments have to be bound to the parameters of forward, _gradients/function.py acts first.
#include "direct.h"

enum { MOST = 16 };

// A node of a custom function, which is the context of the library's callbacks.
typedef struct {
  const state *s;
  PyObject *ctx;
} recorded;

// object.name(*args), unless object is NULL.
static PyObject *ask(PyObject *object, PyObject *name, PyObject *const *args, size_t n) {
  PyObject *method = object ? PyObject_GetAttr(object, name) : NULL;
  PyObject *made = method ? PyObject_VectorcallDict(method, args, n, NULL) : NULL;
  if (method) Py_DecRef(method);
  return made;
}

// Keeps the exception for the call that the library was called by.
static int32_t fail(const state *s) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace), Py_DecRef(trace);
  PyObject *said = PyObject_VectorcallDict(s->raised, &value, 1, NULL);
  if (said) Py_DecRef(said);
  Py_DecRef(type), Py_DecRef(value);
  return TENSOR_ERROR_CALLBACK;
}

// Returns the gradients that ctx.gradients makes of the given ones.
static int32_t differentiate(void *context, void **given, int64_t n, void **made, int64_t m) {
  const state *s = ((recorded *)context)->s;
  int held = PyGILState_Ensure();
  PyObject *grads = PyList_New(n), *results = NULL;
  for (int64_t i = 0; grads && i < n; i++) {
    PyList_SetItem(grads, i, maybe(s, given[i]));
    given[i] = NULL;
  }
  if (grads) results = ask(((recorded *)context)->ctx, s->gradients, &grads, 1);
  bool failed = !results;
  for (int64_t i = 0; i < m && !failed; i++) {
    void *handle;
    tensor_status status = TENSOR_OK;
    if (read_tensor(s, PyList_GetItem(results, i), &handle))
      status = library.new_handle(handle, made + i);
    if ((failed = status)) raise_status(s, status);
  }
  if (grads) Py_DecRef(grads);
  if (results) Py_DecRef(results);
  int32_t code = failed ? fail(s) : TENSOR_OK;
  PyGILState_Release(held);
  return code;
}

// Releases a call after its node was freed. A pending exception is preserved.
static void forget(void *context) {
  int held = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  bool raised = PyErr_Occurred();
  if (raised) PyErr_Fetch(&type, &value, &trace);
  Py_DecRef(((recorded *)context)->ctx);
  free(context);
  if (raised) PyErr_Restore(type, value, trace);
  PyGILState_Release(held);
}

// The ctx of a node, a new reference.
EXPORT PyObject *direct_ctx(const void *context) {
  PyObject *ctx = ((const recorded *)context)->ctx;
  Py_IncRef(ctx);
  return ctx;
}

// Whether a call of the library has succeeded; raises its error otherwise.
static bool done(const state *s, tensor_status status) {
  if (status) raise_status(s, status);
  return !status;
}

PyObject *sole_ctx(const tensor *t) {
  if (!t->of_function || !t->handle) return NULL;
  const recorded *call = library.sole_context((void *)t->handle, forget);
  return call ? call->ctx : NULL;
}

// Creates a node for a call, whose other attributes are in ctx, and stores it in ctx.
static bool give(const state *s, PyObject *ctx, const char *name, bool materialize,
                 void *const *const *lists, const int64_t *lengths, const int64_t *constant) {
  void *node = NULL;
  recorded *call = malloc(sizeof *call);
  if (!call) return done(s, TENSOR_ERROR_MEMORY);
  *call = (recorded){s, ctx};
  Py_IncRef(ctx);
  tensor_status status =
      library.record(name, lists[0], lengths[0], lists[1], lengths[1], constant, lengths[3],
                     lists[2], lengths[2], materialize, differentiate, call, forget, &node);
  if (status) {
    Py_DecRef(ctx), free(call);
    return done(s, status);
  }
  ((node_object *)ctx)->handle =
      (uint64_t)node;  // the node keeps ctx, which does not keep the node
  return true;
}

// The handles of the tensors that ctx saves, NULL for None; NULL with an exception for other
// objects.
static void **read_saved(const state *s, PyObject *tuple, void **few) {
  Py_ssize_t n = PyTuple_Size(tuple);
  void **to = n <= MOST ? few : malloc((size_t)n * sizeof *to);
  for (Py_ssize_t i = 0; to && i < n; i++) {
    PyObject *o = PyTuple_GetItem(tuple, i);
    if (o == &_Py_NoneStruct) {
      to[i] = NULL;
    } else if (!read_tensor(s, o, to + i)) {
      PyObject *kind = PyObject_GetAttr((PyObject *)o->type, s->name);
      if (kind)
        PyErr_Format(PyExc_TypeError,
                     "save_for_backward can only save variables, but argument %zd is of type %U", i,
                     kind),
            Py_DecRef(kind);
      if (to != few) free(to);
      return NULL;
    }
  }
  if (!to) done(s, TENSOR_ERROR_MEMORY);
  return to;
}

// A call of a Function: its arguments, and the tensors among them and among the outputs of forward
// for autograd.
typedef struct {
  const state *s;
  PyObject *class, *ctx, *made;
  PyObject *const *args;
  Py_ssize_t n, inputs, outputs;
  bool sets_up;      // the class has setup_context
  bool several;      // forward returned a tuple
  PyObject **items;  // of it, each a new reference
  void **in,
      **out;  // handles of the inputs, which are tensors, and of the outputs, NULL for others
} application;

static bool is_among(PyObject *tuple, PyObject *o) {
  Py_ssize_t n = tuple->type == &PyTuple_Type ? PyTuple_Size(tuple) : 0;
  for (Py_ssize_t i = 0; i < n; i++)
    if (PyTuple_GetItem(tuple, i) == o) return true;
  return false;
}

static bool is_argument(const application *a, PyObject *o) {
  for (Py_ssize_t i = 0; i < a->n; i++)
    if (a->args[i] == o) return true;
  return false;
}

// Sets in ctx which arguments are tensors, and which of these require grad; any is whether one
// does.
static bool tell(application *a, bool recording, bool *any) {
  const state *s = a->s;
  PyObject *are = PyType_GenericAlloc(&PyTuple_Type, a->n);
  PyObject *need = PyType_GenericAlloc(&PyTuple_Type, a->n);
  uint8_t few[MOST], *kinds = a->n <= MOST ? few : malloc((size_t)a->n);
  bool told = are && need && kinds;
  for (Py_ssize_t i = 0; i < a->n && told; i++)
    if (read_tensor(s, a->args[i], a->in + a->inputs)) a->inputs++;
  told = told && done(s, library.gradient_kinds(a->in, a->inputs, recording, kinds));
  for (Py_ssize_t i = 0, k = 0; i < a->n && told; i++) {
    void *handle;
    const bool is = read_tensor(s, a->args[i], &handle);
    const bool wanted = is && kinds[k++] != LT_NO_GRADIENT;
    *any = *any || wanted;
    PyTuple_SetItem(are, i, PyBool_FromLong(is));
    PyTuple_SetItem(need, i, PyBool_FromLong(wanted));
  }
  told = told && !PyObject_SetAttr(a->ctx, s->is_tensor, are) &&
         !PyObject_SetAttr(a->ctx, s->needs_input_grad, need);
  if (kinds != few) free(kinds);
  if (are) Py_DecRef(are);
  if (need) Py_DecRef(need);
  return told;
}

// Calls forward, and setup_context where the class has one.
static bool call_forward(application *a, PyObject *names) {
  const state *s = a->s;
  PyObject *setup = PyObject_GetAttr(a->class, s->setup_context);
  PyObject *forward = setup ? PyObject_GetAttr(a->class, s->forward) : NULL;
  PyObject *words = names && forward ? dictionary(a->args + a->n, names) : NULL;
  PyObject *few[MOST + 1],
      **given = a->n <= MOST ? few : malloc((size_t)(a->n + 1) * sizeof *given);
  if (forward && given && (words || !names)) {
    const bool takes_ctx = setup == s->no_setup;
    a->sets_up = !takes_ctx;
    given[0] = a->ctx;
    memcpy(given + 1, a->args, (size_t)a->n * sizeof *given);
    a->made =
        PyObject_VectorcallDict(forward, given + !takes_ctx, (size_t)(a->n + takes_ctx), words);
    if (a->made && !takes_ctx) {
      PyObject *inputs = PyType_GenericAlloc(&PyTuple_Type, a->n), *nothing = NULL;
      for (Py_ssize_t i = 0; inputs && i < a->n; i++)
        Py_IncRef(a->args[i]), PyTuple_SetItem(inputs, i, a->args[i]);
      PyObject *all[] = {a->ctx, inputs, a->made};
      if (inputs) nothing = PyObject_VectorcallDict(setup, all, 3, NULL), Py_DecRef(inputs);
      if (nothing) Py_DecRef(nothing);
      if (!nothing) Py_DecRef(a->made), a->made = NULL;
    }
  }
  if (given != few) free(given);
  PyObject *held[] = {setup, forward, words};
  for (int i = 0; i < 3; i++)
    if (held[i]) Py_DecRef(held[i]);
  return a->made;
}

// Another tensor over the memory of an output that is an argument or has a graph: a view of it if
// the call is recorded, otherwise a detached one.
static PyObject *other_tensor(const application *a, PyObject *output, bool recording) {
  void *handle = (void *)((tensor *)output)->handle, *made = NULL;
  const bool views = recording && library.layout(handle) == TENSOR_STRIDED;
  if (!done(a->s, views ? library.view_as(handle, handle, &made) : library.detach(handle, &made)))
    return NULL;
  PyObject *object = wrap(a->s, (intptr_t)made);
  if (object && views) Py_IncRef(output), ((tensor *)object)->base = output;
  return object;
}

// Collects the outputs, with replacements for those that the caller must not receive directly. They
// are also replaced in the tuple of outputs without gradient.
static bool collect(application *a, PyObject *dirty, PyObject **constant, bool recording) {
  const state *s = a->s;
  uint8_t few[MOST], *kinds = a->outputs <= MOST ? few : malloc((size_t)a->outputs);
  void *live[MOST],
      **tensors = a->outputs <= MOST ? live : malloc((size_t)a->outputs * sizeof *live);
  Py_ssize_t n = 0;
  bool ready = kinds && tensors;
  for (Py_ssize_t i = 0; ready && i < a->outputs; i++)
    if (read_tensor(s, a->items[i], a->out + i)) tensors[n++] = a->out[i];
  ready = ready && done(s, library.gradient_kinds(tensors, n, false, kinds));
  for (Py_ssize_t i = 0, k = 0; ready && i < a->outputs; i++) {
    PyObject *old = a->items[i];
    if (!a->out[i]) continue;
    const uint8_t kind = kinds[k++];
    const bool own = kind == LT_NO_GRADIENT || kind == LT_UNTRACKED_VIEW;
    if ((own && !is_argument(a, old)) || is_among(dirty, old)) continue;
    PyObject *other = other_tensor(a, old, recording);
    if (!(ready = other)) break;
    if (is_among(*constant, old)) {
      Py_ssize_t m = PyTuple_Size(*constant);
      PyObject *more = PyType_GenericAlloc(&PyTuple_Type, m + 1);
      for (Py_ssize_t j = 0; more && j <= m; j++) {
        PyObject *one = j < m ? PyTuple_GetItem(*constant, j) : other;
        Py_IncRef(one), PyTuple_SetItem(more, j, one);
      }
      if (more) Py_DecRef(*constant), *constant = more;
      ready = more;
    }
    a->items[i] = other, a->out[i] = (void *)((tensor *)other)->handle;
    Py_DecRef(old);
  }
  if (kinds != few) free(kinds);
  if (tensors != live) free(tensors);
  return ready;
}

// Rejects tensors that ctx has as written to and that are no outputs.
static bool returns_all(const application *a, PyObject *dirty) {
  Py_ssize_t n = dirty->type == &PyTuple_Type ? PyTuple_Size(dirty) : 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    bool found = false;
    for (Py_ssize_t k = 0; k < a->outputs && !found; k++)
      found = a->items[k] == PyTuple_GetItem(dirty, i);
    if (found) continue;
    PyErr_Format(
        PyExc_RuntimeError,
        "Some elements marked as dirty during the forward method were not returned as output. "
        "The inputs that are modified inplace must all be outputs of the Function.");
    return false;
  }
  return true;
}

// Records the call, with the outputs' properties from ctx.
static bool record(application *a, PyObject *dirty, PyObject *without) {
  const state *s = a->s;
  PyObject *name = PyObject_GetAttr((PyObject *)a->ctx->type, s->name);
  PyObject *materialize = PyObject_GetAttr(a->ctx, s->materialize_grads);
  PyObject *to_save = PyObject_GetAttr(a->ctx, s->to_save);
  const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  void *few[MOST];
  void **saved = text && materialize && to_save ? read_saved(s, to_save, few) : NULL;
  int64_t some[MOST],
      *constant = a->outputs <= MOST ? some : malloc((size_t)a->outputs * sizeof *some);
  int64_t constants = 0;
  bool made = saved && constant && returns_all(a, dirty);
  for (Py_ssize_t i = 0; made && i < a->outputs; i++)
    if (a->out[i] && is_among(without, a->items[i])) constant[constants++] = i;
  if (made) {
    void *const *const lists[] = {a->in, a->out, saved};
    const int64_t lengths[] = {a->inputs, a->outputs, PyTuple_Size(to_save), constants};
    made = give(s, a->ctx, text, PyObject_IsTrue(materialize), lists, lengths, constant);
    // Saved outputs would keep their own node alive.
    if (made && lengths[2]) made = !PyObject_SetAttr(a->ctx, s->to_save, s->nothing);
  }
  for (Py_ssize_t i = 0; made && i < a->outputs; i++)
    if (a->out[i]) ((tensor *)a->items[i])->of_function = true;
  if (saved && saved != few) free(saved);
  if (constant != some) free(constant);
  PyObject *held[] = {name, materialize, to_save};
  for (int i = 0; i < 3; i++)
    if (held[i]) Py_DecRef(held[i]);
  return made;
}

// Resets an attribute of ctx to its class's value.
static bool reset(application *a, PyObject *name, PyObject *value) {
  return !PyTuple_Size(value) || !PyObject_SetAttr(a->ctx, name, a->s->nothing);
}

// Rejects a saved argument that forward returned unchanged: the caller receives a view of it, and
// the gradient of the saved argument would be that of another tensor.
static bool saves_no_argument(const application *a, PyObject *dirty) {
  PyObject *to_save = PyObject_GetAttr(a->ctx, a->s->to_save);
  if (!to_save) return false;
  bool saves = false;
  for (Py_ssize_t i = 0; i < a->outputs && !saves; i++)
    saves = is_among(to_save, a->items[i]) && is_argument(a, a->items[i]) &&
            !is_among(dirty, a->items[i]);
  Py_DecRef(to_save);
  if (saves)
    PyErr_Format(
        PyExc_RuntimeError,
        "An input that has been returned as-is as output is being saved for backward. This "
        "is not supported if you override setup_context. Return and save a view of the "
        "input instead, as x.view_as(x), or save it in a forward that takes ctx.");
  return !saves;
}

// Returns the results for the outputs of forward.
static bool finish(application *a, bool recording, bool any) {
  const state *s = a->s;
  PyObject *dirty = PyObject_GetAttr(a->ctx, s->dirty);
  PyObject *without = dirty ? PyObject_GetAttr(a->ctx, s->non_differentiable) : NULL;
  bool finished = without && (!recording || !a->sets_up || saves_no_argument(a, dirty)) &&
                  collect(a, dirty, &without, recording);
  if (finished && recording && any) {
    library.exchange_grad_enabled(true);
    finished = record(a, dirty, without) && reset(a, s->dirty, dirty) &&
               reset(a, s->non_differentiable, without);
  }
  if (dirty) Py_DecRef(dirty);
  if (without) Py_DecRef(without);
  return finished;
}

// The results of a call as its caller gets them: those of a tuple in a tuple.
static PyObject *results(application *a) {
  if (!a->several) {
    Py_IncRef(a->items[0]);
    return a->items[0];
  }
  PyObject *made = PyType_GenericAlloc(&PyTuple_Type, a->outputs);
  for (Py_ssize_t i = 0; made && i < a->outputs; i++)
    Py_IncRef(a->items[i]), PyTuple_SetItem(made, i, a->items[i]);
  return made;
}

// Unpacks the outputs of forward.
static bool take_apart(application *a, void **room) {
  a->several = PyType_IsSubtype(a->made->type, &PyTuple_Type);
  a->outputs = a->several ? PyTuple_Size(a->made) : 1;
  if (a->outputs > MOST && !(room = calloc((size_t)a->outputs * 2, sizeof *room)))
    return done(a->s, TENSOR_ERROR_MEMORY);
  a->items = (PyObject **)room, a->out = room + a->outputs;
  for (Py_ssize_t i = 0; i < a->outputs; i++) {
    a->items[i] = a->several ? PyTuple_GetItem(a->made, i) : a->made;
    Py_IncRef(a->items[i]);
    a->out[i] = NULL;
  }
  return true;
}

static PyObject *apply_forward(application *a, PyObject *names) {
  void *room[2 * MOST], *in[MOST];
  a->in = a->n <= MOST ? in : malloc((size_t)a->n * sizeof *in);
  bool any = false;
  PyObject *made = NULL;
  const bool recording = library.exchange_grad_enabled(false);
  if (a->in && tell(a, recording, &any) && call_forward(a, names) && take_apart(a, room) &&
      finish(a, recording, any))
    made = results(a);
  library.exchange_grad_enabled(recording);
  for (Py_ssize_t i = 0; i < a->outputs; i++) Py_DecRef(a->items[i]);
  if (a->items && (void **)a->items != room) free(a->items);
  if (a->made) Py_DecRef(a->made);
  if (a->in != in) free(a->in);
  return made;
}

// Whether the arguments have to be bound to the parameters of forward, which has defaults, so that
// setup_context gets all.
static bool has_defaults(const state *s, PyObject *class) {
  PyObject *setup = PyObject_GetAttr(class, s->setup_context);
  PyObject *forward = setup ? PyObject_GetAttr(class, s->forward) : NULL;
  PyObject *defaults =
      forward && setup != s->no_setup ? PyObject_GetAttr(forward, s->defaults) : NULL;
  if (PyErr_Occurred()) PyErr_Clear();
  const bool has = setup != s->no_setup && defaults != &_Py_NoneStruct;
  PyObject *held[] = {setup, forward, defaults};
  for (int i = 0; i < 3; i++)
    if (held[i]) Py_DecRef(held[i]);
  return has;
}

// Calls a Function: with a fallback, which acts first where the arguments have to be changed, the
// class with its arguments; without, the class and the ctx that the caller made.
PyObject *apply(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  const state *s = f->s;
  const Py_ssize_t n = (Py_ssize_t)count_of(flagged), first = f->fallback ? 1 : 2;
  if (f->fallback && (names || !n || library.is_transforming() || has_defaults(s, args[0])))
    return or_fallback(NULL, f, args, flagged, names);
  application a = {.s = s, .class = args[0], .args = args + first, .n = n - first};
  if (!f->fallback)
    Py_IncRef(a.ctx = args[1]);
  else if (!(a.ctx = ask(a.class, s->backward_class, NULL, 0)))
    return NULL;
  PyObject *made = apply_forward(&a, names);
  Py_DecRef(a.ctx);
  return made;
}
