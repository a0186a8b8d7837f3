// ATen's operators of linear algebra that are composed of others.
#include <stddef.h>

#include "composites.h"

// Fails for a matrix whose factorization has failed: `info` is the index of a zero pivot.
tensor_status lt_compute__linalg_check_errors(lt_value *a, lt_value *r) {
  (void)r;
  lt_temporaries t = {0};
  tensor_t *any = NULL;
  bool failed = false;
  RUN(&t, any, tensor_any(a[0].pointer, NULL, 0, false, &any));
  DO(&t, tensor_is_nonzero(any, &failed));
  const tensor_status status = lt_finish(&t, r);
  if (status || !failed) return status;
  return lt_reject(TENSOR_ERROR_LINALG,
                   "%s: the factorization of %s failed: it is singular or not positive-definite",
                   a[1].text, a[2].i ? "the matrix" : "a matrix of the batch");
}

// Adds the factors of a square matrix as results: LU, pivots, and info if `has_info`.
static void factor_matrix(lt_temporaries *t, const tensor_t *matrix, bool has_info, lt_value *r) {
  tensor_t *LU = NULL, *pivots = NULL, *info = NULL;
  RUN(t, LU, tensor_linalg_lu_factor_ex(matrix, true, false, &LU, &pivots, &info));
  if (t->status) return;
  lt_hold(t, pivots), lt_hold(t, info);
  lt_return(t, LU, r);
  lt_return(t, pivots, r + 1);
  if (has_info) lt_return(t, info, r + 2);
}

tensor_status lt_compute__linalg_det(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *made = NULL;
  RUN(&t, made, tensor_linalg_det(a[0].pointer, &made));
  lt_return(&t, made, r);
  factor_matrix(&t, a[0].pointer, false, r + 1);
  return lt_finish(&t, r);
}

tensor_status lt_compute__linalg_slogdet(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *sign = NULL, *logarithm = NULL;
  RUN(&t, sign, tensor_linalg_slogdet(a[0].pointer, &sign, &logarithm));
  if (!t.status) lt_hold(&t, logarithm);
  lt_return(&t, sign, r);
  lt_return(&t, logarithm, r + 1);
  factor_matrix(&t, a[0].pointer, false, r + 2);
  return lt_finish(&t, r);
}

// A, B, left, check_errors
tensor_status lt_compute__linalg_solve_ex(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *made = NULL, *info = NULL;
  RUN(&t, made,
      tensor_linalg_solve_ex(a[0].pointer, a[1].pointer, a[2].i != 0, a[3].i != 0, &made, &info));
  if (!t.status) lt_hold(&t, info);
  lt_return(&t, made, r);
  factor_matrix(&t, a[0].pointer, true, r + 1);
  return lt_finish(&t, r);
}
