#include "direct.h"

enum { DEEPEST = 32 };

// ------------------------------------------------------------------------- from lists to a tensor

// What numbers are: the kind of several is the highest of theirs.
enum { NOTHING, BOOLS, INTS, FLOATS, COMPLEXES };

// Nested tuples and lists of one shape.
typedef struct {
  int64_t sizes[DEEPEST];
  int depth;  // -1 before the first number is met
  int kind;   // of the numbers
  int64_t count;
  int64_t low, high;  // bounds of the integers
} nest;

static bool is_sequence(PyObject *o) { return o->type == &PyList_Type || o->type == &PyTuple_Type; }

static Py_ssize_t length(PyObject *o) {
  return o->type == &PyList_Type ? PyList_Size(o) : PyTuple_Size(o);
}

static PyObject *item(PyObject *o, Py_ssize_t i) {
  return o->type == &PyList_Type ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i);
}

static bool measure_number(PyObject *o, nest *n) {
  int kind = NOTHING;
  if (o->type == &PyFloat_Type) {
    kind = FLOATS;
  } else if (o->type == &PyLong_Type) {
    int64_t whole;
    if (!read_int(o, &whole)) return false;
    if (whole < n->low) n->low = whole;
    if (whole > n->high) n->high = whole;
    kind = INTS;
  } else if (o == &_Py_TrueStruct || o == &_Py_FalseStruct) {
    kind = BOOLS;
  } else if (o->type == &PyComplex_Type) {
    kind = COMPLEXES;
  }
  if (kind > n->kind) n->kind = kind;
  return kind != NOTHING;
}

// Finds the shape and the kind; false for anything that is not plain and regular.
static bool measure(PyObject *o, nest *n, int depth) {
  if (!is_sequence(o)) {
    if (n->depth < 0) n->depth = depth;
    n->count++;
    return depth == n->depth && measure_number(o, n);
  }
  Py_ssize_t size = length(o);
  if (depth >= DEEPEST || (n->depth >= 0 && depth >= n->depth)) return false;
  if (n->sizes[depth] < 0) n->sizes[depth] = size;
  if (n->sizes[depth] != size || !size) return false;
  for (Py_ssize_t i = 0; i < size; i++)
    if (!measure(item(o, i), n, depth + 1)) return false;
  return true;
}

// Tells whether the numbers go into a dtype without a conversion that Python's side has to check.
static bool holds(int64_t dtype, const nest *n) {
  static const int64_t low[] = {0, 0, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN};
  static const int64_t high[] = {0, UINT8_MAX, INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX};
  switch (dtype) {
    case TENSOR_BOOL:
    case TENSOR_FLOAT32:
    case TENSOR_FLOAT64:
      return n->kind < COMPLEXES;
    case TENSOR_COMPLEX64:
    case TENSOR_COMPLEX128:
      return true;
    case TENSOR_UINT8:
    case TENSOR_INT8:
    case TENSOR_INT16:
    case TENSOR_INT32:
    case TENSOR_INT64:
      return n->kind < FLOATS && n->low >= low[dtype] && n->high <= high[dtype];
  }
  return false;
}

// Where numbers are written, and as what. Integers among floats count as float64.
typedef struct {
  char *to;
  int64_t dtype, size;
  bool floats;
} writer;

static void write_real(PyObject *o, const writer *w, int64_t dtype) {
  int64_t i = o == &_Py_TrueStruct;
  bool whole = o->type != &PyFloat_Type;
  if (o->type == &PyLong_Type) read_int(o, &i);
  double f = whole ? (double)i : PyFloat_AsDouble(o);
  switch (dtype) {
    case TENSOR_BOOL:
      *(bool *)w->to = whole ? i != 0 : f != 0;
      break;
    case TENSOR_UINT8:
    case TENSOR_INT8:
      *(int8_t *)w->to = (int8_t)i;
      break;
    case TENSOR_INT16:
      *(int16_t *)w->to = (int16_t)i;
      break;
    case TENSOR_INT32:
      *(int32_t *)w->to = (int32_t)i;
      break;
    case TENSOR_INT64:
      *(int64_t *)w->to = i;
      break;
    case TENSOR_FLOAT32:
      *(float *)w->to = whole && !w->floats ? (float)i : (float)f;
      break;
    default:
      *(double *)w->to = f;
  }
}

