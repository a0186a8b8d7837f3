#include "lapack.h"

#include "blas.h"

// After the addresses come the lengths of string arguments, which are single letters here. Routines
// ignore excess arguments.
typedef void (*routine)(void *, void *, void *, void *, void *, void *, void *, void *, void *,
                        void *, void *, void *, void *, void *, void *, void *, void *, void *,
                        void *, void *, void *, void *, void *, void *);

int lt_lapack_run(lt_lapack_call *c) {
  enum { kTexts = 4 };
  void *a[LT_LAPACK_ARGUMENTS + kTexts];
  for (int64_t i = 0; i < LT_LAPACK_ARGUMENTS + kTexts; i++) {
    if (i >= c->count)
      a[i] = (void *)1;
    else if (c->values >> i & 1)
      a[i] = &c->arguments[i];
    else
      a[i] = (void *)(uintptr_t)c->arguments[i];
  }
  if (!lt_blas_begin()) return 0;
  ((routine)c->routine)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
                        a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22],
                        a[23]);
  lt_blas_end();
  return 1;
}
