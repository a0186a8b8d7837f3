// What Go and the kernels agree on. Every CPU tier compiles the same templates and offers one
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

// A kernel by name, with one function per dtype, NULL where the dtype has none. Elementwise kernels
// hold lt_row functions; their signature names the operand dtypes, outputs before '>' or '=': T the
// row's dtype, R its real counterpart, C its complex counterpart, b bool, i int32, l int64, X the
// row's dtype at places that the row itself chooses, so that no block may stand in for the operand.
// '>' promises that the row writes every element of its outputs, each at its own position, and
// reads none of them, so that a block may stand in for an output; '=' promises nothing. Kernels of
// signature "reduce" hold reducers, which the kernel "reduce" runs over an lt_reduction, those of
// signature "scan" functions of an lt_scan. All other kernels hold functions of one pointer to an
// argument structure of their own.
typedef struct {
  const char *name;
  const char *signature;
  void *rows[LT_DTYPES];
} lt_kernel;

// One run of an elementwise kernel over strided operands. Dimension 0 is the innermost. An operand
// whose memory dtype differs from the dtype that the row computes in is converted block by block on
// its way in or out. `stream` asks for stores that pass the caches by, for outputs larger than
// them; bit k of `fixed` is set where operand k must be handed to the row where it lies.
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
