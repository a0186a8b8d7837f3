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

// Adds empty results for factors that are not computed.
static void return_empty(lt_temporaries *t, const tensor_t *like, lt_value *r) {
  const int64_t none = 0;
  tensor_t *made = NULL;
  RUN(t, made,
      tensor_new_empty(like, &none, 1, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE,
                       tensor_device_default(), &made));
  lt_return(t, made, r);
}

// A, full_matrices, compute_uv, driver
tensor_status lt_compute__linalg_svd(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *U = NULL, *S = NULL, *Vh = NULL;
  if (!a[2].i) {
    RUN(&t, S, tensor_linalg_svdvals(a[0].pointer, a[3].text, &S));
    lt_return(&t, S, r + 1);
    return_empty(&t, a[0].pointer, r), return_empty(&t, a[0].pointer, r + 2);
    return lt_finish(&t, r);
  }
  RUN(&t, U, tensor_linalg_svd(a[0].pointer, a[1].i != 0, a[3].text, &U, &S, &Vh));
  if (!t.status) lt_hold(&t, S), lt_hold(&t, Vh);
  lt_return(&t, U, r);
  lt_return(&t, S, r + 1);
  lt_return(&t, Vh, r + 2);
  return lt_finish(&t, r);
}

// A, UPLO, compute_v
tensor_status lt_compute__linalg_eigh(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *values = NULL, *vectors = NULL;
  if (a[2].i) {
    RUN(&t, values, tensor_linalg_eigh(a[0].pointer, a[1].text, &values, &vectors));
    if (!t.status) lt_hold(&t, vectors);
    lt_return(&t, vectors, r + 1);
  } else {
    RUN(&t, values, tensor_linalg_eigvalsh(a[0].pointer, a[1].text, &values));
    return_empty(&t, a[0].pointer, r + 1);
  }
  lt_return(&t, values, r);
  return lt_finish(&t, r);
}

// The product of i1, i2 and i3, of which each gets dimensions of size 1 at expand1, expand2 and
// expand3, summed over sumdim. unroll_dim only affects the
// order of PyTorch's loops and is ignored.
tensor_status lt_compute__trilinear(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *operands[3] = {a[0].pointer, a[1].pointer, a[2].pointer}, *made = NULL;
  for (int i = 0; i < 3; i++) {
    const int64_t *dims = a[3 + i].list.data;
    for (int64_t k = 0; k < a[3 + i].list.length; k++) {
      tensor_t *next = NULL;
      DO(&t, tensor_unsqueeze(operands[i], dims[k], &next));
      if (t.status) break;
      if (k) tensor_free(operands[i]);
      operands[i] = next;
    }
    if (operands[i] != a[i].pointer) lt_hold(&t, operands[i]);
  }
  RUN(&t, made, tensor_mul(operands[0], operands[1], &made));
  RUN(&t, made, tensor_mul(made, operands[2], &made));
  if (a[6].list.length)
    RUN(&t, made,
        tensor_sum(made, a[6].list.data, a[6].list.length, false, TENSOR_DTYPE_NONE, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}
