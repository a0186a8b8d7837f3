// cuSOLVER, which is opened when a matrix is first factored.
#ifndef LIBTENSOR_CUDA_CUSOLVER_LIBRARY_H
#define LIBTENSOR_CUDA_CUSOLVER_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LT_HIDDEN __attribute__((visibility("hidden")))

// The functions. Those before LT_GETRS have a workspace.
enum {
  LT_GETRF,
  LT_POTRF,
  LT_GEQRF,
  LT_ORGQR,
  LT_ORMQR,
  LT_SYEVD,
  LT_GESVD,
  LT_SYTRF,
  LT_GETRS,
  LT_SYTRS,
  LT_GEEV,
};
// Codes of cuSOLVER.
enum { LT_CUSOLVER_ALLOC_FAILED = 2 };

// A call for one matrix, in column-major order: a of m by n, b of b_rows by b_columns. `values` are
// the scales of reflections, of which there are k, eigenvalues or singular values, u and v vectors.
// kind is the dtype: float32, float64, complex64 or complex128.
typedef struct {
  int function, kind;
  bool upper, right, adjoint, vectors, whole;
  int64_t m, n, k, b_rows, b_columns;
  uint64_t a, b, values, u, v, pivots, info;
} lt_cusolver_call;

// The sizes of workspaces in bytes, on the device and on the host.
typedef struct {
  size_t device, host;
} lt_cusolver_room;

// The symbols that a library must have, and the slots for their addresses, in the same order: the
// first table is of all versions, the second of those with general eigenvalues.
enum { LT_CUSOLVER_NAMES = 73, LT_CUSOLVER_EIGEN_NAMES = 4 };
LT_HIDDEN extern const char *const lt_cusolver_names[LT_CUSOLVER_NAMES];
LT_HIDDEN extern void *const lt_cusolver_slots;
LT_HIDDEN extern const char *const lt_cusolver_eigen_names[LT_CUSOLVER_EIGEN_NAMES];
LT_HIDDEN extern void *const lt_cusolver_eigen_slots;

// These return a status of cuSOLVER, and if it is not 0 the function that failed. They need the
// context of the device.
LT_HIDDEN int lt_cusolver_create(void **handle, const char **function);
LT_HIDDEN int lt_cusolver_measure(void *handle, const lt_cusolver_call *c, lt_cusolver_room *room,
                                  const char **function);
LT_HIDDEN int lt_cusolver_run(void *handle, uintptr_t stream, const lt_cusolver_call *c,
                              uint64_t device_room, void *host_room, const lt_cusolver_room *room,
                              const char **function);

#endif
