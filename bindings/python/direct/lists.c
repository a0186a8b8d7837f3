#include "../../../capi/lists.h"

#include "direct.h"

// ------------------------------------------------------------------------- from lists to a tensor

typedef struct {
  const function *f;
  lt_list l;
  PyObject *dtype;        // the dtype argument, None for none
  tensor_status status;   // of the call that was rejected
  PyTypeObject *scalar;   // the class of NumPy's scalars that came last, all of one dtype
  PyObject *scalar_kind;  // Python's class for their values
  int64_t scalar_dtype;
} walk;

static bool ok(walk *w, tensor_status status) { return !(w->status = status); }

static bool tell(walk *w, PyObject *o, int depth);

static bool tell_float(walk *w, PyObject *o) {
  double x = PyFloat_AsDouble(o);
  return lt_list_float(&w->l, x) ||
         ok(w, library.list_number(&w->l, tensor_float(x), TENSOR_DTYPE_NONE));
}

static bool tell_items(walk *w, PyObject *o, int depth) {
  PyListObject *list = o->type == &PyList_Type ? (PyListObject *)o : NULL;
  Py_ssize_t n = list ? list->size : PyTuple_Size(o);
  if (!ok(w, library.list_open(&w->l, n))) return false;
  // A function that is called for an item could change the list.
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = !list ? PyTuple_GetItem(o, i) : i < list->size ? list->items[i] : NULL;
    if (!item)
      return PyErr_Format(PyExc_RuntimeError, "a list was modified during the call"), false;
    if (item->type == &PyFloat_Type) {
      if (!tell_float(w, item)) return false;
    } else if (!tell(w, item, depth + 1)) {
      return false;
    }
  }
  return true;
}

static bool tell_beyond(walk *w, PyObject *o) {
  double nearest = PyLong_AsDouble(o);
  if (nearest == -1 && PyErr_Occurred()) return false;
  PyObject *digits = PyObject_Str(o);
  const char *text = digits ? PyUnicode_AsUTF8AndSize(digits, NULL) : NULL;
  bool told = text && ok(w, library.list_beyond(&w->l, text, nearest));
  if (digits) Py_DecRef(digits);
  return told;
}

// A number of Python's, of a dtype that may be none.
static bool tell_number(walk *w, PyObject *o, int64_t dtype) {
  tensor_scalar number;
  if (!read_number(o, &number)) return tell_beyond(w, o);
  return ok(w, library.list_number(&w->l, number, (tensor_dtype)dtype));
}

// Nested lists of numbers of one dtype, which are the elements of an array.
static bool tell_array(walk *w, PyObject *o, int64_t dtype) {
  if (o->type == &PyFloat_Type)
    return ok(w,
              library.list_number(&w->l, tensor_float(PyFloat_AsDouble(o)), (tensor_dtype)dtype));
  if (o->type != &PyList_Type) return tell_number(w, o, dtype);
  PyListObject *list = (PyListObject *)o;
  if (!ok(w, library.list_open(&w->l, list->size))) return false;
  for (Py_ssize_t i = 0; i < list->size; i++)
    if (!tell_array(w, list->items[i], dtype)) return false;
  return true;
}

// A scalar of the class that came last, without a call of `item`.
static bool tell_scalar(walk *w, PyObject *o) {
  if (w->scalar_kind == (PyObject *)&PyFloat_Type) {
    double x = PyFloat_AsDouble(o);
    if (x == -1 && PyErr_Occurred()) return false;
    return ok(w, library.list_number(&w->l, tensor_float(x), (tensor_dtype)w->scalar_dtype));
  }
  if (w->scalar_kind == (PyObject *)&PyBool_Type) {
    int truth = PyObject_IsTrue(o);
    return truth >= 0 &&
           ok(w, library.list_number(&w->l, tensor_bool(truth), (tensor_dtype)w->scalar_dtype));
  }
  if (w->scalar_kind == (PyObject *)&PyComplex_Type)
    return ok(w, library.list_number(
                     &w->l, tensor_complex(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)),
                     (tensor_dtype)w->scalar_dtype));
  PyObject *whole = PyNumber_Index(o);
  bool told = whole && tell_number(w, whole, w->scalar_dtype);
  if (whole) Py_DecRef(whole);
  return told;
}

