// Exchange with other libraries: numbers from outside are checked before they are used.
#ifndef LIBTENSOR_FOREIGN_H
#define LIBTENSOR_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "export.h"
#include "gen_names.h"

// tensor_lend for the function op, in whose name it fails.
static inline tensor_status lt_lend(const char *op, const tensor_t *self, tensor_t **held,
                                    void **data, bool *read_only) {
  static const char step[] = "lend";
  tensor_status status = tensor_lend(self, held, data, read_only);
  const char *text = status ? tensor_last_error() : "";
  if (!strncmp(text, step, sizeof step - 1)) {
    char message[256];
    snprintf(message, sizeof message, "%s%s", op, text + sizeof step - 1);
    lt_fail(0, message);
  }
  return status;
}

// Writes the name of a device to `to`: "cuda:0".
static inline const char *lt_show_device(tensor_device d, char to[32]) {
  static const char *const names[] = LT_DEVICES_BY_NUMBER;
  const char *name = (unsigned)d.type < LT_DEVICES ? names[d.type] : "unknown";
  snprintf(to, 32, d.index < 0 ? "%s" : "%s:%d", name, (int)d.index);
  return to;
}

// Computes base + after - before. Returns false if that byte, or one of the nbytes (at least one)
// from there on, is outside of the address space.
static inline bool lt_foreign_bytes(const void *base, uint64_t after, uint64_t before,
                                    uint64_t nbytes, void **out) {
  uint64_t begin, end;
  if (!base || __builtin_add_overflow((uint64_t)(uintptr_t)base, after, &begin) || before > begin)
    return false;
  begin -= before;
  if (__builtin_add_overflow(begin, nbytes, &end) || end > INTPTR_MAX) return false;
  *out = (void *)(uintptr_t)begin;
  return true;
}

// Whether elements of dtype do not begin at an address. Tensors have such elements only as a copy.
static inline bool lt_misaligned(tensor_dtype dtype, const void *data) {
  const bool has_parts =
      dtype == TENSOR_COMPLEX32 || dtype == TENSOR_COMPLEX64 || dtype == TENSOR_COMPLEX128;
  return (uintptr_t)data % (uintptr_t)(tensor_dtype_size(dtype) >> has_parts) != 0;
}

#endif
