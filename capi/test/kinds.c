// Tensor kinds that an operator does not support, as further operands and as outputs, are rejected,
// and nothing is written.
#include "check.h"

static const int64_t three[] = {3};

static tensor_t *quantized(tensor_dtype dtype) {
  tensor_t *t = floats((float[]){1, 2, 3}, three, 1), *q = NULL;
  OK(tensor_quantize_per_tensor(t, 0.1, 0, dtype, &q));
  OK(tensor_free(t));
  return q;
}

int main(void) {
  tensor_t *a = floats((float[]){1, 2, 3}, three, 1), *leaf = NULL, *q = quantized(TENSOR_QUINT8);
  tensor_t *meta = NULL, *sparse = NULL, *out = NULL;
  const tensor_device elsewhere = {TENSOR_META, -1};

  OK(tensor_clone(a, TENSOR_PRESERVE, &leaf));
  OK(tensor_set_requires_grad(leaf, true));
  FAILS(tensor_square_out(q, leaf), TENSOR_ERROR_NOT_IMPLEMENTED, "quantized");
  CHECK(data_of(leaf)[2] == 3);

  OK(tensor_to_options(q, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, elsewhere, false, false,
                       TENSOR_PRESERVE, &meta));
  FAILS(tensor_quantized_add(q, meta, 0.1, 0, &out), TENSOR_ERROR_RUNTIME, "cpu and meta");
  FAILS(tensor_quantized_add_relu(meta, q, 0.1, 0, &out), TENSOR_ERROR_RUNTIME, "meta and cpu");
  FAILS(tensor_quantized_matmul(q, meta, 0.1, 0, &out), TENSOR_ERROR_RUNTIME, "cpu and meta");

  OK(tensor_to_sparse(a, TENSOR_SPARSE_COO, NULL, 0, TENSOR_NONE, &sparse));
  FAILS(tensor_add(q, sparse, tensor_int(1), &out), TENSOR_ERROR_NOT_IMPLEMENTED, "sparse_coo");
  FAILS(tensor_sub(sparse, q, tensor_int(1), &out), TENSOR_ERROR_NOT_IMPLEMENTED, "dequantize");

  tensor_t *start = NULL, *one = NULL;
  OK(tensor_from_data((int64_t[]){1}, NULL, 0, TENSOR_INT64, &one));
  OK(tensor_to_sparse(one, TENSOR_SPARSE_COO, NULL, 0, TENSOR_NONE, &start));
  FAILS(tensor_narrow_tensor(a, 0, start, 1, &out), TENSOR_ERROR_RUNTIME, "to_dense");

  tensor_t *identity = NULL, *rank = quantized(TENSOR_QINT32);
  OK(tensor_eye(3, TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, tensor_device_default(), &identity));
  FAILS(tensor_linalg_matrix_rank_out(identity, NULL, NULL, false, rank),
        TENSOR_ERROR_NOT_IMPLEMENTED, "quantized");
  CHECK(tensor_dim(rank) == 1);

  tensor_t *number = NULL;  // a scalar that requires grad is a leaf like others
  OK(tensor_scalar_operand(tensor_float(2), &number));
  OK(tensor_set_requires_grad(number, true));
  FAILS(tensor_square_(number), TENSOR_ERROR_RUNTIME, "leaf");
  tensor_scalar item;
  OK(tensor_item(number, &item));
  CHECK(item.value.f.re == 2);

  tensor_t *all[] = {a, leaf, q, meta, sparse, start, one, identity, rank, number};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) OK(tensor_free(all[i]));
  CHECK(tensor_live_handles() == 0);
  return 0;
}
