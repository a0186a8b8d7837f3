// OpenBLAS, opened when the library is running rather than linked.
#ifndef LIBTENSOR_BLAS_H
#define LIBTENSOR_BLAS_H

#include <stddef.h>
#include <stdint.h>

// c = alpha * a b + beta * c for row-major matrices; a is m by k, b is k by n. For gemv, b and c
// are vectors and ldb and ldc their steps.
typedef struct {
  uintptr_t a, b, c;
  int64_t m, n, k, lda, ldb, ldc;
  double alpha[2], beta[2];
  int32_t type;  // 0 float32, 1 float64, 2 complex64, 3 complex128
  uint8_t a_transposed, b_transposed;
  uint8_t a_conjugated, b_conjugated;  // of complex matrices that are stored transposed
} lt_blas_product;

// The symbols that a library must have, and the slots for their addresses, in the same order.
enum { LT_BLAS_NAMES = 12 };
extern const char *const lt_blas_names[LT_BLAS_NAMES];
extern void *const lt_blas_slots;

// lt_blas_open prepares the process so that OpenBLAS starts no threads, each of which would need 32
// MiB of address space and end the process on failure. It returns 0 if memory for that is missing.
// lt_blas_opened reverts this.
int lt_blas_open(void);
void lt_blas_opened(void);
// How large the integers of the library are that was opened.
int lt_blas_integer_bytes(void);
// They return 0 if there is no memory for OpenBLAS's internal buffers.
int lt_blas_gemm(const lt_blas_product *p);
int lt_blas_gemv(const lt_blas_product *p);

// Whatever calls OpenBLAS begins, which may fail as above, and ends.
int lt_blas_begin(void);
void lt_blas_end(void);

#endif