static void write_number(PyObject *o, const writer *w) {
  bool single = w->dtype == TENSOR_COMPLEX64;
  if (!single && w->dtype != TENSOR_COMPLEX128) {
    write_real(o, w, w->dtype);
  } else if (o->type != &PyComplex_Type) {
    memset(w->to, 0, (size_t)w->size);
    write_real(o, w, single ? TENSOR_FLOAT32 : TENSOR_FLOAT64);
  } else if (single) {
    ((float *)w->to)[0] = (float)PyComplex_RealAsDouble(o);
    ((float *)w->to)[1] = (float)PyComplex_ImagAsDouble(o);
  } else {
    ((double *)w->to)[0] = PyComplex_RealAsDouble(o);
    ((double *)w->to)[1] = PyComplex_ImagAsDouble(o);
  }
}

static void write_all(PyObject *o, writer *w) {
  if (is_sequence(o)) {
    for (Py_ssize_t i = 0, n = length(o); i < n; i++) write_all(item(o, i), w);
  } else {
    write_number(o, w);
    w->to += w->size;
  }
}

// The dtype of numbers of a kind for which none is given.
static bool infer(int kind, int64_t *dtype) {
  tensor_dtype real;
  if (kind < FLOATS) return *dtype = kind == INTS ? TENSOR_INT64 : TENSOR_BOOL, true;
  if (library.default_dtype(&real)) return false;
  if (kind == FLOATS) return *dtype = real, true;
  *dtype = real == TENSOR_FLOAT32 ? TENSOR_COMPLEX64 : TENSOR_COMPLEX128;
  return real == TENSOR_FLOAT32 || real == TENSOR_FLOAT64;
}

// A tensor of plain data; NULL without an exception when Python's side has to act.
static PyObject *tensor_of(const state *s, PyObject *data, PyObject *dtype_object) {
  nest n = {.depth = -1};
  int64_t dtype;
  tensor_device device;
  for (int i = 0; i < DEEPEST; i++) n.sizes[i] = -1;
  if (!measure(data, &n, 0)) return NULL;
  if (!(dtype_object ? read_dtype(s, dtype_object, &dtype) : infer(n.kind, &dtype))) return NULL;
  if (!holds(dtype, &n)) return NULL;
  if (library.default_device(&device) || device.type > TENSOR_CPU) return NULL;
  int64_t size = library.dtype_size((tensor_dtype)dtype);
  char few[256];
  char *elements = n.count * size <= (int64_t)sizeof few ? few : malloc((size_t)(n.count * size));
  void *made = NULL;
  if (!elements) return NULL;
  writer w = {elements, dtype, size, n.kind >= FLOATS};
  write_all(data, &w);
  if (library.make(elements, n.sizes, n.depth, (tensor_dtype)dtype, &made)) made = NULL;
  if (elements != few) free(elements);
  return made ? wrap(s, (intptr_t)made) : NULL;
}

PyObject *make_tensor(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  PyObject *result = NULL;
  if (count_of(flagged) == 1 &&
      (!named || (named == 1 && PyTuple_GetItem(names, 0) == f->s->dtype_name)))
    result = tensor_of(f->s, args[0], named && args[1] != &_Py_NoneStruct ? args[1] : NULL);
  return or_fallback(result, f, args, flagged, names);
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

PyObject *list_of(const void *handle) {
  void *data;
  layout l = {library.sizes(handle), library.strides(handle), library.dim(handle), 0,
              library.dtype(handle)};
  if (library.device(handle).type != TENSOR_CPU || l.dtype < 0 || l.dtype > TENSOR_COMPLEX128)
    return NULL;
  if (library.data(handle, &data)) return NULL;
  l.size = library.dtype_size(l.dtype);
  if (!l.dim) return numbers(NULL, 1, data, 0, l.dtype);
  // Every few hundred new lists would make the garbage collector look through all of them.
  int collects = PyGC_Disable();
  PyObject *made = lists(&l, 0, data);
  if (collects) PyGC_Enable();
  return made;
}
