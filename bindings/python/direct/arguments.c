#include "direct.h"
#include "../../../capi/closest.h"

bool read_plain_tensor(const state *s, PyObject *o, void **handle) {
  if (!is_own(s, o->type)) return false;
  *handle = (void *)((tensor *)o)->handle;
  return true;
}

bool read_tensor(const state *s, PyObject *o, void **handle) {
  if (o->type != s->tensor_type && !PyType_IsSubtype(o->type, s->tensor_type)) return false;
  *handle = (void *)((tensor *)o)->handle;
  return true;
}

// A tensor argument. It first checks whether it is of a subclass that overrides the call.
static bool read_handle(PyObject *o, arguments *a, void **handle) {
  if (o->type == a->s->kin) a->kin = true;
  return a->asks ? read_tensor(a->s, o, handle) : read_plain_tensor(a->s, o, handle);
}

bool read_int(PyObject *o, int64_t *to) {
  if (o->type != &PyLong_Type) return false;
  *to = PyLong_AsLongLong(o);
  if (*to != -1 || !PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

bool read_number(PyObject *o, tensor_scalar *to) {
  if (o->type == &PyFloat_Type) {
    *to = tensor_float(PyFloat_AsDouble(o));
  } else if (o->type == &PyLong_Type) {
    *to = tensor_int(0);
    if (read_int(o, &to->value.i)) return true;
    to->kind = TENSOR_SCALAR_UINT, to->value.u = PyLong_AsUnsignedLongLong(o);
    if (to->value.u != UINT64_MAX || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
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

static void keep(arguments *a, PyObject *o) {
  if (a->keeps < MOST_KEPT) a->kept[a->keeps++] = o;
}

// Allocates n numbers or addresses; NULL on failure.
static void *take(arguments *a, Py_ssize_t n) {
  if (n <= MOST_NUMBERS - a->used) {
    a->used += (int)n;
    return a->numbers + a->used - n;
  }
  void **block = malloc(sizeof *block + (size_t)n * sizeof *a->numbers);
  if (!block) return NULL;
  *block = a->blocks, a->blocks = block;
  return block + 1;
}

// The items of a tuple or list; their number, -1 for anything else.
static Py_ssize_t size_of(const state *s, PyObject *o) {
  if (o->type == &PyList_Type) return PyList_Size(o);
  return o->type == &PyTuple_Type || o->type == s->size_type ? PyTuple_Size(o) : -1;
}

static PyObject *item_of(PyObject *o, Py_ssize_t i) {
  return o->type == &PyList_Type ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i);
}

static bool read_ints(PyObject *o, arguments *a, lt_value *v) {
  bool one = o->type == &PyLong_Type;
  Py_ssize_t n = one ? 1 : size_of(a->s, o);
  int64_t *to = n < 0 ? NULL : take(a, n);
  if (!to) return false;
  v->list.data = to, v->list.length = n;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!read_int(one ? o : item_of(o, i), to + i)) return false;
  return true;
}

PyObject *listed(const arguments *a, Py_ssize_t i) {
  if (a->listed) return a->listed[i];
  return a->first && i < size_of(a->s, a->first) ? item_of(a->first, i) : NULL;
}

// A list may change during the call, so that its tensors are kept: a few one by one, many in a
// tuple.
static bool read_tensors(PyObject *o, arguments *a, lt_value *v, bool or_none) {
  enum { FEW = 8 };
  Py_ssize_t n = size_of(a->s, o);
  bool list = o->type == &PyList_Type;
  if (list && (n > FEW || a->keeps + n > MOST_KEPT)) {
    if (!(o = PySequence_Tuple(o))) return PyErr_Clear(), false;
    keep(a, o);
    list = false;
  }
  void **to = n < 0 ? NULL : take(a, n);
  if (!to) return false;
  v->list.data = to, v->list.length = n;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *one = item_of(o, i);
    if (or_none && one == &_Py_NoneStruct)
      to[i] = NULL;
    else if (!read_handle(one, a, to + i))
      return false;
    if (list) Py_IncRef(one), keep(a, one);
  }
  return true;
}

bool read_dtype(const state *s, PyObject *o, int64_t *to) {
  for (*to = 0; *to < MOST_DTYPES && s->dtypes[*to]; ++*to)
    if (s->dtypes[*to] == o) return true;
  return false;
}

static bool read_text(PyObject *o, const char **to) {
  Py_ssize_t size;
  if (o->type != &PyUnicode_Type) return false;
  if ((*to = PyUnicode_AsUTF8AndSize(o, &size))) return strlen(*to) == (size_t)size;
  PyErr_Clear();
  return false;
}

// A number as a tensor that counts as one in promotion.
static bool make_operand(arguments *a, lt_value *v) {
  if (a->operand || library.operand(v->scalar, &a->operand)) return false;
  return v->pointer = a->operand, true;
}

// A slice with a positive step; Python code reverses others.
bool read_slice(PyObject *o, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step) {
  if (o->type != &PySlice_Type) return false;
  if (!PySlice_Unpack(o, start, stop, step)) return *step > 0;
  PyErr_Clear();
  return false;
}

static bool read_index(PyObject *o, arguments *a, tensor_index *to) {
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
  } else if (read_handle(o, a, &handle)) {
    to->kind = TENSOR_INDEX_TENSOR, to->tensor = handle;
  } else {
    return false;
  }
  return true;
}

static bool read_indices(PyObject *o, arguments *a, lt_value *v) {
  bool several = o->type == &PyTuple_Type;
  Py_ssize_t n = several ? PyTuple_Size(o) : 1;
  tensor_index *to = take(a, n * (Py_ssize_t)(sizeof *to / sizeof *a->numbers));
  if (!to) return false;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!read_index(several ? PyTuple_GetItem(o, i) : o, a, to + i)) return false;
  v->list.data = to, v->list.length = n;
  return true;
}

