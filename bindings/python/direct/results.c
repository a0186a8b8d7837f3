#include "direct.h"

static PyObject *number_of(const tensor_scalar *s) {
  switch (s->kind) {
    case TENSOR_SCALAR_BOOL:
      return PyBool_FromLong(s->value.i != 0);
    case TENSOR_SCALAR_INT:
      return PyLong_FromLongLong(s->value.i);
    case TENSOR_SCALAR_UINT:
      return PyLong_FromUnsignedLongLong(s->value.u);
    case TENSOR_SCALAR_FLOAT:
      return PyFloat_FromDouble(s->value.f.re);
  }
  return PyComplex_FromDoubles(s->value.f.re, s->value.f.im);
}

PyObject *wrap_for(const arguments *a, void *handle) {
  PyObject *made = maybe(a->s, handle);
  if (!made || !handle || !a->kin || !PyObject_SetAttr(made, a->s->class_of, (PyObject *)a->s->kin))
    return made;
  return Py_DecRef(made), NULL;
}

static PyObject *text_of(const char *text) { return text ? PyUnicode_FromString(text) : NULL; }

// A tuple of a list's tensors or strings. On failure, all of them are released.
static PyObject *tuple_of(const arguments *a, const lt_value *v, bool texts) {
  int64_t n = v->list.length;
  void *const *items = v->list.data;
  PyObject *made = PyType_GenericAlloc(&PyTuple_Type, n);
  bool failed = !made;
  for (int64_t i = 0; i < n; i++) {
    PyObject *one = texts ? text_of(items[i]) : wrap_for(a, items[i]);
    if (made && one) PyTuple_SetItem(made, i, one);
    if (!made && one) Py_DecRef(one);
    failed = failed || !one;
  }
  texts ? library.free_texts((void *)items, n) : (void)library.free_list((void *)items, 0);
  if (!failed || !made) return made;
  return Py_DecRef(made), NULL;
}

// The object of the Python side that owns a handle.
static PyObject *owner_of(PyObject *class, void *handle) {
  PyObject *number = PyLong_FromVoidPtr(handle);
  PyObject *made = number ? PyObject_VectorcallDict(class, &number, 1, NULL) : NULL;
  if (number) Py_DecRef(number);
  return made;
}

PyObject *device_of(const state *s, tensor_device d) {
  if (d.type == TENSOR_CPU && d.index < 0) return Py_IncRef(s->cpu), s->cpu;
  PyObject *all[] = {PyLong_FromLong(d.type), PyLong_FromLong(d.index)};
  PyObject *made = all[0] && all[1] ? PyObject_VectorcallDict(s->device, all, 2, NULL) : NULL;
  for (int i = 0; i < 2; i++)
    if (all[i]) Py_DecRef(all[i]);
  return made;
}

// One result. The object owns it; on failure it is freed.
static PyObject *object_of(const arguments *a, char kind, const lt_value *v) {
  const state *s = a->s;
  PyObject *made = NULL;
  switch (kind) {
    case 'T':
      return wrap_for(a, v->pointer);
    case 'A':
    case 'K':
      return tuple_of(a, v, kind == 'K');
    case 'S':
      return number_of(&v->scalar);
    case 'I':
      return PyLong_FromLongLong(v->i);
    case 'B':
      return PyBool_FromLong(v->i != 0);
    case 'F':
      return PyFloat_FromDouble(v->f);
    case 'U':
      made = text_of(v->text);
      library.free_text(v->pointer);
      return made;
    case 'D':
      made = s->dtypes[v->i];
      Py_IncRef(made);
      return made;
    case 'C':
      return device_of(s, v->device);
    case 'W':
      return owner_of(s->storage, v->pointer);
    case 'G':
      return owner_of(s->generator, v->pointer);
  }
  return PyLong_FromVoidPtr(v->pointer);
}

// The output tensors of several results, as the tuple type of new results.
static PyObject *outputs_of(const function *f, const overload *o, PyObject *out) {
  Py_ssize_t n = (Py_ssize_t)strlen(o->op->results);
  PyObject *made = n == 1 ? out : PyType_GenericAlloc(f->tuple, n);
  if (n == 1) Py_IncRef(out);
  for (Py_ssize_t i = 0; n > 1 && made && i < n; i++) {
    PyObject *one = PyTuple_GetItem(out, i);
    Py_IncRef(one);
    PyTuple_SetItem(made, i, one);
  }
  return made;
}

static bool same_geometry(const void *a, const void *b) {
  const int64_t *sizes[] = {library.sizes(a), library.sizes(b)},
                *strides[] = {library.strides(a), library.strides(b)};
  int64_t n = library.dim(a);
  if (n != library.dim(b) || library.dtype(a) != library.dtype(b) ||
      library.lazy(a) != library.lazy(b))
    return false;
  for (int64_t d = 0; d < n; d++)
    if (sizes[0][d] != sizes[1][d] || strides[0][d] != strides[1][d]) return false;
  return true;
}

PyObject *as_view(const function *f, const overload *o, PyObject *of, PyObject *made) {
  void *whole, *handle = made ? (void *)(uintptr_t)((tensor *)made)->handle : NULL;
  if (!(o->op->flags & LT_VIEWS) || !made || !of || !read_tensor(f->s, of, &whole) ||
      !library.same_memory(handle, whole))
    return made;
  PyObject *base = ((tensor *)of)->base;
  if (o->op->flags & LT_ITSELF && same_geometry(handle, whole)) {
    Py_DecRef(made);
    Py_IncRef(of);
    return of;
  }
  base = base ? base : of;
  Py_IncRef(base);
  ((tensor *)made)->base = base;
  return made;
}

// Makes the results views of one base, or of separate ones.
static void as_views(const function *f, const overload *o, const arguments *a, PyObject *all) {
  bool each = strchr("AR", o->kinds[0]);
  for (Py_ssize_t i = 0; i < PyTuple_Size(all); i++) {
    PyObject *made = PyTuple_GetItem(all, i);
    Py_IncRef(made);
    PyTuple_SetItem(all, i, as_view(f, o, each ? listed(a, i) : a->first, made));
  }
}

PyObject *result_of(const function *f, const overload *o, arguments *a) {
  const char *kinds = o->op->results;
  if (a->out) return outputs_of(f, o, a->out);
  if (o->mode == LT_INPLACE || !*kinds) {
    PyObject *first = a->changed ? a->changed : &_Py_NoneStruct;
    Py_IncRef(first);
    return first;
  }
  if (!kinds[1]) {
    PyObject *all = object_of(a, *kinds, a->values);
    if (all && *kinds == 'A' && o->op->flags & LT_VIEWS) as_views(f, o, a, all);
    return all;
  }
  PyObject *made = PyType_GenericAlloc(f->tuple, (Py_ssize_t)strlen(kinds));
  bool failed = !made;
  for (Py_ssize_t i = 0; kinds[i]; i++) {
    PyObject *one = object_of(a, kinds[i], a->values + i);
    if (made && one) PyTuple_SetItem(made, i, one);
    if (!made && one) Py_DecRef(one);
    failed = failed || !one;
  }
  if (!failed || !made) return made;
  return Py_DecRef(made), NULL;
}
