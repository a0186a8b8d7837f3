// DLPack out and in again: the same memory, alive for as long as either side holds it.
#include "check.h"

int main(void) {
  const int64_t sizes[] = {2, 3};
  for (int versioned = 0; versioned < 2; versioned++) {
    tensor_t *a = floats((float[]){1, 2, 3, 4, 5, 6}, sizes, 2), *b = NULL;
    void *managed = NULL;
    OK(tensor_to_dlpack(a, versioned, false, &managed));
    OK(tensor_from_dlpack(managed, versioned, &b));
    CHECK(data_of(a) == data_of(b) && tensor_sizes(b)[1] == 3 && tensor_strides(b)[0] == 3);
    OK(tensor_free(a));
    OK(tensor_mul_scalar_(b, tensor_int(2)));
    CHECK(data_of(b)[5] == 12);
    OK(tensor_free(b));
    CHECK(tensor_live_handles() == 0);
  }
  FAILS(tensor_from_dlpack(NULL, true, NULL), TENSOR_ERROR_VALUE,
        "from_dlpack: argument 'managed' is NULL");
  return 0;
}
