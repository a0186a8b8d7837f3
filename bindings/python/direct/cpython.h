// The part of CPython's C API that direct.c uses: names and numbers of its stable ABI, and a
// little that every version since 3.10 has. Declared here so that the library is built
// without Python's headers and serves every version of Python.
#ifndef LIBTENSOR_PYTHON_CPYTHON_H
#define LIBTENSOR_PYTHON_CPYTHON_H

#include <stddef.h>

typedef ptrdiff_t Py_ssize_t;
typedef struct PyTypeObject PyTypeObject;
typedef struct PyThreadState PyThreadState;

typedef struct PyObject {
  Py_ssize_t references;
  PyTypeObject *type;
} PyObject;

// The layout of lists is not of the stable ABI, and that of every version.
typedef struct {
  PyObject head;
  Py_ssize_t size;
  PyObject **items;
} PyListObject;

typedef struct {
  int slot;
  void *value;
} PyType_Slot;

typedef struct {
  const char *name;
  int size, item_size;
  unsigned int flags;
  PyType_Slot *slots;
} PyType_Spec;

typedef struct {
  const char *name;
  int type;
  Py_ssize_t offset;
  int flags;
  const char *doc;
} PyMemberDef;

typedef struct {
  void *buf;
  PyObject *obj;
  Py_ssize_t len, itemsize;
  int readonly, ndim;
  char *format;
  Py_ssize_t *shape, *strides, *suboffsets;
  void *internal;
} Py_buffer;

enum {
  Py_bf_getbuffer = 1,
  Py_bf_releasebuffer = 2,
  Py_tp_call = 50,
  Py_tp_clear = 51,
  Py_tp_dealloc = 52,
  Py_tp_descr_get = 54,
  Py_tp_new = 65,
  Py_tp_traverse = 71,
  Py_tp_members = 72,
  Py_tp_free = 74,
};
enum { T_OBJECT = 6, T_PYSSIZET = 19, T_ULONGLONG = 18, READONLY = 1 };
enum {
  Py_TPFLAGS_BASETYPE = 1 << 10,
  Py_TPFLAGS_HAVE_VECTORCALL = 1 << 11,
  Py_TPFLAGS_HAVE_GC = 1 << 14,
  Py_TPFLAGS_METHOD_DESCRIPTOR = 1 << 17,
  Py_TPFLAGS_DEFAULT = 1 << 18,
};
enum {
  PyBUF_WRITABLE = 1,
  PyBUF_FORMAT = 4,
  PyBUF_ND = 8,
  PyBUF_STRIDES = 16 | PyBUF_ND,
  PyBUF_C_CONTIGUOUS = 32 | PyBUF_STRIDES,
  PyBUF_F_CONTIGUOUS = 64 | PyBUF_STRIDES,
  PyBUF_ANY_CONTIGUOUS = 128 | PyBUF_STRIDES,
};
#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))

extern PyObject _Py_NoneStruct, _Py_TrueStruct, _Py_FalseStruct, _Py_EllipsisObject,
    _Py_NotImplementedStruct;
extern PyObject *PyExc_TypeError, *PyExc_RuntimeError, *PyExc_BufferError, *PyExc_UserWarning;
extern PyTypeObject PyBool_Type, PyLong_Type, PyFloat_Type, PyComplex_Type, PyTuple_Type,
    PyList_Type, PySlice_Type, PyUnicode_Type;

void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);
PyObject *PyType_FromSpec(PyType_Spec *);
PyObject *PyType_GenericAlloc(PyTypeObject *, Py_ssize_t);
void *PyType_GetSlot(PyTypeObject *, int);
PyThreadState *PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState *);
PyObject *PyErr_Occurred(void);
void PyErr_Clear(void);
void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
int PyErr_CheckSignals(void);
void PyErr_NormalizeException(PyObject **, PyObject **, PyObject **);
void PyErr_Restore(PyObject *, PyObject *, PyObject *);
void PyErr_SetObject(PyObject *, PyObject *);
PyObject *PyErr_Format(PyObject *, const char *, ...);
int PyErr_WarnFormat(PyObject *, Py_ssize_t, const char *, ...);
int PyType_IsSubtype(PyTypeObject *, PyTypeObject *);
int PyObject_IsTrue(PyObject *);
PyObject *PyObject_GetAttrString(PyObject *, const char *);
PyObject *PyObject_GetAttr(PyObject *, PyObject *);
int PyObject_SetAttr(PyObject *, PyObject *, PyObject *);
int PyGILState_Ensure(void);
void PyGILState_Release(int);
int PyException_SetTraceback(PyObject *, PyObject *);
long long PyLong_AsLongLong(PyObject *);
unsigned long long PyLong_AsUnsignedLongLong(PyObject *);
void *PyLong_AsVoidPtr(PyObject *);
PyObject *PyLong_FromVoidPtr(void *);
double PyFloat_AsDouble(PyObject *);
double PyLong_AsDouble(PyObject *);
PyObject *PyNumber_Index(PyObject *);
PyObject *PyObject_Str(PyObject *);
double PyComplex_RealAsDouble(PyObject *);
double PyComplex_ImagAsDouble(PyObject *);
PyObject *PyBytes_FromStringAndSize(const char *, Py_ssize_t);
int PyBytes_AsStringAndSize(PyObject *, char **, Py_ssize_t *);
PyObject *PyUnicode_FromString(const char *);
PyObject *PyUnicode_InternFromString(const char *);
int PyUnicode_Compare(PyObject *, PyObject *);
const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);
Py_ssize_t PyTuple_Size(PyObject *);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
PyObject *PyList_New(Py_ssize_t);
void PyObject_GC_UnTrack(void *);
int PyGC_Disable(void);
int PyGC_Enable(void);
Py_ssize_t PyList_Size(PyObject *);
PyObject *PyList_GetItem(PyObject *, Py_ssize_t);
int PyList_SetItem(PyObject *, Py_ssize_t, PyObject *);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
PyObject *PySequence_Tuple(PyObject *);
PyObject *PyLong_FromLong(long);
PyObject *PyLong_FromLongLong(long long);
PyObject *PyLong_FromUnsignedLongLong(unsigned long long);
PyObject *PyBool_FromLong(long);
PyObject *PyFloat_FromDouble(double);
PyObject *PyComplex_FromDoubles(double, double);
int PySlice_Unpack(PyObject *, Py_ssize_t *, Py_ssize_t *, Py_ssize_t *);
PyObject *PyDict_New(void);
int PyDict_SetItem(PyObject *, PyObject *, PyObject *);
int PyCapsule_IsValid(PyObject *, const char *);
void *PyCapsule_GetPointer(PyObject *, const char *);
int PyCapsule_SetName(PyObject *, const char *);
PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *));
PyObject *PyVectorcall_Call(PyObject *, PyObject *, PyObject *);

// Outside the stable ABI.
PyObject *PyMethod_New(PyObject *, PyObject *);
PyObject *PyObject_VectorcallDict(PyObject *, PyObject *const *, size_t, PyObject *);

#endif
