// Sparse tensors from C: parts are checked, conversions keep elements, nothing stays in use.
#include "check.h"

static tensor_t *integers(const int64_t *values, const int64_t *sizes, int64_t dims) {
  tensor_t *t = NULL;
  OK(tensor_from_data(values, sizes, dims, TENSOR_INT64, &t));
  return t;
}

static int64_t in_use(void) {
  int64_t used, other[5];
  OK(tensor_memory_stats(&used, other, other + 1, other + 2, other + 3, other + 4));
  return used;
}

static void coordinates(void) {
  tensor_t *at = integers((const int64_t[]){0, 1, 0, 2, 0, 2}, (const int64_t[]){2, 3}, 2);
  tensor_t *values = floats((const float[]){3, 4, 5}, (const int64_t[]){3}, 1);
  tensor_t *s = NULL, *t = NULL, *dense = NULL, *none = NULL;
  OK(tensor_sparse_coo_tensor(at, values, (const int64_t[]){2, 3}, 2, TENSOR_DTYPE_NONE,
                              tensor_device_default(), -1, &s));
  CHECK(tensor_get_layout(s) == TENSOR_SPARSE_COO);
  int64_t entries = 0;
  bool coalesced = true;
  OK(tensor_nnz(s, &entries));
  OK(tensor_is_coalesced(s, &coalesced));
  CHECK(entries == 3 && !coalesced);
  OK(tensor_coalesce(s, &t));
  OK(tensor_nnz(t, &entries));
  CHECK(entries == 2);
  OK(tensor_to_dense(s, TENSOR_DTYPE_NONE, -1, &dense));
  CHECK(data_of(dense)[2] == 8 && data_of(dense)[3] == 4 && data_of(dense)[0] == 0);
  FAILS(tensor_sparse_coo_tensor(at, values, (const int64_t[]){2, 2}, 2, TENSOR_DTYPE_NONE,
                                 tensor_device_default(), -1, &none),
        TENSOR_ERROR_RUNTIME, "size is 2 but found index 2");
  FAILS(tensor_indices(s, &none), TENSOR_ERROR_RUNTIME, "uncoalesced");
  FAILS(tensor_exp(s, &none), TENSOR_ERROR_NOT_IMPLEMENTED,
        "exp is not implemented for sparse_coo tensors; convert with to_dense()");
  CHECK(none == NULL);
  tensor_free(at), tensor_free(values), tensor_free(s), tensor_free(t), tensor_free(dense);
}

static void compressed(void) {
  tensor_t *rows = integers((const int64_t[]){0, 1, 3}, (const int64_t[]){3}, 1);
  tensor_t *columns = integers((const int64_t[]){1, 0, 2}, (const int64_t[]){3}, 1);
  tensor_t *values = floats((const float[]){1, 2, 3}, (const int64_t[]){3}, 1);
  tensor_t *vector = floats((const float[]){1, 10, 100}, (const int64_t[]){3}, 1);
  tensor_t *s = NULL, *product = NULL, *none = NULL;
  OK(tensor_sparse_compressed_tensor(rows, columns, values, (const int64_t[]){2, 3}, 2,
                                     TENSOR_DTYPE_NONE, TENSOR_SPARSE_CSR, tensor_device_default(),
                                     &s));
  OK(tensor_mv(s, vector, &product));
  CHECK(data_of(product)[0] == 10 && data_of(product)[1] == 302);
  FAILS(tensor_sparse_compressed_tensor(rows, columns, values, (const int64_t[]){2, 2}, 2,
                                        TENSOR_DTYPE_NONE, TENSOR_SPARSE_CSR,
                                        tensor_device_default(), &none),
        TENSOR_ERROR_RUNTIME, "col_indices must be less than 2, but got 2");
  void *data = &data;
  FAILS(tensor_data_ptr(s, &data), TENSOR_ERROR_NOT_IMPLEMENTED,
        "data_ptr is not implemented for sparse_csr tensors");
  tensor_free(rows), tensor_free(columns), tensor_free(values), tensor_free(vector), tensor_free(s),
      tensor_free(product);
}

static void gradients(void) {
  tensor_t *at = integers((const int64_t[]){2, 0, 2}, (const int64_t[]){3}, 1);
  tensor_t *weight = floats((const float[]){1, 2, 3, 4, 5, 6}, (const int64_t[]){3, 2}, 2);
  tensor_t *grad = NULL, *again = NULL, *dense = NULL;
  OK(tensor_set_requires_grad(weight, true));
  for (int pass = 0; pass < 2; pass++) {
    tensor_t *picked = NULL, *sum = NULL;
    OK(tensor_nn_embedding(at, weight, TENSOR_NONE, NULL, 2, false, true, &picked));
    OK(tensor_sum(picked, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
    OK(tensor_backward((const tensor_t *[]){sum}, 1, NULL, 0, -1, false, NULL, 0));
    if (pass == 0) {
      OK(tensor_grad(weight, &grad));
    }
    tensor_free(picked), tensor_free(sum);
  }
  OK(tensor_grad(weight, &again));
  int64_t entries = 0;
  CHECK(tensor_get_layout(again) == TENSOR_SPARSE_COO);
  OK(tensor_nnz(again, &entries));
  CHECK(entries == 6);
  OK(tensor_to_dense(grad, TENSOR_DTYPE_NONE, -1, &dense));  // added in place
  CHECK(data_of(dense)[0] == 2 && data_of(dense)[2] == 0 && data_of(dense)[5] == 4);
  OK(tensor_zero_(again));
  OK(tensor_nnz(grad, &entries));
  CHECK(entries == 0);
  tensor_free(at), tensor_free(weight), tensor_free(grad), tensor_free(again), tensor_free(dense);
}

int main(void) {
  coordinates(), compressed(), gradients();
  const int64_t before = in_use();
  coordinates(), compressed(), gradients();
  CHECK(in_use() == before);
  return 0;
}