// The default for None.
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
    case 'y':
    case 'm':
      v->i = -1;
      break;
    case 'c':
      v->device = tensor_device_default();
      break;
    default:
      v->list.data = NULL, v->list.length = 0;
  }
}

// Reads a value without conversion.
static bool read(char kind, PyObject *o, arguments *a, lt_value *v) {
  switch (kind) {
    case 'O':
      return read_handle(o, a, &v->pointer) || (a->number = read_number(o, &v->scalar));
    case 'P':
      if (read_handle(o, a, &v->pointer)) return true;
      return read_number(o, &v->scalar) && make_operand(a, v);
    case 'T':
      return read_handle(o, a, &v->pointer);
    case 'X':
      return read_indices(o, a, v);
    case 'A':
    case 'R':
      return read_tensors(o, a, v, false);
    case 'Z':
      return read_tensors(o, a, v, true);
    case 'I':
      return read_int(o, &v->i);
    case 'L':
    case 'V':
      return read_ints(o, a, v);
    case 'S':
      return read_number(o, &v->scalar);
    case 'F':
      return read_float(o, &v->f);
    case 'f':
      v->pointer = take(a, 1);  // by address, as NULL is none
      return v->pointer && read_float(o, v->pointer);
    case 'B':
      v->i = o == &_Py_TrueStruct;
      return v->i || o == &_Py_FalseStruct;
    case 'U':
      return read_text(o, &v->text);
    case 'D':
      return read_dtype(a->s, o, &v->i);
    case 'C':
      v->device = (tensor_device){TENSOR_CPU, -1};
      return o == a->s->cpu;
  }
  return false;
}

