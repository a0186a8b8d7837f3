#include "direct.h"

bool read_tensor(PyObject *o, void **handle) {
  if (o->type != tensor_type) return false;
  *handle = (void *)((tensor *)o)->handle;
  return true;
}

bool read_int(PyObject *o, int64_t *to) {
  if (o->type != &PyLong_Type) return false;
  *to = PyLong_AsLongLong(o);
  if (*to != -1 || !PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

static bool read_number(PyObject *o, tensor_scalar *to) {
  if (o->type == &PyFloat_Type) {
    *to = tensor_float(PyFloat_AsDouble(o));
  } else if (o->type == &PyLong_Type) {
    *to = tensor_int(0);
    return read_int(o, &to->value.i);
  } else if (o == &_Py_TrueStruct || o == &_Py_FalseStruct) {
    *to = tensor_bool(o == &_Py_TrueStruct);
  } else if (o->type == &PyComplex_Type) {
    *to = tensor_complex(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
  } else {
    return false;
  }
  return true;
}

static bool read_float(PyObject *o, double *to) {
  int64_t whole;
  if (o->type == &PyFloat_Type) return *to = PyFloat_AsDouble(o), true;
  return read_int(o, &whole) && (*to = (double)whole, true);
}

// The items of a tuple, or of a list as it is now; their number, -1 for anything else.
static Py_ssize_t items(PyObject *o, arguments *a, PyObject **tuple) {
  *tuple = o;
  if (o->type == &PyList_Type) {
    if (a->held || !(a->held = *tuple = PySequence_Tuple(o))) return -1;
  } else if (o->type != &PyTuple_Type && o->type != size_type) {
    return -1;
  }
  return PyTuple_Size(*tuple);
}

// Room for n numbers or addresses; NULL when there is none.
static void *take(arguments *a, Py_ssize_t n) {
  if (n < 0) return NULL;
  if (n > MOST_NUMBERS - a->used)
    return a->many ? NULL : (a->many = malloc((size_t)n * sizeof *a->numbers));
  a->used += (int)n;
  return a->numbers + a->used - n;
}

static bool read_ints(PyObject *o, arguments *a, lt_value *v) {
  bool one = o->type == &PyLong_Type;
  PyObject *tuple;
  Py_ssize_t n = one ? 1 : items(o, a, &tuple);
  int64_t *to = take(a, n);
  if (!to) return false;
  v->list.data = to, v->list.length = n;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!read_int(one ? o : PyTuple_GetItem(tuple, i), to + i)) return false;
  return true;
}

static bool read_tensors(PyObject *o, arguments *a, lt_value *v) {
  PyObject *tuple;
  Py_ssize_t n = items(o, a, &tuple);
  void **to = take(a, n);
  if (!to) return false;
  v->list.data = to, v->list.length = n;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!read_tensor(PyTuple_GetItem(tuple, i), to + i)) return false;
  return true;
}

bool read_dtype(PyObject *o, int64_t *to) {
  for (*to = 0; *to < MOST_DTYPES && dtypes[*to]; ++*to)
    if (dtypes[*to] == o) return true;
  return false;
}

static bool read_text(PyObject *o, const char **to) {
  Py_ssize_t size;
  if ((*to = PyUnicode_AsUTF8AndSize(o, &size))) return strlen(*to) == (size_t)size;
  PyErr_Clear();
  return false;
}

// A number as a tensor that counts as one in promotion.
static bool read_operand(PyObject *o, arguments *a, lt_value *v) {
  if (read_tensor(o, &v->pointer)) return true;
  if (a->operand || !read_number(o, &v->scalar)) return false;
  intptr_t made = library.operand(v);
  if (made >= LT_STATUSES) v->pointer = a->operand = (void *)made;
  return a->operand;
}

bool read_slice(PyObject *o, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step) {
  if (o->type != &PySlice_Type) return false;
  if (!PySlice_Unpack(o, start, stop, step)) return true;
  PyErr_Clear();
  return false;
}

static bool read_index(PyObject *o, tensor_index *to) {
  Py_ssize_t start, stop, step;
  void *handle;
  if (read_int(o, &to->start)) {
    to->kind = TENSOR_INDEX_INT;
  } else if (read_slice(o, &start, &stop, &step)) {
    to->kind = TENSOR_INDEX_SLICE, to->start = start, to->stop = stop, to->step = step;
  } else if (o == &_Py_NoneStruct) {
    to->kind = TENSOR_INDEX_NEW_AXIS;
  } else if (o == &_Py_EllipsisObject) {
    to->kind = TENSOR_INDEX_ELLIPSIS;
  } else if (o == &_Py_TrueStruct || o == &_Py_FalseStruct) {
    to->kind = TENSOR_INDEX_BOOL, to->start = o == &_Py_TrueStruct;
  } else if (read_tensor(o, &handle)) {
    to->kind = TENSOR_INDEX_TENSOR, to->tensor = handle;
  } else {
    return false;
  }
  return true;
}

static bool read_indices(PyObject *o, arguments *a, lt_value *v) {
  Py_ssize_t n = o->type == &PyTuple_Type ? PyTuple_Size(o) : 1;
  if (n > MOST_INDICES) return false;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!read_index(o->type == &PyTuple_Type ? PyTuple_GetItem(o, i) : o, a->indices + i))
      return false;
  v->list.data = a->indices, v->list.length = n;
  return true;
}