// A value of another class: `item` makes a list of its items, or finds its dtype and its number, or
// the nested lists of an array; and Python's class for the values where its class has one dtype.
static bool tell_strange(walk *w, PyObject *o, int depth) {
  enum { UNKNOWN, SEQUENCES, NUMBERS };
  int64_t dtype = TENSOR_DTYPE_NONE;
  int known = depth < w->l.dims ? SEQUENCES : w->l.leaf ? NUMBERS : UNKNOWN;
  PyObject *all[] = {o, w->dtype, PyLong_FromLong(depth), PyLong_FromLong(known)};
  Py_IncRef(o);
  PyObject *made = PyObject_VectorcallDict(w->f->other, all, 4, NULL);
  bool told = made;
  if (made && made->type == &PyList_Type) {
    told = tell_items(w, made, depth);
  } else if (made) {
    read_dtype(w->f->s, PyTuple_GetItem(made, 0), &dtype);
    if (PyTuple_GetItem(made, 0) == &_Py_NoneStruct) dtype = TENSOR_DTYPE_NONE;
    told = tell_array(w, PyTuple_GetItem(made, 1), dtype);
    if (PyTuple_Size(made) == 3)
      w->scalar = o->type, w->scalar_kind = PyTuple_GetItem(made, 2), w->scalar_dtype = dtype;
  }
  if (made) Py_DecRef(made);
  Py_DecRef(o), Py_DecRef(all[2]), Py_DecRef(all[3]);
  return told;
}

