#include "direct.h"

library_functions library;
int interceptors;

PyObject *raise_status(const state *s, intptr_t status) {
  PyObject *number = PyLong_FromLong(status);
  PyObject *error = number ? PyObject_VectorcallDict(s->failure, &number, 1, NULL) : NULL;
  if (error) PyErr_SetObject((PyObject *)error->type, error), Py_DecRef(error);
  if (number) Py_DecRef(number);
  return NULL;
}

void free_handle(void *handle) {
  PyObject *type, *value, *trace;
  bool raised = PyErr_Occurred();
  if (raised) PyErr_Fetch(&type, &value, &trace);
  library.free(handle);
  if (raised) PyErr_Restore(type, value, trace);
}
