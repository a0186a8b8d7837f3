// Handles that are NULL, freed, recycled, invalid or of another type are errors, never crashes.
#include "check.h"

int main(void) {
  const int64_t one[] = {1};
  tensor_t *a = floats((float[]){1}, one, 1), *out = NULL;
  tensor_storage_t *storage = NULL;
  OK(tensor_untyped_storage(a, &storage));

  FAILS(tensor_mul(a, NULL, &out), TENSOR_ERROR_HANDLE, "argument 'other' is NULL");
  FAILS(tensor_mul((tensor_t *)storage, a, &out), TENSOR_ERROR_HANDLE,
        "argument 'self' is a storage; a tensor is required");
  FAILS(tensor_storage_free((tensor_storage_t *)a), TENSOR_ERROR_HANDLE,
        "is a tensor; a storage is required");
  int64_t stack[64] = {0};
  FAILS(tensor_mul(a, (tensor_t *)stack, &out), TENSOR_ERROR_HANDLE,
        "never came from this library");
  FAILS(tensor_mul(a, (tensor_t *)0x1234567890, &out), TENSOR_ERROR_HANDLE,
        "never came from this library");
  FAILS(tensor_mul(a, (tensor_t *)((char *)a + 4), &out), TENSOR_ERROR_HANDLE, "not a live tensor");
  FAILS(tensor_mul(a, (tensor_t *)((char *)a + 8), &out), TENSOR_ERROR_HANDLE, "not a live tensor");
  CHECK(tensor_dim(NULL) == -1 && tensor_sizes((tensor_t *)stack) == NULL);
  CHECK(tensor_get_dtype((tensor_t *)storage) == TENSOR_DTYPE_NONE);

  // Results without a place, of every kind of result.
  tensor_t **list = NULL;
  char **names = NULL;
  int64_t length = 0;
  FAILS(tensor_neg(a, NULL), TENSOR_ERROR_VALUE, "neg: argument 'out' is NULL");
  FAILS(tensor_max_dim(a, 0, false, NULL, NULL), TENSOR_ERROR_VALUE,
        "max.dim: argument 'values' is NULL");
  FAILS(tensor_max_dim(a, 0, false, &out, NULL), TENSOR_ERROR_VALUE, "argument 'indices' is NULL");
  FAILS(tensor_is_conj(a, NULL), TENSOR_ERROR_VALUE, "is_conj: argument 'out' is NULL");
  FAILS(tensor_split(a, 1, 0, &list, NULL), TENSOR_ERROR_VALUE, "argument 'out_len' is NULL");
  FAILS(tensor_load_dict("", NULL, false, &names, NULL, &list, &length), TENSOR_ERROR_VALUE,
        "load_dict: argument 'names_len' is NULL");
  FAILS(tensor_load_dict("", NULL, false, &names, &length, &list, NULL), TENSOR_ERROR_VALUE,
        "load_dict: argument 'tensors_len' is NULL");
  CHECK(!out && !list && !names && !length);

  // Lengths that no list has, of every kind of list.
  const int64_t lengths[] = {INT64_MAX, INT64_MAX / 8, (int64_t)1 << 40, (int64_t)INT32_MAX + 1,
                             -1};
  for (int i = 0; i < 5; i++) {
    const int64_t n = lengths[i];
    char says[80];
    snprintf(says, sizeof says, "of length %lld", (long long)n);
    FAILS(tensor_fft_fftn(a, one, n, NULL, 0, NULL, &out), TENSOR_ERROR_VALUE, says);
    FAILS(tensor_fft_fftn(a, one, n, NULL, 0, NULL, &out), TENSOR_ERROR_VALUE, "argument 's'");
    FAILS(tensor_cat((const tensor_t *const *)&a, n, 0, &out), TENSOR_ERROR_HANDLE, says);
    FAILS(tensor_rename(a, (const char *const[]){"x"}, n, &out), TENSOR_ERROR_VALUE, says);
    FAILS(tensor_index_get(a, &(tensor_index){0}, n, &out), TENSOR_ERROR_HANDLE, says);
  }

  tensor_t *stale = a;
  OK(tensor_free(a));
  FAILS(tensor_free(stale), TENSOR_ERROR_HANDLE, "free: argument 'self' (");
  FAILS(tensor_free(stale), TENSOR_ERROR_HANDLE, "was freed");
  // All functions have their names without tensor_ in errors.
  FAILS(tensor_call(NULL, NULL, NULL, 0, NULL, NULL, NULL), TENSOR_ERROR_VALUE, "call: argument");
  const tensor_t *const freed[] = {stale};
  CHECK(tensor_dim(freed[0]) == -1 && strncmp(tensor_last_error(), "dim: ", 5) == 0);
  OK(tensor_free(NULL));
  // However often slots are recycled, the stale handle stays an error: the slot's generation is
  // part of the handle.
  for (int i = 0; i < 20000; i++) {
    tensor_t *t = floats((float[]){2}, one, 1);
    CHECK(t != stale);
    CHECK(tensor_numel(stale) == -1);
    OK(tensor_free(t));
  }
  int64_t nbytes = 0;
  OK(tensor_storage_nbytes(storage, &nbytes));  // outlives the tensor that made it
  CHECK(nbytes == 4);
  OK(tensor_storage_free(storage));
  CHECK(tensor_live_handles() == 0);
  return 0;
}