static bool tell(walk *w, PyObject *o, int depth) {
  int64_t whole = o == &_Py_TrueStruct;
  bool straight = false;
  if (o->type == &PyFloat_Type) return tell_float(w, o);
  if (o->type == &PyList_Type || o->type == &PyTuple_Type) return tell_items(w, o, depth);
  if (o->type == &PyLong_Type)
    straight = read_int(o, &whole) && lt_list_whole(&w->l, LT_INTS, whole);
  else if (whole || o == &_Py_FalseStruct)
    straight = lt_list_whole(&w->l, LT_BOOLS, whole);
  else if (o->type == &PyComplex_Type)
    straight = lt_list_complex(&w->l, PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
  else
    return o->type == w->scalar ? tell_scalar(w, o) : tell_strange(w, o, depth);
  return straight || tell_number(w, o, TENSOR_DTYPE_NONE);
}

// A tensor of nested lists of numbers, of the dtype that they have together for None.
static PyObject *tensor_of(const function *f, PyObject *data, PyObject *dtype, int64_t code) {
  walk w;
  void *made;
  w.f = f, w.dtype = dtype, w.status = TENSOR_OK, w.scalar = NULL;
  library.list_begin(&w.l, (tensor_dtype)code, TENSOR_DTYPE_NONE);
  bool told = tell(&w, data, 0);
  tensor_status status = library.list_end(&w.l, told ? &made : NULL);
  if (told && !status) return wrap(f->s, (intptr_t)made);
  if (PyErr_Occurred()) return NULL;
  return raise_status(f->s, told ? status : w.status);
}

static bool is_plain(PyObject *o) {
  return o->type == &PyList_Type || o->type == &PyTuple_Type || o->type == &PyFloat_Type ||
         o->type == &PyLong_Type || o->type == &PyComplex_Type || o == &_Py_TrueStruct ||
         o == &_Py_FalseStruct;
}

// tensor(data, dtype=) of lists and numbers, on the CPU.
PyObject *make_tensor(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  PyObject *result = NULL, *dtype = named ? args[1] : &_Py_NoneStruct;
  int64_t code = TENSOR_DTYPE_NONE;
  tensor_device device;
  if (count_of(flagged) == 1 && is_plain(args[0]) &&
      (!named || (named == 1 && PyTuple_GetItem(names, 0) == f->s->dtype_name)) &&
      (dtype == &_Py_NoneStruct || read_dtype(f->s, dtype, &code)) &&
      !library.default_device(&device) && device.type <= TENSOR_CPU)
    result = tensor_of(f, args[0], dtype, code);
  return or_fallback(result, f, args, flagged, names);
}

// from_sequence(data, dtype): a tensor from nested sequences, on the CPU.
PyObject *make_of_sequence(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  int64_t code = TENSOR_DTYPE_NONE;
  if (count_of(flagged) != 2 || names)
    return PyErr_Format(PyExc_TypeError, "%U() takes the data and a dtype", f->name);
  if (args[1] != &_Py_NoneStruct) read_dtype(f->s, args[1], &code);
  return tensor_of(f, args[0], args[1], code);
}

// ------------------------------------------------------------------------- from a tensor to lists

typedef struct {
  const int64_t *sizes, *strides;
  int64_t dim, size;
  tensor_dtype dtype;
} layout;

// Fills a list with n numbers, or makes one number where `list` is NULL. NULL on failure, and
// without an exception for dtypes that C does not have.
static PyObject *numbers(PyListObject *list, int64_t n, const char *p, int64_t step,
                         tensor_dtype dtype) {
  PyObject *one = NULL;
#define EACH(CODE, T, MAKE)                      \
  case CODE:                                     \
    for (int64_t i = 0; i < n; i++, p += step) { \
      const T *x = (const T *)p;                 \
      if (!(one = MAKE)) return NULL;            \
      if (list) list->items[i] = one;            \
    }                                            \
    break;
  switch (dtype) {
    EACH(TENSOR_BOOL, uint8_t, PyBool_FromLong(*x))
    EACH(TENSOR_UINT8, uint8_t, PyLong_FromLong(*x))
    EACH(TENSOR_INT8, int8_t, PyLong_FromLong(*x))
    EACH(TENSOR_INT16, int16_t, PyLong_FromLong(*x))
    EACH(TENSOR_INT32, int32_t, PyLong_FromLong(*x))
    EACH(TENSOR_INT64, int64_t, PyLong_FromLongLong(*x))
    EACH(TENSOR_UINT16, uint16_t, PyLong_FromLong(*x))
    EACH(TENSOR_UINT32, uint32_t, PyLong_FromLongLong(*x))
    EACH(TENSOR_UINT64, uint64_t, PyLong_FromUnsignedLongLong(*x))
    EACH(TENSOR_FLOAT32, float, PyFloat_FromDouble(*x))
    EACH(TENSOR_FLOAT64, double, PyFloat_FromDouble(*x))
    EACH(TENSOR_COMPLEX64, float, PyComplex_FromDoubles(x[0], x[1]))
    EACH(TENSOR_COMPLEX128, double, PyComplex_FromDoubles(x[0], x[1]))
    default:
      return NULL;
  }
#undef EACH
  return list ? &list->head : one;
}

static PyObject *lists(const layout *l, int64_t d, const char *p) {
  int64_t n = l->sizes[d], step = l->strides[d] * l->size;
  PyObject *made = PyList_New(n);
  PyListObject *list = (PyListObject *)made;
  if (made && d == l->dim - 1) {
    if (numbers(list, n, p, step, l->dtype)) return made;
    return Py_DecRef(made), NULL;
  }
  for (int64_t i = 0; made && i < n; i++) {
    PyObject *one = lists(l, d + 1, p + i * step);
    if (!one) return Py_DecRef(made), NULL;
    list->items[i] = one;
  }
  return made;
}

// Calls `read` with a tensor and its first element while no other thread can move or reshape it.
static PyObject *while_held(const state *s, const void *handle,
                            PyObject *read(const void *handle, const void *data)) {
  void *data;
  int64_t held;
  if (library.device(handle).type != TENSOR_CPU || library.layout(handle) > TENSOR_STRIDED ||
      library.lazy(handle))
    return NULL;
  tensor_status status = library.hold(handle, &data, &held);
  if (status) return raise_status(s, status);
  PyObject *made = read(handle, data);
  library.let_go(held);
  return made;
}

static PyObject *read_list(const void *handle, const void *data) {
  layout l = {library.sizes(handle), library.strides(handle), library.dim(handle), 0,
              library.dtype(handle)};
  l.size = library.dtype_size(l.dtype);
  if (!l.dim) return numbers(NULL, 1, data, 0, l.dtype);
  // Every few hundred new lists would make the garbage collector look through all of them.
  int collects = PyGC_Disable();
  PyObject *made = lists(&l, 0, data);
  if (collects) PyGC_Enable();
  return made;
}

bool is_contiguous(const void *handle) {
  const int64_t *sizes = library.sizes(handle), *strides = library.strides(handle);
  int64_t step = 1;
  if (!sizes || !strides) return false;
  for (int64_t d = library.dim(handle) - 1; d >= 0; d--) {
    if (sizes[d] != 1 && strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

static PyObject *read_bytes(const void *handle, const void *data) {
  Py_ssize_t n = library.numel(handle) * library.dtype_size(library.dtype(handle));
  return is_contiguous(handle) ? PyBytes_FromStringAndSize(n ? data : "", n) : NULL;
}

PyObject *list_of(const state *s, const void *handle) { return while_held(s, handle, read_list); }

PyObject *bytes_of(const state *s, const void *handle) { return while_held(s, handle, read_bytes); }