// Reads the result of a converter. Some converters return the C form of an object: a code or a
// handle as an int, a list as the bytes of its elements, a string as its bytes.
static bool read_converted(char kind, PyObject *o, arguments *a, lt_value *v) {
  char *bytes;
  Py_ssize_t size;
  switch (kind) {
    case 'Y':
    case 'M':
      return read_int(o, &v->i);
    case 'G':
    case 'W':
    case 'J':
    case 'Q':
      v->pointer = PyLong_AsVoidPtr(o);
      return !PyErr_Occurred();
    case 'C':
    case 'U':
    case 'E':
    case 'H':
    case 'N':
      if (PyBytes_AsStringAndSize(o, &bytes, &size)) return false;
      if (kind == 'C') return memcpy(&v->device, bytes, sizeof v->device), true;
      if (kind == 'U') return v->text = bytes, true;
      v->list.data = bytes;
      v->list.length = size / (Py_ssize_t)(kind == 'E'   ? sizeof(double)
                                           : kind == 'H' ? sizeof(bool)
                                                         : sizeof(tensor_scalar));
      return true;
    case 'K':
      size = PyTuple_Size(o);
      const char **texts = take(a, size);
      for (Py_ssize_t i = 0; texts && i < size; i++)
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(o, i), (char **)(texts + i), NULL))
          return false;
      v->list.data = texts, v->list.length = size;
      return texts;
  }
  return read(kind, o, a, v);
}

// Returns whether a value that cannot be read directly may be an argument of a kind. If one of
// several overloads is chosen, values of known classes are not converted.
static bool needs_conversion(const arguments *a, char kind, PyObject *o) {
  const state *s = a->s;
  PyTypeObject *type = o->type;
  void *handle;
  if (strchr("EHNKCYMGWQX", kind)) return true;
  if (read_tensor(s, o, &handle)) {
    if (strchr("ILV", kind)) return a->loose && (!is_own(s, type) || !library.dim(handle));
    return !is_own(s, type) || (a->loose && strchr("SF", kind) && !library.dim(handle));
  }
  if (type == &PyTuple_Type || type == &PyList_Type || type == s->size_type)
    return strchr("ALRVZ", kind);
  if (type == &PyLong_Type) return strchr("FILOPSV", kind);  // one beyond 64 bits
  if (type == &PyUnicode_Type) return kind == 'U';           // surrogates, NUL
  return type != &PyFloat_Type && type != &PyComplex_Type && o != &_Py_TrueStruct &&
         o != &_Py_FalseStruct && o != &_Py_NoneStruct && type != s->dtypes[0]->type;
}

// The result of a converter, which the arguments keep; NULL with an exception.
static PyObject *ask(const function *f, char kind, PyObject *o, PyObject *name, arguments *a) {
  PyObject *all[] = {o, f->name, name};
  PyObject *made = PyObject_VectorcallDict(f->s->converters[kind - 'A'], all, 3, NULL);
  if (made) keep(a, made);
  return made;
}

// Returns whether the exception on its way is for a value of a class that an argument cannot have,
// which another overload may take (_base/errors.py).
static bool is_misfit(void) {
  PyObject *type, *value, *trace, *mark = NULL;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && !(mark = PyObject_GetAttrString(value, "misfit"))) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  if (mark) Py_DecRef(mark);
  return mark;
}

static verdict convert(const function *f, char kind, PyObject *o, PyObject *name, arguments *a,
                       lt_value *v) {
  char capital = kind;
  if (kind >= 'a') {
    if (o == &_Py_NoneStruct) return read_none(kind, v), YES;
    capital = (char)(kind - 'a' + 'A');
  }
  bool address = kind == 'f';
  if (read(address ? kind : capital, o, a, v)) return YES;
  bool one = f->count - f->first == 1 || name == f->s->out;
  if (!one && !needs_conversion(a, capital, o)) return NO;
  if (!a->asks) return ASK;
  PyObject *made = ask(f, capital, o, name, a);
  if (made && read_converted(address ? kind : capital, made, a, v)) return YES;
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_TypeError, "%U(): argument '%U' is not supported", f->name, name);
  return one || !is_misfit() ? FAILED : (PyErr_Clear(), NO);
}

// The value of a parameter that is left out.
static bool absent(const lt_parameter *p, char kind, arguments *a, lt_value *v) {
  if (!(p->flags & LT_DEFAULT)) return false;
  *v = p->absent;
  if (kind == 'O') a->number = true;
  return kind != 'P' || make_operand(a, v);
}

// --------------------------------------------------------------------- dimensions by their names

static bool is_text(PyObject *o) { return o->type == &PyUnicode_Type; }

