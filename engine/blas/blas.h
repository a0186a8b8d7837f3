// OpenBLAS, opened when the library is running rather than linked.
#ifndef LIBTENSOR_BLAS_H
#define LIBTENSOR_BLAS_H

#include <stdint.h>

// c = alpha * a b + beta * c for row-major matrices; a is m by k, b is k by n. For gemv, b and c
// are vectors and ldb and ldc their steps.
typedef struct {
  uintptr_t a, b, c;
  int64_t m, n, k, lda, ldb, ldc;
  double alpha[2], beta[2];
  int32_t type;  // 0 float32, 1 float64, 2 complex64, 3 complex128
  uint8_t a_transposed, b_transposed;
} lt_blas_product;

// Opens a library with BLAS and LAPACK; 0 where it is not one of OpenBLAS's that has both, and why.
int lt_blas_open(const char *path, char *why, int64_t size);
// A function of the library that was opened, as it is called without what a build adds to its
// names: cblas_sgemm, dgetrf_. NULL for none.
void *lt_blas_find(const char *name);
int lt_blas_integer_bytes(void);
// Writes the folder of the shared object that this function is in.
int lt_blas_directory(char *path, int64_t size);
// They return 0 where there is no memory for what OpenBLAS takes for itself.
int lt_blas_gemm(const lt_blas_product *p);
int lt_blas_gemv(const lt_blas_product *p);

// Whatever calls OpenBLAS begins, which may fail as above, and ends.
int lt_blas_begin(void);
void lt_blas_end(void);

#endif
