// DLPack's capsules, which NumPy's arrays come and go in: with a version, and as they were before.
#include "direct.h"

static const char *const fresh[] = {"dltensor", "dltensor_versioned"};
static const char *const used[] = {"used_dltensor", "used_dltensor_versioned"};

// The destructor of capsules, which may run while an exception is on its way: that of a consumer
// that refused the capsule, and it has to arrive.
static void discard(PyObject *capsule) {
  for (int versioned = 0; versioned < 2; versioned++)
    if (PyCapsule_IsValid(capsule, fresh[versioned]))
      library.free_dlpack(PyCapsule_GetPointer(capsule, fresh[versioned]), versioned);
}

static PyObject *refused(void) {
  return PyErr_Format(PyExc_BufferError, "%s", library.last_error());
}

PyObject *receive(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  void *made;
  bool one = count_of(flagged) == 1 && !names;
  for (int versioned = 1; one && versioned >= 0; versioned--) {
    if (!PyCapsule_IsValid(args[0], fresh[versioned])) continue;
    void *managed = PyCapsule_GetPointer(args[0], fresh[versioned]);
    if (library.from_dlpack(managed, versioned, &made)) return refused();
    PyCapsule_SetName(args[0], used[versioned]);
    return wrap(f->s, (intptr_t)made);
  }
  return or_fallback(NULL, f, args, flagged, names);
}

PyObject *lend(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  size_t n = count_of(flagged);
  void *handle, *managed;
  if ((n != 1 && n != 3) || names || !read_tensor(f->s, args[0], &handle))
    return or_fallback(NULL, f, args, flagged, names);
  bool versioned = n == 1 || args[1] == &_Py_TrueStruct;
  if (library.to_dlpack(handle, versioned, n == 3 && args[2] == &_Py_TrueStruct, &managed))
    return refused();
  PyObject *capsule = PyCapsule_New(managed, fresh[versioned], discard);
  if (!capsule) library.free_dlpack(managed, versioned);
  return capsule;
}