// Returns whether a value is the name of a dimension, or a list with one.
static bool has_name(const state *s, PyObject *o) {
  for (Py_ssize_t i = 0, n = is_text(o) ? 0 : size_of(s, o); i < n; i++)
    if (is_text(item_of(o, i))) return true;
  return is_text(o);
}

// A dimension that is given as an integer or by its name, of the tensor with a handle.
static verdict read_dim(const function *f, const void *handle, PyObject *o, int64_t *to) {
  const char *name;
  if (!is_text(o)) return read_int(o, to) ? YES : NO;
  if (!read_text(o, &name)) return NO;
  tensor_status status = library.dim_by_name(handle, name, to);
  if (!status) return YES;
  const char *said = status == TENSOR_ERROR_RUNTIME ? strstr(library.last_error(), ": ") : NULL;
  if (!said) return raise_status(f->s, status), FAILED;
  return PyErr_Format(PyExc_RuntimeError, "%U%s", f->name, said), FAILED;
}

// One or several of them. The tensor has been read before, or the first one of a list.
static verdict read_dims(const function *f, const overload *o, int i, PyObject *given,
                         arguments *a) {
  int of = o->op->parameters[i].dim_of;
  lt_value *v = a->values + i;
  const void *handle = a->values[of].pointer;
  if (strchr("AR", o->kinds[of])) {
    if (!a->values[of].list.length) return NO;
    handle = *(void *const *)a->values[of].list.data;
  }
  if (strchr("Ii", o->kinds[i])) return read_dim(f, handle, given, &v->i);
  Py_ssize_t n = is_text(given) ? 1 : size_of(a->s, given);
  int64_t *to = take(a, n);
  if (!to) return NO;
  v->list.data = to, v->list.length = n;
  verdict fits = YES;
  for (Py_ssize_t k = 0; k < n && fits == YES; k++)
    fits = read_dim(f, handle, is_text(given) ? given : item_of(given, k), to + k);
  return fits;
}

// ------------------------------------------------------------------------- arguments to parameters

static inline verdict take_one(const function *f, const overload *o, int i, PyObject *given,
                               arguments *a) {
  if (given->type == a->s->tensor_type && o->tensors[i])
    return a->values[i].pointer = (void *)((tensor *)given)->handle, YES;
  const lt_parameter *p = o->op->parameters + i;
  if (p->dim_of >= 0 && given->type != &PyLong_Type && has_name(a->s, given))
    return read_dims(f, o, i, given, a);
  if (given != &_Py_NoneStruct || !(p->flags & LT_NONE_IS_DEFAULT))
    return convert(f, o->kinds[i], given, o->names[i], a, a->values + i);
  return a->values[i] = p->absent, YES;
}

// The parameter of a name, looked for from one on first; -1 for none.
static int index_of(const overload *o, PyObject *name, int from) {
  for (int i = from; i < o->op->count; i++)
    if (o->names[i] == name) return i;
  for (int i = 0; i < o->op->count; i++)
    if (!PyUnicode_Compare(o->names[i], name)) return i;
  return -1;
}

bool is(PyObject *name, PyObject *known) {
  return name == known || !PyUnicode_Compare(name, known);
}

// For a function without overloads, a mismatch raises an exception with the reason.
static verdict wrong(const function *f, const char *format, PyObject *name) {
  if (f->count - f->first == 1) return PyErr_Format(PyExc_TypeError, format, f->name, name), FAILED;
  return NO;
}

static verdict too_many(const function *f, const overload *o, Py_ssize_t n) {
  if (f->count - f->first > 1) return NO;
  PyErr_Format(PyExc_TypeError, "%U() takes %d positional argument%s but %zd were given", f->name,
               o->positional, o->positional == 1 ? "" : "s", n);
  return FAILED;
}

static const char kOldForm[] =
    "This overload of %U is deprecated: pass beta, alpha and value as keyword arguments";

