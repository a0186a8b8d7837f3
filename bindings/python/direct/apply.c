// Function.apply: calls forward without gradients, and records the call. What it cannot take as it
// is (keywords, setup_context, several outputs, marked ones) goes by way of _gradients/function.py.
#include "direct.h"

enum { MOST = 16 };

// A recorded call, which the library has for a context.
typedef struct {
  const state *s;
  PyObject *ctx;
} recorded;

typedef struct {
  void *items[MOST];
  Py_ssize_t n;
} handles;

// object.name(*args), where there is an object.
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

// Gives the gradients that ctx.gradients makes of the given ones.
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
    if ((failed = status)) refuse(s, status);
  }
  if (grads) Py_DecRef(grads);
  if (results) Py_DecRef(results);
  int32_t code = failed ? fail(s) : TENSOR_OK;
  PyGILState_Release(held);
  return code;
}

// Lets go of a call whose node has gone. An exception that is on its way has to arrive.
static void forget(void *context) {
  const state *s = ((recorded *)context)->s;
  int held = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  bool raised = PyErr_Occurred();
  if (raised) PyErr_Fetch(&type, &value, &trace);
  PyObject *ctx = ((recorded *)context)->ctx;
  if (ctx->references == 1) {  // nobody asks it for its node any more
    PyObject *number = PyObject_GetAttr(ctx, s->h);
    void *weak = number ? PyLong_AsVoidPtr(number) : NULL;
    if (weak) library.node_free(weak);
    if (!number || PyObject_SetAttr(ctx, s->h, s->zero)) PyErr_Clear();
    if (number) Py_DecRef(number);
  }
  Py_DecRef(ctx);
  free(context);
  if (raised) PyErr_Restore(type, value, trace);
  PyGILState_Release(held);
}

// The ctx of a recorded call, a new reference.
EXPORT PyObject *direct_ctx(const void *context) {
  PyObject *ctx = ((const recorded *)context)->ctx;
  Py_IncRef(ctx);
  return ctx;
}

// Whether a call of the library has succeeded; raises its error otherwise.
static bool done(const state *s, tensor_status status) {
  if (status) refuse(s, status);
  return !status;
}

// Gives the library a call whose ctx has what else there is to know, and ctx its node.
static bool give(const state *s, PyObject *ctx, const char *name, bool materialize,
                 void *const *const *lists, const int64_t *lengths, const int64_t *constant) {
  void *node = NULL, *weak = NULL;
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
  if (!node) return true;
  status = library.node_weak(node, &weak);  // the node keeps ctx, which does not keep the node
  library.node_free(node);
  PyObject *number = status ? NULL : PyLong_FromVoidPtr(weak);
  bool set = number && !PyObject_SetAttr(ctx, s->h, number);
  if (number) Py_DecRef(number);
  return done(s, status) && set;
}

// The handles of the tensors in a tuple, NULL for None; NULL without an exception for others.
static void **read_all(const state *s, PyObject *tuple, void **few) {
  if (tuple->type != &PyTuple_Type) return NULL;
  Py_ssize_t n = PyTuple_Size(tuple);
  void **to = n <= MOST ? few : malloc((size_t)n * sizeof *to);
  for (Py_ssize_t i = 0; to && i < n; i++) {
    PyObject *o = PyTuple_GetItem(tuple, i);
    if (o == &_Py_NoneStruct) {
      to[i] = NULL;
    } else if (!read_tensor(s, o, to + i)) {
      if (to != few) free(to);
      return NULL;
    }
  }
  return to;
}

// Records a call with given inputs and outputs, of what ctx says beside. False with an exception,
// and without one where what is to be saved are no tensors.
static bool record(const state *s, PyObject *ctx, void *const *inputs, int64_t n,
                   void *const *outputs, int64_t m, const int64_t *constant, int64_t constants) {
  PyObject *name = PyObject_GetAttr((PyObject *)ctx->type, s->name);
  PyObject *materialize = PyObject_GetAttr(ctx, s->materialize_grads);
  PyObject *to_save = PyObject_GetAttr(ctx, s->to_save);
  const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  void *few[MOST];
  void **saved = text && materialize && to_save ? read_all(s, to_save, few) : NULL;
  bool made = false;
  if (saved) {
    void *const *const lists[] = {inputs, outputs, saved};
    const int64_t lengths[] = {n, m, PyTuple_Size(to_save), constants};
    made = give(s, ctx, text, PyObject_IsTrue(materialize), lists, lengths, constant);
    // Outputs among what was saved would keep their own node.
    if (made && lengths[2]) made = !PyObject_SetAttr(ctx, s->to_save, s->nothing);
    if (saved != few) free(saved);
  }
  PyObject *held[] = {name, materialize, to_save};
  for (int i = 0; i < 3; i++)
    if (held[i]) Py_DecRef(held[i]);
  return made;
}

