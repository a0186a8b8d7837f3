// DLPack's capsules, which NumPy's arrays come and go in.
#include "direct.h"

static const char fresh[] = "dltensor_versioned", used[] = "used_dltensor_versioned";

// The destructor of capsules of both versions, which may run while an exception is on its way: that
// of a consumer that refused the capsule, and it has to arrive.
EXPORT void direct_discard(PyObject *capsule) {
  const char *names[] = {"dltensor", fresh};
  for (int versioned = 0; versioned < 2; versioned++)
    if (PyCapsule_IsValid(capsule, names[versioned]))
      library.free_dlpack(PyCapsule_GetPointer(capsule, names[versioned]), versioned);
}

PyObject *receive(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  void *made;
  if (count_of(flagged) == 1 && !names && PyCapsule_IsValid(args[0], fresh) &&
      !library.from_dlpack(PyCapsule_GetPointer(args[0], fresh), true, &made)) {
    PyCapsule_SetName(args[0], used);
    return wrap(f->s, (intptr_t)made);
  }
  return or_fallback(NULL, f, args, flagged, names);
}

PyObject *lend(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const function *f = (const function *)self;
  void *handle, *managed;
  if (count_of(flagged) == 1 && !names && read_plain_tensor(f->s, args[0], &handle) &&
      !library.to_dlpack(handle, true, false, &managed)) {
    PyObject *capsule = PyCapsule_New(managed, fresh, direct_discard);
    if (!capsule) library.free_dlpack(managed, true);
    return capsule;
  }
  return or_fallback(NULL, f, args, flagged, names);
}