// The deprecated forms with leading factors, addmm(beta, input, alpha, mat1, mat2) and add(input,
// alpha, other): if there are more positional arguments than parameters, numbers among them are the
// present keyword arguments, in this order, and tensors the others.
static bool sort_old_form(const overload *o, PyObject *const *args, Py_ssize_t n, const state *s,
                          PyObject **given) {
  const lt_parameter *p = o->op->parameters;
  int tensors = 0, factor = o->positional;
  tensor_scalar number;
  void *handle;
  for (int i = 0; i < o->op->count; i++) given[i] = NULL;
  for (Py_ssize_t i = 0; i < n; i++) {
    if (read_tensor(s, args[i], &handle)) {
      if (tensors == o->positional) return false;
      given[tensors++] = args[i];
    } else {
      if (factor == o->op->count || p[factor].kind != 'S' || !read_number(args[i], &number))
        return false;
      given[factor++] = args[i];
    }
  }
  return tensors == o->positional;
}

// Returns the error for a keyword argument that no parameter takes, with the parameter that is
// probably meant.
static verdict unexpected(const function *f, const overload *o, PyObject *name) {
  const char *given = PyUnicode_AsUTF8AndSize(name, NULL);
  PyObject *meant = NULL;
  for (int i = 0, closest = 32; given && i < o->op->count; i++) {
    const char *other = o->names[i] ? PyUnicode_AsUTF8AndSize(o->names[i], NULL) : NULL;
    if (other && o->kinds[i] != 'R' && lt_closer(given, other, &closest)) meant = o->names[i];
  }
  if (!given) return FAILED;
  if (!meant || f->count - f->first > 1)
    return wrong(f, "%U() got an unexpected keyword argument '%U'", name);
  PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument '%U'; did you mean '%U'?",
               f->name, name, meant);
  return FAILED;
}

// An argument that no parameter takes, but every function of its kind.
static verdict other_keyword(const function *f, const overload *o, PyObject *name, PyObject *value,
                             arguments *a) {
  const state *s = f->s;
  if (is(name, s->out) && o->mode == LT_FUNCTION && o->op->forms & LT_HAS(LT_OUT, 0)) {
    if (value != &_Py_NoneStruct) a->out = value;
    return YES;
  }
  bool pins = is(name, s->pin_memory);
  if (o->op->flags & LT_FACTORY && is(name, s->names)) {
    if (value != &_Py_NoneStruct) a->names = value;
    return YES;
  }
  if (!(o->op->flags & LT_FACTORY) || (!pins && !is(name, s->requires_grad)))
    return unexpected(f, o, name);
  if (value == &_Py_FalseStruct || value == &_Py_NoneStruct) return YES;
  if (value != &_Py_TrueStruct) return wrong(f, "%U(): argument '%U' must be bool", name);
  *(pins ? &a->pins : &a->leaf) = true;
  return YES;
}

static verdict take_keywords(const function *f, const overload *o, PyObject *const *values,
                             PyObject *names, int from, PyObject **given, arguments *a) {
  const state *s = f->s;
  for (Py_ssize_t k = 0, n = PyTuple_Size(names); k < n; k++) {
    PyObject *name = PyTuple_GetItem(names, k);
    int i = index_of(o, name, from);
    for (int at = 0; i < 0 && at < ALIASES; at++)
      if (is(name, s->aliases[at].other)) i = index_of(o, s->aliases[at].name, 0);
    if (i >= 0 && o->kinds[i] == 'R') i = -1;
    if (i < 0) {
      verdict taken = other_keyword(f, o, name, values[k], a);
      if (taken != YES) return taken;
    } else if (given[i]) {
      return wrong(f, "%U() got multiple values for argument '%U'", name);
    } else {
      given[i] = values[k];
    }
  }
  return YES;
}

// The separate arguments of a list, from args[0] on.
static verdict take_rest(const function *f, const overload *o, PyObject *const *args, Py_ssize_t n,
                         arguments *a) {
  int last = o->positional - 1;
  bool ints = o->kinds[last] == 'V', plain = true;
  int64_t *to = take(a, n);
  if (!to) return NO;
  lt_value *v = a->values + last;
  v->list.data = to, v->list.length = n;
  for (Py_ssize_t i = 0; i < n && plain; i++)
    plain = ints ? read_int(args[i], to + i) : read_handle(args[i], a, (void **)to + i);
  if (plain) return YES;
  if (!a->asks) return ASK;
  PyObject *rest = PyType_GenericAlloc(&PyTuple_Type, n);
  for (Py_ssize_t i = 0; rest && i < n; i++) {
    Py_IncRef(args[i]);
    PyTuple_SetItem(rest, i, args[i]);
  }
  if (!rest) return FAILED;
  keep(a, rest);
  return take_one(f, o, last, rest, a);
}

