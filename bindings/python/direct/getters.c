#include "direct.h"

static PyObject *tuple_of(PyTypeObject *type, const int64_t *numbers, int64_t n) {
  PyObject *made = PyType_GenericAlloc(type, n);
  for (int64_t i = 0; made && i < n; i++) {
    PyObject *number = PyLong_FromLongLong(numbers[i]);
    if (!number) return Py_DecRef(made), NULL;
    PyTuple_SetItem(made, i, number);
  }
  return made;
}

// The property of a tensor that a getter returns, for one dimension if `dim` is not NULL; NULL
// without an exception if the fallback is to raise the error.
static PyObject *read(const function *f, PyObject *tensor, const void *handle, PyObject *dim) {
  const state *s = f->s;
  tensor_device device;
  PyObject *known = NULL;
  int64_t n, at = 0;
  const int64_t *numbers;
  if (dim && f->reads < SIZES) return NULL;
  switch (f->reads) {
    case NUMBER:
      return PyLong_FromLongLong(((int64_t (*)(const void *))f->from)(handle));
    case CONTIGUOUS:
      if (is_contiguous(handle)) known = tensor;
      break;
    case LIST:
      if (s->intercepting) return NULL;  // the fallback notifies the modes
      return list_of(s, handle);
    case ELEMENTS:
      return list_of(s, handle);
    case BYTES:
      return bytes_of(s, handle);
    case DTYPE:
      n = ((tensor_dtype (*)(const void *))f->from)(handle);
      if (n >= 0) known = s->dtypes[n];
      break;
    case DEVICE:
      device = ((tensor_device (*)(const void *))f->from)(handle);
      return device.type < 0 ? NULL : device_of(s, device);
    default:
      if (f->reads == STRIDES && library.layout(handle) > TENSOR_STRIDED) return NULL;
      n = library.dim(handle);
      numbers = ((const int64_t *(*)(const void *))f->from)(handle);
      if (!numbers) return NULL;
      if (f->reads == LENGTH) return n ? PyLong_FromLongLong(numbers[0]) : NULL;
      if (!dim) return tuple_of(f->reads == SIZES ? s->size_type : &PyTuple_Type, numbers, n);
      if (!read_int(dim, &at) || at < -n || at >= n) return NULL;
      return PyLong_FromLongLong(numbers[at < 0 ? at + n : at]);
  }
  if (known) Py_IncRef(known);
  return known;
}

PyObject *get(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  size_t n = count_of(flagged);
  void *handle;
  PyObject *result = NULL;
  bool named = names && PyTuple_Size(names) == 1 && PyTuple_GetItem(names, 0) == f->s->dim;
  if (n + named <= 2 && n && (!names || named) && read_tensor(f->s, args[0], &handle)) {
    PyObject *dim = n + named == 2 && args[1] != &_Py_NoneStruct ? args[1] : NULL;
    result = read(f, args[0], handle, dim);
  }
  return or_fallback(result, f, args, flagged, names);
}