// record for _gradients/function.py, with tuples: of tensors, of tensors and None, and of numbers.
EXPORT PyObject *direct_record(const state *s, PyObject *ctx, PyObject *inputs, PyObject *outputs,
                               PyObject *constant) {
  void *few[2][MOST];
  int64_t numbers[MOST];
  void **in = read_all(s, inputs, few[0]), **out = read_all(s, outputs, few[1]);
  Py_ssize_t n = PyTuple_Size(constant);
  int64_t *of = n <= MOST ? numbers : malloc((size_t)n * sizeof *of);
  for (Py_ssize_t i = 0; of && i < n; i++) of[i] = PyLong_AsLongLong(PyTuple_GetItem(constant, i));
  bool made = in && out && of &&
              record(s, ctx, in, PyTuple_Size(inputs), out, PyTuple_Size(outputs), of, n);
  if (in != few[0]) free(in);
  if (out != few[1]) free(out);
  if (of != numbers) free(of);
  return made || !PyErr_Occurred() ? PyBool_FromLong(made) : NULL;
}

// Whether an attribute of ctx is an empty tuple, as its class has it.
static bool is_empty(PyObject *ctx, PyObject *name) {
  PyObject *value = PyObject_GetAttr(ctx, name);
  if (!value) return PyErr_Clear(), false;
  bool empty = value->type == &PyTuple_Type && !PyTuple_Size(value);
  Py_DecRef(value);
  return empty;
}

static bool takes_ctx(const state *s, PyObject *class) {
  PyObject *setup = PyObject_GetAttr(class, s->setup_context);
  if (!setup) return PyErr_Clear(), false;
  Py_DecRef(setup);
  return setup == s->no_setup;
}

// Tells ctx which arguments are tensors, and which of these have gradients that are wanted.
static bool tell(const state *s, PyObject *ctx, PyObject *const *args, handles *inputs,
                 Py_ssize_t n, bool *any) {
  PyObject *are = PyType_GenericAlloc(&PyTuple_Type, n);
  PyObject *need = PyType_GenericAlloc(&PyTuple_Type, n);
  bool told = are && need;
  for (Py_ssize_t i = 0; i < n && told; i++) {
    void *handle;
    bool wanted = false, is = read_tensor(s, args[i], &handle);
    if (is) inputs->items[inputs->n++] = handle;
    if (is) told = done(s, library.requires_grad(handle, &wanted));
    *any = *any || wanted;
    PyTuple_SetItem(are, i, PyBool_FromLong(is));
    PyTuple_SetItem(need, i, PyBool_FromLong(wanted));
  }
  told = told && !PyObject_SetAttr(ctx, s->is_tensor, are) &&
         !PyObject_SetAttr(ctx, s->needs_input_grad, need);
  if (are) Py_DecRef(are);
  if (need) Py_DecRef(need);
  return told;
}

// Whether what forward gave is one tensor, without a history, of which ctx says nothing.
static bool is_plain(const state *s, PyObject *ctx, PyObject *made, PyObject *const *args,
                     Py_ssize_t n, void **handle) {
  bool wanted = false;
  if (!read_tensor(s, made, handle)) return false;
  for (Py_ssize_t i = 0; i < n; i++)
    if (args[i] == made) return false;
  return is_empty(ctx, s->dirty) && is_empty(ctx, s->non_differentiable) &&
         !library.requires_grad(*handle, &wanted) && !wanted;
}

PyObject *apply(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  const state *s = f->s;
  Py_ssize_t n = (Py_ssize_t)count_of(flagged) - 1;
  if (n < 0 || n > MOST || names || s->pushing || !takes_ctx(s, args[0]))
    return or_fallback(NULL, f, args, flagged, names);
  PyObject *class = args[0], *ctx = ask(class, s->backward_class, NULL, 0), *made = NULL;
  PyObject *given[MOST + 2] = {ctx};
  for (Py_ssize_t i = 0; i < n; i++) given[i + 1] = args[i + 1];
  handles inputs = {.n = 0};
  void *output;
  bool any = false, on = false;
  if (!ctx || !tell(s, ctx, args + 1, &inputs, n, &any) || !done(s, library.grad_enabled(&on)) ||
      !done(s, library.set_grad_enabled(false)))
    return ctx ? Py_DecRef(ctx), NULL : NULL;
  made = ask(class, s->forward, given, (size_t)n + 1);
  bool plain = made && is_plain(s, ctx, made, args + 1, n, &output);
  library.set_grad_enabled(on);
  bool recorded = plain && on && any && record(s, ctx, inputs.items, inputs.n, &output, 1, NULL, 0);
  if (made && !recorded && !PyErr_Occurred() && !(plain && !(on && any))) {
    given[n + 1] = made;
    PyObject *outputs = PyObject_VectorcallDict(f->other, given, (size_t)n + 2, NULL);
    Py_DecRef(made);
    made = outputs;
  } else if (made && PyErr_Occurred()) {
    Py_DecRef(made), made = NULL;
  }
  Py_DecRef(ctx);
  return made;
}
