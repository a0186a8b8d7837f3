// Calls of routines of LAPACK, which lt_blas_find finds.
#ifndef LIBTENSOR_LAPACK_H
#define LIBTENSOR_LAPACK_H

#include <stdint.h>

enum { LT_LAPACK_ARGUMENTS = 20 };

// A call: Fortran takes the addresses of all arguments. An argument is an address, or, where its
// bit in values is set, a value of which the address is given, and which the routine may change.
typedef struct {
  uintptr_t routine;
  uint64_t values;
  int64_t count;
  uint64_t arguments[LT_LAPACK_ARGUMENTS];
} lt_lapack_call;

// Returns 0 if there is no memory for OpenBLAS's internal buffers.
int lt_lapack_run(lt_lapack_call *c);

#endif
