// A sparse matrix of entries, its compressed form, and its product with a vector.
// cc sparse.c -ltensor
#include <stdio.h>
#include <tensor.h>

int main(void) {
  // Rows and columns of the entries; the two at (0, 1) are added up.
  const int64_t places[] = {0, 0, 1, 2, 1, 1, 0, 2};
  const float numbers[] = {1, 2, 3, 4}, ones[] = {1, 1, 1};
  const int64_t sizes[] = {3, 3};
  tensor_t *indices = NULL, *values = NULL, *entries = NULL, *rows = NULL, *vector = NULL,
           *product = NULL;
  int64_t count = 0;
  const bool done =
      tensor_from_data(places, (int64_t[]){2, 4}, 2, TENSOR_INT64, &indices) == TENSOR_OK &&
      tensor_from_data(numbers, (int64_t[]){4}, 1, TENSOR_FLOAT32, &values) == TENSOR_OK &&
      tensor_sparse_coo_tensor(indices, values, sizes, 2, TENSOR_DTYPE_NONE,
                               tensor_device_default(), -1, &entries) == TENSOR_OK &&
      tensor_to_sparse_csr(entries, TENSOR_NONE, &rows) == TENSOR_OK &&
      tensor_nnz(rows, &count) == TENSOR_OK &&
      tensor_from_data(ones, (int64_t[]){3}, 1, TENSOR_FLOAT32, &vector) == TENSOR_OK &&
      tensor_mv(rows, vector, &product) == TENSOR_OK && tensor_print(product, stdout) == TENSOR_OK;
  printf("%lld entries in compressed rows\n", (long long)count);
  if (!done) fprintf(stderr, "%s\n", tensor_last_error());
  tensor_free(indices), tensor_free(values), tensor_free(entries);
  tensor_free(rows), tensor_free(vector), tensor_free(product);
  return !done;
}

// Prints:
// tensor([3., 3., 4.])
// 3 entries in compressed rows
