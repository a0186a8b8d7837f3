// Memory is freed with its handles; a million operations leak nothing; external memory is released
// once.
#include "check.h"

static int64_t in_use(void) {
  int64_t used, peak, cached, limit, tensors, storages;
  OK(tensor_memory_stats(&used, &peak, &cached, &limit, &tensors, &storages));
  return used;
}

static int released;
static void release(void *context) { released += *(int *)context; }

int main(void) {
  const int64_t three[] = {3}, million[] = {1000000};
  tensor_t *a = floats((float[]){1, 2, 3}, three, 1), *big = NULL;
  int64_t before = in_use();
  for (int i = 0; i < 1000000; i++) {
    tensor_t *c = NULL;
    OK(tensor_add(a, a, tensor_int(1), &c));
    OK(tensor_free(c));
  }
  CHECK(in_use() == before);

  OK(tensor_zeros(million, 1, TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, tensor_device_default(), &big));
  CHECK(in_use() >= before + 4000000);
  OK(tensor_free(big));
  CHECK(in_use() == before);

  // A storage that was made smaller under its tensors is not read beyond its end.
  tensor_t *left = NULL, *none = NULL;
  tensor_storage_t *small = NULL;
  OK(tensor_zeros(million, 1, TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, tensor_device_default(), &left));
  OK(tensor_untyped_storage(left, &small));
  for (int64_t bytes = 0; bytes <= 8; bytes += 4) {
    OK(tensor_storage_resize_(small, bytes));
    FAILS(tensor_add(left, a, tensor_int(1), &none), TENSOR_ERROR_RUNTIME,
          "needs a storage of 4000000 bytes, but its storage was resized to");
    FAILS(tensor_add_out(a, a, tensor_int(1), left), TENSOR_ERROR_RUNTIME, "was resized to");
    void *data = NULL;
    FAILS(tensor_data_ptr(left, &data), TENSOR_ERROR_RUNTIME, "was resized to");
  }
  OK(tensor_resize_(left, three, 1, TENSOR_FORMAT_NONE));
  OK(tensor_zero_(left));
  OK(tensor_add(left, a, tensor_int(1), &none));
  CHECK(data_of(none)[2] == 3);
  OK(tensor_free(none));
  OK(tensor_free(left));
  OK(tensor_storage_free(small));
  CHECK(in_use() == before);

  static float external[4] = {1, 2, 3, 4};
  int weight = 1;
  const int64_t four[] = {4}, five[] = {5};
  tensor_t *blob = NULL, *view = NULL;
  FAILS(tensor_from_blob(external, sizeof external, TENSOR_FLOAT32, five, 1, NULL, 0, release,
                         &weight, false, &blob),
        TENSOR_ERROR_RUNTIME, "need a storage of 20 bytes, but it has 16");
  CHECK(released == 0);
  OK(tensor_from_blob(external, sizeof external, TENSOR_FLOAT32, four, 1, NULL, 0, release, &weight,
                      false, &blob));
  OK(tensor_add_scalar_(blob, tensor_int(1), tensor_int(1)));
  CHECK(external[3] == 5);
  OK(tensor_detach(blob, &view));
  OK(tensor_free(blob));
  CHECK(released == 0);
  OK(tensor_free(view));
  CHECK(released == 1);

  int64_t tensors, storages, nbytes;
  OK(tensor_detach(a, &view));
  OK(tensor_memory_stats_of(TENSOR_FLOAT32, &tensors, &storages, &nbytes));
  CHECK(tensors == 2 && storages == 1 && nbytes == 12);
  OK(tensor_memory_stats_of(TENSOR_INT64, &tensors, &storages, &nbytes));
  CHECK(tensors == 0 && storages == 0 && nbytes == 0);
  char *summary = NULL;
  OK(tensor_memory_summary(&summary));
  CHECK(strstr(summary, "2 tensors, 1 storages") && strstr(summary, "float32"));
  tensor_string_free(summary);
  OK(tensor_free(view));

  OK(tensor_set_memory_limit(in_use() + 1000));
  FAILS(tensor_zeros(million, 1, TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, tensor_device_default(), &big),
        TENSOR_ERROR_MEMORY, "memory limit");
  OK(tensor_set_memory_limit(0));
  OK(tensor_free(a));
  CHECK(tensor_live_handles() == 0);
  return 0;
}
