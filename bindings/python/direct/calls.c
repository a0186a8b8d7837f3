#include "direct.h"

// Sets requires_grad of a tensor if requested.
static PyObject *as_leaf(const arguments *a, PyObject *made) {
  if (!made || !a->leaf) return made;
  PyObject *leaf = PyObject_VectorcallDict(a->s->leaf, &made, 1, NULL);
  Py_DecRef(made);
  return leaf;
}

// Applies pin_memory=, names= and requires_grad= to the tensor that owns a handle.
static PyObject *apply_factory_options(const function *f, const arguments *a, void *handle) {
  PyObject *made = wrap_for(a, handle);
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

// Runs an operator. Brief calls take less time than to let go of the interpreter.
static PyObject *invoke(const function *f, const overload *o, arguments *a) {
  PyThreadState *thread = o->op->flags & LT_BRIEF ? NULL : PyEval_SaveThread();
  tensor_status status = o->op->run(o->op, a->out ? LT_OUT : o->mode, a->number, a->values);
  if (thread) PyEval_RestoreThread(thread);
  if (!status && o->makes && !a->out) {
    void *given = a->values[0].pointer;
    if (!given) return wrap_for(a, NULL);
    return a->leaf || a->pins || a->names ? apply_factory_options(f, a, given)
                                          : as_view(f, o, a->first, wrap_for(a, given));
  }
  if (!status) return as_leaf(a, result_of(f, o, a));
  if (f->explains) {
    PyObject *said = PyObject_VectorcallDict(f->explains, &a->first, 1, NULL);
    if (!said) return NULL;
    Py_DecRef(said);
  }
  return raise_status(f->s, status);
}

// Returns whether the class of an object, or of an item of a list (in a list), has
// __torch_function__. Tensor's own takes nothing over.
static bool overrides(const state *s, PyObject *o, int depth) {
  PyTypeObject *type = o->type;
  if (is_own(s, type) || type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type ||
      type == s->dtypes[0]->type || o == &_Py_NoneStruct)
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

// The result of __torch_function__ of an argument; `nobody`, a borrowed reference, if no argument
// overrides the call.
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
PyObject *dictionary(PyObject *const *values, PyObject *names) {
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

// The result of the first overload that matches. With `asks`, values of unknown classes are
// converted, and arguments that match no overload raise an exception; otherwise the result is then
// NULL without one. Overloads that match only by a coercion come last: in max(a, tensor(0)), the
// tensor is a dimension only if nothing else matches.
static PyObject *call_overload(const function *f, PyObject *const *args, Py_ssize_t n,
                               PyObject *names, bool asks) {
  PyObject *result = NULL;
  verdict fits = NO;
  int forms = f->count - f->first;
  for (int i = 0; i < forms << (asks && forms > 1) && fits == NO; i++) {
    const overload *o = f->overloads + f->first + i % forms;
    arguments a;
    a.s = f->s, a.asks = asks, a.loose = i >= forms, a.used = 0, a.number = a.kin = false,
    a.keeps = 0;
    a.out = a.names = NULL, a.blocks = a.operand = NULL, a.leaf = a.pins = false;
    fits = bind_arguments(f, o, args, n, names, &a);
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
    result = call_overload(f, args, n, names, true);
    if (!result && !PyErr_Occurred()) no_overload(f, args, n, keywords);
  }
  if (keywords) Py_DecRef(keywords);
  return result;
}

PyObject *call(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  Py_ssize_t n = (Py_ssize_t)count_of(flagged);
  bool seen = f->s->intercepting && f->overridable;
  PyObject *result = seen ? NULL : call_overload(f, args, n, names, false);
  return or_fallback(result, f, args, flagged, names);
}

// A call with the flag inplace, which follows the other positional arguments or is a keyword: the
// in-place form if it is set.
PyObject *switches(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  Py_ssize_t n = (Py_ssize_t)count_of(flagged), at = f->overloads->positional, kept = 0;
  Py_ssize_t named = names ? PyTuple_Size(names) : 0, flag = n == at + 1 ? at : -1;
  for (Py_ssize_t k = 0; k < named && flag < 0; k++)
    if (is(PyTuple_GetItem(names, k), f->s->inplace)) flag = n + k;
  PyObject *rest[LT_MOST_PARAMETERS], *others = NULL;
  if (flag < 0 || n + named > LT_MOST_PARAMETERS) return call(self, args, flagged, names);
  // __torch_function__ receives the function with the flag, not one of its two forms.
  if (may_be_overridden(f, args, n + named)) {
    PyObject *keywords = dictionary(args + n, names);
    if (names && !keywords) return NULL;
    PyObject *taken = overridden(f, args, n, keywords);
    if (keywords) Py_DecRef(keywords);
    if (taken != f->s->nobody) return taken;
  }
  int set = PyObject_IsTrue(args[flag]);
  if (set < 0) return NULL;
  for (Py_ssize_t i = 0; i < n + named; i++)
    if (i != flag) rest[kept++] = args[i];
  if (flag >= n && named > 1 && !(others = PyType_GenericAlloc(&PyTuple_Type, named - 1)))
    return NULL;
  for (Py_ssize_t k = 0, to = 0; others && k < named; k++) {
    if (k == flag - n) continue;
    Py_IncRef(PyTuple_GetItem(names, k));
    PyTuple_SetItem(others, to++, PyTuple_GetItem(names, k));
  }
  PyObject *result =
      call(set ? f->other : self, rest, (size_t)(flag < n ? n - 1 : n), flag < n ? names : others);
  if (others) Py_DecRef(others);
  return result;
}

// tensor - other, and other - tensor. Other operands than tensors and numbers are converted first,
// and `fallback`, the function, takes them then.
static PyObject *call_operator(const function *f, PyObject *const *args, bool reflected) {
  PyObject *both[] = {args[reflected], args[!reflected]};
  PyObject *result = f->s->intercepting ? NULL : call_overload(f, both, 2, NULL, false);
  if (result || PyErr_Occurred()) return result;
  PyObject *other = PyObject_VectorcallDict(f->other, args + 1, 1, NULL);
  if (!other || other == &_Py_NotImplementedStruct) return other;
  both[!reflected] = other;
  result = PyObject_VectorcallDict(f->fallback, both, 2, NULL);
  Py_DecRef(other);
  return result;
}

// -tensor. A mode receives the function, which is `fallback`, not the method.
PyObject *negates(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  if (!f->s->intercepting) return call(self, args, flagged, names);
  PyObject *keywords = dictionary(args + count_of(flagged), names);
  if (names && !keywords) return NULL;
  PyObject *result = PyObject_VectorcallDict(f->fallback, args, flagged, keywords);
  if (keywords) Py_DecRef(keywords);
  return result;
}

PyObject *call_binary_operator(PyObject *self, PyObject *const *args, size_t flagged,
                               PyObject *names) {
  const function *f = (const function *)self;
  if (count_of(flagged) == 2 && !names) return call_operator(f, args, false);
  return PyErr_Format(PyExc_TypeError, "%U() takes two operands", f->name);
}

PyObject *call_reflected_operator(PyObject *self, PyObject *const *args, size_t flagged,
                                  PyObject *names) {
  const function *f = (const function *)self;
  if (count_of(flagged) == 2 && !names) return call_operator(f, args, true);
  return PyErr_Format(PyExc_TypeError, "%U() takes two operands", f->name);
}

// tensor[key] = value. Returns None: Python shows the result of __setitem__ if it is called by
// name.
PyObject *assign(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  PyObject *result = call(self, args, flagged, names);
  if (!result) return NULL;
  Py_DecRef(result);
  return Py_IncRef(&_Py_NoneStruct), &_Py_NoneStruct;
}

// tensor[int] and tensor[slice] by the overloads select and slice. Other keys, and invalid ones,
// use the third overload, which reports errors about an index.
PyObject *subscript(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  arguments a;
  lt_value *v = a.values;
  PyObject *result = NULL;
  Py_ssize_t start, stop, step;
  if (count_of(flagged) == 2 && !names && !f->s->intercepting &&
      read_plain_tensor(f->s, args[0], &v->pointer)) {
    int64_t n = library.dim(v->pointer) > 0 ? *library.sizes(v->pointer) : -1;
    a.number = a.leaf = a.pins = false, a.out = a.names = NULL, a.first = args[0];
    a.s = f->s, a.kin = args[0]->type == f->s->kin;
    v[1].i = 0;
    if (read_int(args[1], &v[2].i) && v[2].i >= -n && v[2].i < n) {
      result = invoke(f, f->overloads, &a);
    } else if (n >= 0 && read_slice(args[1], &start, &stop, &step)) {
      v[2].i = start, v[3].i = stop, v[4].i = step;
      result = invoke(f, f->overloads + 1, &a);
    } else {
      result = call_overload(f, args, 2, NULL, false);
    }
  }
  return or_fallback(result, f, args, flagged, names);
}