static verdict take_outputs(const function *f, const overload *o, arguments *a) {
  lt_value *v = a->values + o->op->count;
  Py_ssize_t n = (Py_ssize_t)strlen(o->op->results);
  if (n == 1) return convert(f, 'T', a->out, f->s->out, a, v);
  if (size_of(a->s, a->out) != n || a->out->type == &PyList_Type) {
    if (!a->asks) return ASK;
    PyObject *count = PyLong_FromLong(n), *all[] = {a->out, count, f->name};
    PyObject *made = count ? PyObject_VectorcallDict(f->s->outputs, all, 3, NULL) : NULL;
    if (count) Py_DecRef(count);
    if (!made) return FAILED;
    keep(a, a->out = made);
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    verdict one = convert(f, 'T', PyTuple_GetItem(a->out, i), f->s->out, a, v + i);
    if (one != YES) return one;
  }
  return YES;
}

verdict bind_arguments(const function *f, const overload *o, PyObject *const *args, Py_ssize_t n,
                       PyObject *names, arguments *a) {
  PyObject *given[LT_MOST_PARAMETERS];
  const lt_parameter *p = o->op->parameters;
  int count = o->op->count, last = o->positional - 1, spread = -1;
  verdict fits = YES;
  void *one;
  a->listed = NULL;
  if (n < o->required && !names && f->count - f->first > 1) return NO;
  char kind = last < 0 ? 0 : o->kinds[last];
  if (!names && n >= o->least && n <= last + 1 && kind != 'R') {
    for (Py_ssize_t i = 0; i < n && fits == YES; i++) fits = take_one(f, o, (int)i, args[i], a);
    for (Py_ssize_t i = n; i < count; i++) a->values[i] = p[i].absent;
    a->first = n ? args[0] : NULL, a->changed = o->changed < n ? args[o->changed] : NULL;
    return fits;
  }
  if ((kind == 'V' && n > last + 1) ||
      (kind == 'R' && n >= last && (n != last + 1 || read_tensor(a->s, args[last], &one))))
    spread = last;
  else if (n > last + 1 && !sort_old_form(o, args, n, a->s, given))
    return too_many(f, o, n);
  else if (n > last + 1 && PyErr_WarnFormat(PyExc_UserWarning, 1, kOldForm, f->name) < 0)
    return FAILED;
  for (int i = 0; i < count && (n <= last + 1 || spread >= 0); i++)
    given[i] = i < n && i <= last ? args[i] : NULL;
  if (names &&
      (fits = take_keywords(f, o, args + n, names, n < count ? (int)n : 0, given, a)) != YES)
    return fits;
  for (int i = 0; i < count && fits == YES; i++) {
    lt_value *v = a->values + i;
    if (i == spread) {
      fits = take_rest(f, o, args + i, n - i, a);
      if (!i) a->listed = args;
    } else if (!given[i] && i >= o->least) {
      *v = p[i].absent;
    } else if (!given[i]) {
      if (!absent(p + i, o->kinds[i], a, v))
        fits = wrong(f, "%U() missing required argument '%U'", o->names[i]);
    } else {
      fits = take_one(f, o, i, given[i], a);
    }
  }
  if (a->out && fits == YES) fits = take_outputs(f, o, a);
  a->first = count ? given[0] : NULL, a->changed = o->changed < count ? given[o->changed] : NULL;
  return fits;
}

void release(arguments *a) {
  for (int i = 0; i < a->keeps; i++) Py_DecRef(a->kept[i]);
  while (a->blocks) {
    void *next = *(void **)a->blocks;
    free(a->blocks);
    a->blocks = next;
  }
  if (a->operand) library.free(a->operand);
}
