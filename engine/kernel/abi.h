// The interface of Go and the kernels. Every CPU tier compiles the same templates and exports one
// lt_tier.
#ifndef LIBTENSOR_KERNEL_ABI_H
#define LIBTENSOR_KERNEL_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LT_OPERANDS = 8, LT_DIMS = 64, LT_DTYPES = 17 };

// Computes n elements: data holds one pointer per operand (outputs first), strides one step in
// bytes per operand.
typedef void (*lt_row)(char *const *data, const int64_t *strides, int64_t n, const void *params);

// A kernel by name, with one function per dtype, NULL for unsupported ones. Elementwise kernels
// hold lt_row functions; their signature names the operand dtypes, outputs before '>' or '=': T the
// row's dtype, R its real counterpart, C its complex counterpart, b bool, i int32, l int64, X the
// row's dtype at positions that the row itself chooses, so that the operand cannot be staged in a
// buffer. '>' promises that the row writes every element of its outputs, each at its own position,
// and reads none of them, so that an output can be staged; '=' promises nothing. Kernels of
// signature "reduce" hold reducers, which the kernel "reduce" runs over an lt_reduction, those of
// signature "scan" functions of an lt_scan. All other kernels hold functions of one pointer to a
// specific argument structure.
typedef struct {
  const char *name;
  const char *signature;
  void *rows[LT_DTYPES];
} lt_kernel;

// The arguments of an elementwise kernel over strided operands. Dimension 0 is the innermost. An
// operand with another dtype than the row computes in is converted block by block. `stream`
// requests stores that bypass the caches, for outputs larger than these. Bit k of `fixed`: operand
// k must be passed in place (no staging buffer).
typedef struct {
  uintptr_t row;
  int32_t operands, outputs, ndim;
  uint8_t memory[LT_OPERANDS], compute[LT_OPERANDS], stream, fixed;
  uintptr_t data[LT_OPERANDS];
  int64_t sizes[LT_DIMS];
  int64_t strides[LT_OPERANDS][LT_DIMS];  // bytes
  uint8_t params[64];
} lt_loop;

#ifdef __cplusplus
}
#endif
#endif