// What None stands for.
static void read_none(char kind, lt_value *v) {
  switch (kind) {
    case 's':
      v->scalar = tensor_none();
      break;
    case 'i':
      v->i = TENSOR_NONE;
      break;
    case 'b':
    case 'd':
      v->i = -1;
      break;
    default:
      v->list.data = NULL, v->list.length = 0;
  }
}

static bool convert(const parameter *p, PyObject *o, arguments *a, lt_value *v) {
  char kind = p->kind;
  if (kind >= 'a') {
    if (o == &_Py_NoneStruct) return read_none(kind, v), true;
    kind = (char)(kind - 'a' + 'A');
  }
  switch (kind) {
    case 'O':
      return read_tensor(o, &v->pointer) || (a->number = read_number(o, &v->scalar));
    case 'P':
      return read_operand(o, a, v);
    case 'T':
      return read_tensor(o, &v->pointer);
    case 'X':
      return read_indices(o, a, v);
    case 'A':
      return read_tensors(o, a, v);
    case 'I':
      return read_int(o, &v->i);
    case 'L':
    case 'V':
      return read_ints(o, a, v);
    case 'S':
      return read_number(o, &v->scalar);
    case 'F':
      if (p->kind == 'F') return read_float(o, &v->f);
      v->pointer = take(a, 1);  // by address, as NULL is none
      return v->pointer && read_float(o, v->pointer);
    case 'B':
      v->i = o == &_Py_TrueStruct;
      return v->i || o == &_Py_FalseStruct;
    case 'U':
      return o->type == &PyUnicode_Type && read_text(o, &v->text);
    case 'D':
      return read_dtype(o, &v->i);
  }
  return o == p->absent;
}

bool fits(const entry *e, PyObject *const *args, Py_ssize_t n, PyObject *names, arguments *a) {
  PyObject *given[MOST_PARAMETERS];
  const parameter *p = e->parameters;
  int last = e->positional - 1;
  a->used = 0, a->number = false;
  bool spread = n > e->positional && last >= 0 && p[last].kind == 'V';
  if (n > e->positional && !spread) return false;
  for (int i = 0; i < e->count; i++) given[i] = i < n && i <= last ? args[i] : p[i].absent;
  Py_ssize_t named = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t k = 0; k < named; k++) {
    PyObject *name = PyTuple_GetItem(names, k);
    int i = n > last ? last + 1 : (int)n;
    while (i < e->count && p[i].name != name) i++;
    if (i >= e->count) return false;
    given[i] = args[n + k];
  }
  for (int i = 0; i < e->count; i++) {
    if (spread && i == last) {
      int64_t *to = take(a, n - last);
      for (Py_ssize_t k = last; k < n; k++)
        if (!to || !read_int(args[k], to + k - last)) return false;
      a->values[i].list.data = to, a->values[i].list.length = n - last;
    } else if (!given[i] || !convert(p + i, given[i], a, a->values + i)) {
      return false;
    }
  }
  return true;
}
