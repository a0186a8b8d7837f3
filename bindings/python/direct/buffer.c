// Python's buffer protocol, through which memoryview(t) and other consumers access the memory of a
// tensor. The slots of the class also serve Python before 3.12, which does not support __buffer__.
#include "direct.h"

// How the struct module writes the dtypes, integers of 64 bits with the letters of NumPy's own,
// and NumPy complex numbers. The other dtypes have no letter.
_Static_assert(sizeof(long) == 8, "l stands for int64_t");
static const char *const formats[MOST_DTYPES] = {
    [TENSOR_BOOL] = "?",       [TENSOR_UINT8] = "B",       [TENSOR_INT8] = "b",
    [TENSOR_INT16] = "h",      [TENSOR_INT32] = "i",       [TENSOR_INT64] = "l",
    [TENSOR_FLOAT16] = "e",    [TENSOR_FLOAT32] = "f",     [TENSOR_FLOAT64] = "d",
    [TENSOR_UINT16] = "H",     [TENSOR_UINT32] = "I",      [TENSOR_UINT64] = "L",
    [TENSOR_COMPLEX64] = "Zf", [TENSOR_COMPLEX128] = "Zd",
};

// Where the elements of empty tensors are: NumPy takes no array that has them nowhere.
static _Alignas(16) char nowhere[16];

// The data of an exported buffer in addition to the tensor's memory: the owner that keeps the
// memory at its address, even if the tensor changes, and the sizes and strides, one after the
// other.
typedef struct {
  void *held;
  Py_ssize_t numbers[];
} extent;

// Returns whether the first dimension has the smallest stride, and there are no gaps.
static bool is_fortran(const int64_t *sizes, const int64_t *strides, int64_t n) {
  int64_t step = 1;
  for (int64_t d = 0; d < n; step *= sizes[d++])
    if (sizes[d] != 1 && strides[d] != step) return false;
  return true;
}

// Returns whether the memory holds elements that consumers can read, of a tensor that does not
// require grad.
static bool is_plain(const void *handle) {
  bool wanted;
  int64_t dtype = handle ? (int64_t)library.dtype(handle) : -1;
  if (dtype < 0 || dtype >= MOST_DTYPES || !formats[dtype]) return false;
  if (library.layout(handle) != TENSOR_STRIDED || library.device(handle).type != TENSOR_CPU)
    return false;
  return !library.requires_grad(handle, &wanted) && !wanted;
}

// Returns whether the memory and strides of a tensor satisfy a consumer's `flags`.
static bool serves(const void *handle, int flags) {
  if (!is_plain(handle)) return false;
  bool rows = is_contiguous(handle) || !library.numel(handle);
  bool columns = is_fortran(library.sizes(handle), library.strides(handle), library.dim(handle));
  if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS) return rows;
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS) return columns;
  if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS) return rows || columns;
  return rows || (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
}

// Calls a method that returns None, with an argument or NULL. Returns whether it raised no
// exception.
static bool call_method(PyObject *self, const char *name, PyObject *argument) {
  PyObject *method = PyObject_GetAttrString(self, name);
  PyObject *none =
      method ? PyObject_VectorcallDict(method, &argument, argument != NULL, NULL) : NULL;
  if (method) Py_DecRef(method);
  if (none) Py_DecRef(none);
  return none != NULL;
}

// The exception for a tensor that lends no such buffer, which a method finds the words for.
static int no_buffer(PyObject *self, int flags) {
  PyObject *asked = PyLong_FromLong(flags);
  if (asked) call_method(self, "_no_buffer", asked), Py_DecRef(asked);
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_BufferError, "the tensor cannot be exported as a buffer");
  return -1;
}

int give_buffer(PyObject *self, Py_buffer *view, int flags) {
  const void *handle = (const void *)((tensor *)self)->handle;
  void *held, *data;
  bool read_only;
  view->obj = NULL;
  if (interceptors && !call_method(self, "_note_read", NULL)) return -1;
  if (!serves(handle, flags) || library.lend(handle, &held, &data, &read_only))
    return no_buffer(self, flags);
  // A call of another thread may have given the tensor another geometry since.
  bool fits = serves(held, flags) && !(read_only && flags & PyBUF_WRITABLE);
  int64_t n = library.dim(held), item = library.dtype_size(library.dtype(held));
  const int64_t *sizes = library.sizes(held), *strides = library.strides(held);
  extent *e = fits ? malloc(sizeof *e + 2 * (size_t)n * sizeof(Py_ssize_t)) : NULL;
  if (!e) {
    free_handle(held);
    return no_buffer(self, flags);
  }
  e->held = held;
  for (int64_t d = 0; d < n; d++) e->numbers[d] = sizes[d], e->numbers[n + d] = strides[d] * item;
  Py_IncRef(self);
  *view = (Py_buffer){
      .buf = data ? data : nowhere,
      .obj = self,
      .len = library.numel(held) * item,
      .itemsize = item,
      .readonly = read_only,
      .ndim = flags & PyBUF_ND ? (int)n : 1,  // of bytes, one after the other
      .format = flags & PyBUF_FORMAT ? (char *)formats[library.dtype(held)] : NULL,
      .shape = n && flags & PyBUF_ND ? e->numbers : NULL,
      .strides = n && (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->numbers + n : NULL,
      .internal = e,
  };
  return 0;
}

void take_buffer_back(PyObject *self, Py_buffer *view) {
  (void)self;
  free_handle(((extent *)view->internal)->held);
  free(view->internal);
}
