// The interrupt function of Python's main thread.
#include "direct.h"

// A tensor_interrupt: executes the handlers of signals that have arrived. If one raises an
// exception, it is passed to the function that is the context, and the call is cancelled.
EXPORT bool direct_interrupted(void *keep) {
  PyObject *type, *error, *trace;
  const int held = PyGILState_Ensure();
  const bool raised = PyErr_CheckSignals() != 0;
  if (raised) {
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (error && trace) PyException_SetTraceback(error, trace);
    PyObject *none = error ? PyObject_VectorcallDict(keep, &error, 1, NULL) : NULL;
    if (!none) PyErr_Clear();
    PyObject *const all[] = {type, error, trace, none};
    for (int i = 0; i < 4; i++)
      if (all[i]) Py_DecRef(all[i]);
  }
  PyGILState_Release(held);
  return raised;
}
