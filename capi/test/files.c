// Files from C: what is saved is loaded again, damaged files are refused, nothing leaks.
#include "check.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

static char folder[] = "/tmp/libtensor-XXXXXX", path[64];

static tensor_t *counted(int64_t n) {
  tensor_t *t = NULL;
  OK(tensor_arange(tensor_int(n), TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, tensor_device_default(), &t));
  return t;
}

static bool same(const tensor_t *a, const tensor_t *b) {
  bool is = false;
  OK(tensor_equal(a, b, &is));
  return is;
}

static void dicts(void) {
  tensor_t *a = counted(6), *b = counted(3);
  const char *names[] = {"weight", "bias"};
  OK(tensor_save_dict(path, names, 2, (const tensor_t *[]){a, b}, 2, false));
  char **found = NULL;
  tensor_t **tensors = NULL;
  int64_t count = 0, n = 0;
  for (int mmap = 0; mmap < 2; mmap++) {
    OK(tensor_load_dict(path, NULL, mmap, &found, &count, &tensors, &n));
    CHECK(count == 2 && n == 2 && strcmp(found[0], "weight") == 0 && strcmp(found[1], "bias") == 0);
    CHECK(same(tensors[0], a) && same(tensors[1], b));
    tensor_string_list_free(found, count);
    OK(tensor_list_free(tensors, n));
  }
  FAILS(
      tensor_save_dict(path, (const char *[]){"a", NULL}, 2, (const tensor_t *[]){a, b}, 2, false),
      TENSOR_ERROR_VALUE, "names[1]");
  FAILS(tensor_save_dict(path, names, 1, (const tensor_t *[]){a, b}, 2, false), TENSOR_ERROR_VALUE,
        "1 names were given for 2 tensors");
  OK(tensor_free(a));
  OK(tensor_free(b));
}

static void structures(void) {
  tensor_t *a = counted(6), *row = NULL, *data = NULL, **tensors = NULL;
  int64_t n = 0;
  char *structure = NULL;
  OK(tensor_narrow(a, 0, 2, 3, &row));
  const char *text =
      "{\"dict\": [[\"a\", {\"tensor\": 0}], [\"rows\", [{\"tensor\": 1}, 1.5, null]]]}";
  OK(tensor_save(path, text, (const tensor_t *[]){a, row}, 2, false));
  OK(tensor_load(path, "cpu", false, &structure, &tensors, &n));
  CHECK(strcmp(structure, text) == 0 && n == 2 && same(tensors[1], row));
  CHECK(tensor_storage_offset(tensors[1]) == 2);
  tensor_string_free(structure);
  OK(tensor_list_free(tensors, n));
  OK(tensor_save_bytes(text, (const tensor_t *[]){a, row}, 2, true, &data));
  OK(tensor_load_bytes(data, NULL, &structure, &tensors, &n));
  CHECK(n == 2 && same(tensors[0], a));
  tensor_string_free(structure);
  OK(tensor_list_free(tensors, n));

  uint8_t *bytes = NULL;
  OK(tensor_data_ptr(data, (void **)&bytes));
  bytes[70] ^= 1;
  FAILS(tensor_load_bytes(data, NULL, &structure, &tensors, &n), TENSOR_ERROR_RUNTIME, "checksum");
  FAILS(tensor_load_bytes(a, NULL, &structure, &tensors, &n), TENSOR_ERROR_VALUE, "uint8");
  FAILS(tensor_save(path, "{\"tensor\": 7}", NULL, 0, false), TENSOR_ERROR_VALUE, "tensor 7");
  FAILS(tensor_load("/no/such/file", NULL, false, &structure, &tensors, &n), TENSOR_ERROR_IO,
        "/no/such/file");
  OK(tensor_free(data));
  OK(tensor_free(row));
  OK(tensor_free(a));
}

static void others(void) {
  tensor_t *a = counted(6), *found = NULL, **tensors = NULL;
  const char *names[] = {"x"};
  char **keys = NULL, *text = NULL;
  int64_t count = 0, n = 0;
  OK(tensor_safetensors_save_file(path, names, 1, (const tensor_t *[]){a}, 1, "{\"k\":\"v\"}"));
  for (int mmap = 0; mmap < 2; mmap++) {
    OK(tensor_safetensors_load_file(path, NULL, 0, mmap, &keys, &count, &tensors, &n, &text));
    CHECK(count == 1 && n == 1 && strcmp(keys[0], "x") == 0 && same(tensors[0], a));
    CHECK(strcmp(text, "{\"k\":\"v\"}") == 0);
    tensor_string_list_free(keys, count);
    tensor_string_free(text);
    OK(tensor_list_free(tensors, n));
  }
  FAILS(tensor_safetensors_load_file(path, (const char *[]){"y"}, 1, true, &keys, &count, &tensors,
                                     &n, &text),
        TENSOR_ERROR_RUNTIME, "no tensor \"y\"");
  OK(tensor_npy_save(path, a));
  OK(tensor_npy_load(path, true, &found));
  CHECK(same(found, a));
  OK(tensor_free(found));
  OK(tensor_npz_save(path, names, 1, (const tensor_t *[]){a}, 1));
  OK(tensor_npz_load(path, &keys, &count, &tensors, &n));
  CHECK(count == 1 && strcmp(keys[0], "x") == 0 && same(tensors[0], a));
  tensor_string_list_free(keys, count);
  OK(tensor_list_free(tensors, n));
  OK(tensor_free(a));
}

// Without a handler, the system would end this program for writing beyond the limit.
static void refused_by_the_system(void) {
  tensor_t *a = counted(1 << 20);
  FAILS(tensor_npy_save("/no/such/file", a), TENSOR_ERROR_IO,
        "npy_save: cannot write /no/such/file: no such file or directory");
  CHECK(tensor_last_errno() == ENOENT);
  FAILS(tensor_npy_save("", a), TENSOR_ERROR_IO, "npy_save: the path is empty");
  CHECK(tensor_last_errno() == ENOENT);
  FAILS(tensor_npy_save(folder, a), TENSOR_ERROR_IO, "is a directory");
  CHECK(tensor_last_errno() == EISDIR);
  FAILS(tensor_save_dict(path, NULL, 0, (const tensor_t *[]){a}, 1, false), TENSOR_ERROR_VALUE,
        "names");
  CHECK(tensor_last_errno() == 0);

  struct rlimit before;
  CHECK(!getrlimit(RLIMIT_FSIZE, &before));
  CHECK(!setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 16, before.rlim_max}));
  FAILS(tensor_npy_save(path, a), TENSOR_ERROR_IO, "file too large");
  CHECK(tensor_last_errno() == EFBIG);
  tensor_storage_t *storage = NULL;
  OK(tensor_untyped_storage(a, &storage));
  FAILS(tensor_storage_share_memory_(storage), TENSOR_ERROR_MEMORY,
        "unable to make 4194304 bytes of shared memory: file too large");
  char made[80];
  snprintf(made, sizeof made, "%s/made", folder);
  tensor_storage_t *mapped = NULL;
  FAILS(tensor_storage_from_file(made, true, 1 << 20, &mapped), TENSOR_ERROR_IO, "file too large");
  CHECK(access(made, F_OK) != 0);
  CHECK(!setrlimit(RLIMIT_FSIZE, &before));
  OK(tensor_storage_free(storage));
  OK(tensor_free(a));
}

int main(void) {
  CHECK(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a", folder);
  int64_t handles = tensor_live_handles();
  dicts(), structures(), others(), refused_by_the_system();
  CHECK(tensor_live_handles() == handles);
  unlink(path);
  CHECK(rmdir(folder) == 0);
  return 0;
}
