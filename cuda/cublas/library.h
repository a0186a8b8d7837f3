// cuBLAS, which is opened when a product is first computed: this library does not need it.
#ifndef LIBTENSOR_CUDA_CUBLAS_LIBRARY_H
#define LIBTENSOR_CUDA_CUBLAS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LT_HIDDEN __attribute__((visibility("hidden")))

// Codes of cuBLAS, and of CUDA for types.
enum { LT_CUBLAS_ALLOC_FAILED = 3, LT_CUBLAS_ARCH_MISMATCH = 8, LT_CUBLAS_NOT_SUPPORTED = 15 };
enum { LT_CUDA_R_32F = 0, LT_CUDA_R_64F = 1, LT_CUDA_R_16F = 2, LT_CUDA_C_32F = 4 };
enum { LT_CUDA_C_64F = 5, LT_CUDA_R_16BF = 14 };
enum { LT_COMPUTE_32F = 68, LT_COMPUTE_64F = 70, LT_COMPUTE_32F_FAST_TF32 = 77 };

// c = alpha*a*b + beta*c for matrices of m by k and k by n, column-major, or row-major if they are
// turned. Steps are the strides between the matrices of a batch, in elements.
typedef struct {
  int type, compute;
  bool a_turned, b_turned;
  int64_t m, n, k, batch;
  uint64_t a, b, c;
  int64_t lda, ldb, ldc, a_step, b_step, c_step;
  char alpha[16], beta[16];
} lt_cublas_product;

// Solves a x = b, or x a = b if right is set, for a triangle a, and writes x, of m by n, to b. kind
// is the dtype: float32, float64, complex64 or complex128.
typedef struct {
  int kind;
  bool right, upper, adjoint, unit;
  int64_t m, n;
  uint64_t a, b;
} lt_cublas_triangle;

// The symbols that a library must have, and the slots for their addresses, in the same order.
enum { LT_CUBLAS_NAMES = 13 };
LT_HIDDEN extern const char *const lt_cublas_names[LT_CUBLAS_NAMES];
LT_HIDDEN extern void *const lt_cublas_slots;
// These return a status of cuBLAS, and if it is not 0 the function that failed. They need the
// context of the device.
LT_HIDDEN int lt_cublas_create(void **handle, const char **function);
LT_HIDDEN int lt_cublas_multiply(void *handle, uintptr_t stream, uint64_t workspace, size_t size,
                                 const lt_cublas_product *p, const char **function);
LT_HIDDEN int lt_cublas_solve(void *handle, uintptr_t stream, uint64_t workspace, size_t size,
                              const lt_cublas_triangle *t, const char **function);
// The name and the text that cuBLAS has for a status.
LT_HIDDEN const char *lt_cublas_name(int status);
LT_HIDDEN const char *lt_cublas_text(int status);

#endif
