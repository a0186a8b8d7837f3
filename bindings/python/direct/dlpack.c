// DLPack capsules, which NumPy arrays are exchanged in: versioned, and in the old form.
#include "direct.h"

static const char *const fresh[] = {"dltensor", "dltensor_versioned"};
static const char *const used[] = {"used_dltensor", "used_dltensor_versioned"};

// The destructor of capsules, which may run while an exception is on its way: that of a consumer
// that rejected the capsule, and it has to arrive.
static void discard(PyObject *capsule) {
  for (int versioned = 0; versioned < 2; versioned++)
    if (PyCapsule_IsValid(capsule, fresh[versioned]))
      library.free_dlpack(PyCapsule_GetPointer(capsule, fresh[versioned]), versioned);
}

static PyObject *raise_last_error(void) {
  return PyErr_Format(PyExc_BufferError, "%s", library.last_error());
}

PyObject *receive(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  void *made;
  bool one = count_of(flagged) == 1 && !names;
  for (int versioned = 1; one && versioned >= 0; versioned--) {
    if (!PyCapsule_IsValid(args[0], fresh[versioned])) continue;
    void *managed = PyCapsule_GetPointer(args[0], fresh[versioned]);
    if (library.from_dlpack(managed, versioned, &made)) return raise_last_error();
    PyCapsule_SetName(args[0], used[versioned]);
    return wrap(f->s, (intptr_t)made);
  }
  return or_fallback(NULL, f, args, flagged, names);
}

// The keywords of __dlpack__.
typedef struct {
  bool waits;  // a stream may have to wait, unless the consumer passes -1
  bool versioned, copy;
} request;

// False where a keyword or a value is not plain.
static bool read_request(PyObject *const *values, PyObject *names, request *r) {
  *r = (request){.waits = true};
  for (Py_ssize_t k = 0, n = names ? PyTuple_Size(names) : 0; k < n; k++) {
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, k), NULL);
    PyObject *value = values[k];
    int64_t number;
    if (!name) return PyErr_Clear(), false;
    if (!strcmp(name, "max_version")) {
      if (value == &_Py_NoneStruct) continue;
      if (value->type != &PyTuple_Type || PyTuple_Size(value) != 2 ||
          !read_int(PyTuple_GetItem(value, 0), &number))
        return false;
      r->versioned = number >= 1;
    } else if (!strcmp(name, "copy")) {
      r->copy = value == &_Py_TrueStruct;
      if (!r->copy && value != &_Py_FalseStruct && value != &_Py_NoneStruct) return false;
    } else if (!strcmp(name, "stream") && value != &_Py_NoneStruct) {
      if (!read_int(value, &number) || number != -1) return false;
      r->waits = false;
    } else if (value != &_Py_NoneStruct ||
               (strcmp(name, "stream") != 0 && strcmp(name, "dl_device") != 0)) {
      return false;
    }
  }
  return true;
}

PyObject *lend(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  void *handle, *managed;
  request r;
  if (f->s->intercepting || count_of(flagged) != 1 || !read_tensor(f->s, args[0], &handle) ||
      !read_request(args + 1, names, &r) || (r.waits && library.device(handle).type != TENSOR_CPU))
    return or_fallback(NULL, f, args, flagged, names);
  if (library.to_dlpack(handle, r.versioned, r.copy, &managed)) return raise_last_error();
  PyObject *capsule = PyCapsule_New(managed, fresh[r.versioned], discard);
  if (!capsule) library.free_dlpack(managed, r.versioned);
  return capsule;
}
