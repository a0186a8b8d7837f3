// A transform of the calling thread: tensors in it stand for one of many examples, each call is
// made once for all, and what is left of it is refused.
#include "check.h"

static const int64_t SIZES[] = {2, 3};

static void maps(void) {
  tensor_t *x = floats((float[]){1, 2, 3, 4, 5, 6}, SIZES, 2);
  tensor_t *one = NULL, *sum = NULL, *all = NULL, *row = NULL, *spread = NULL;
  int64_t level = 0;
  bool mapped = false;
  OK(tensor_vmap_begin(2, "error", &level));
  OK(tensor_vmap_wrap(x, 0, level, &one));
  CHECK(tensor_dim(one) == 1 && tensor_numel(one) == 3);
  OK(tensor_vmap_maps(one, level, &mapped));
  CHECK(mapped);
  OK(tensor_vmap_maps(x, level, &mapped));
  CHECK(!mapped);
  OK(tensor_sum(one, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  CHECK(tensor_dim(sum) == 0);
  OK(tensor_vmap_unwrap(sum, 0, level, &all));
  CHECK(tensor_numel(all) == 2 && data_of(all)[0] == 6 && data_of(all)[1] == 15);

  // What is the same for all is refused as what an example is written to.
  row = floats((float[]){1, 1, 1}, SIZES + 1, 1);
  FAILS(tensor_add_(row, one, tensor_int(1)), TENSOR_ERROR_RUNTIME, "the same for all examples");
  OK(tensor_vmap_spread(row, &spread));
  OK(tensor_vmap_maps(spread, level, &mapped));
  CHECK(mapped && tensor_dim(spread) == 1);

  OK(tensor_vmap_end(level));
  OK(tensor_free(sum));
  sum = NULL;
  FAILS(tensor_sum(one, NULL, 0, false, TENSOR_DTYPE_NONE, &sum), TENSOR_ERROR_RUNTIME, "escaped");
  FAILS(tensor_vmap_end(level), TENSOR_ERROR_RUNTIME, "no vmap with the number");
  CHECK(tensor_vmap_wrap(x, 0, level, &sum) != TENSOR_OK);
  CHECK(tensor_vmap_begin(-1, "error", &level) != TENSOR_OK &&
        tensor_vmap_begin(2, "some", &level) != TENSOR_OK);
  tensor_t *const made[] = {x, one, all, row, spread};
  for (int i = 0; i < 5; i++) OK(tensor_free(made[i]));
}

int main(void) {
  maps();
  CHECK(tensor_live_handles() == 0);
  return 0;
}
