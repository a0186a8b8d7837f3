// Files from C: saved values can be loaded, damaged files are errors, nothing leaks.
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

// A file of one tensor of 32 values in a block of Q4_0: 0 and 1 with the scale 1.
static void weights_in_blocks(void) {
  uint8_t bytes[64 + 18] = {'G',      'G',        'U',      'F',       3,        [8] = 1,
                            [24] = 1, [32] = 'q', [33] = 1, [37] = 32, [45] = 2, [65] = 0x3c};
  memset(bytes + 66, 0x98, 16);
  tensor_t *data = NULL, **tensors = NULL, *found = NULL, *sum = NULL;
  char **names = NULL, **types = NULL, *metadata = NULL;
  int64_t count = 0, n = 0, type_count = 0;
  OK(tensor_from_data(bytes, (int64_t[]){64 + 18}, 1, TENSOR_UINT8, &data));
  OK(tensor_gguf_load(data, &names, &count, &tensors, &n, &types, &type_count, &metadata));
  CHECK(count == 1 && n == 1 && type_count == 1 && strcmp(names[0], "q") == 0 &&
        strcmp(types[0], "Q4_0") == 0 && strcmp(metadata, "{}") == 0);
  OK(tensor_gguf_dequantize(tensors[0], types[0], TENSOR_DTYPE_NONE, &found));
  OK(tensor_sum(found, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  tensor_scalar total;
  OK(tensor_item(sum, &total));
  CHECK(total.value.f.re == 16);
  OK(tensor_free(found));
  OK(tensor_free(sum));
  OK(tensor_free(data));
  tensor_string_list_free(names, count);
  tensor_string_list_free(types, type_count);
  tensor_string_free(metadata);
  OK(tensor_list_free(tensors, n));
}

// Without a handler, the system would end this program for writing beyond the limit.
static void rejected_by_the_system(void) {
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
        "unable to create 4194304 bytes of shared memory: file too large");
  char made[80];
  snprintf(made, sizeof made, "%s/made", folder);
  tensor_storage_t *mapped = NULL;
  FAILS(tensor_storage_from_file(made, true, 1 << 20, &mapped), TENSOR_ERROR_IO, "file too large");
  CHECK(access(made, F_OK) != 0);
  CHECK(!setrlimit(RLIMIT_FSIZE, &before));
  OK(tensor_storage_free(storage));
  OK(tensor_free(a));
}

// A file before PyTorch 1.6: the magic number, the version, a dict of facts, {"a": a tensor of two
// elements}, the storages' keys, and a storage.
static const char older[] =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}."
    "\x80\x02}X\x01\0\0\0"
    "actorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"
    "0X\x03\0\0\0cpuK\x02NtQK\0K\x02\x85K\x01\x85\x89}tRs.\x80\x02]X\x01\0\0\0"
    "0a.\x02\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\0\x40";

static void write_file(const char *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  CHECK(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

static void older_files(void) {
  char **names = NULL, *structure = NULL;
  tensor_t **tensors = NULL;
  int64_t count = 0, n = 0;
  write_file(older, sizeof older - 1);
  OK(tensor_load_dict(path, NULL, false, &names, &count, &tensors, &n));
  CHECK(n == 1 && strcmp(names[0], "a") == 0 && tensor_numel(tensors[0]) == 2);
  float *values = NULL;
  OK(tensor_data_ptr(tensors[0], (void **)&values));
  CHECK(values[0] == 1 && values[1] == 2);
  tensor_string_list_free(names, count);
  OK(tensor_list_free(tensors, n));
  write_file(older, sizeof older - 2);
  FAILS(tensor_load(path, NULL, false, &structure, &tensors, &n), TENSOR_ERROR_RUNTIME,
        "7 bytes are left");
  write_file("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.cos\nsystem\n.", 27);
  FAILS(tensor_load(path, NULL, false, &structure, &tensors, &n), TENSOR_ERROR_RUNTIME,
        "os.system, which is not allowed");
}

static void archives(void) {
  tensor_t *data = NULL, *file = NULL, *renamed = NULL, **records = NULL;
  char **names = NULL;
  int64_t count = 0, n = 0;
  OK(tensor_from_data("clibtensor.nn\nLinear\n.", (int64_t[]){22}, 1, TENSOR_UINT8, &data));
  const char *given[] = {"a/data.pkl", "a/version"};
  OK(tensor_archive_save_bytes(given, 2, (const tensor_t *[]){data, data}, 2, &file));
  OK(tensor_archive_load_bytes(file, &names, &count, &records, &n));
  CHECK(n == 2 && strcmp(names[1], "a/version") == 0 && same(records[0], data));
  tensor_string_list_free(names, count);
  OK(tensor_list_free(records, n));
  OK(tensor_archive_save(path, given, 2, (const tensor_t *[]){data, data}, 2));
  OK(tensor_archive_load(path, true, &names, &count, &records, &n));
  CHECK(n == 2 && same(records[1], data));
  tensor_string_list_free(names, count);
  OK(tensor_list_free(records, n));
  OK(tensor_pickle_rename(data, "libtensor", "torch", &renamed));
  void *bytes = NULL;
  OK(tensor_data_ptr(renamed, &bytes));
  CHECK(tensor_numel(renamed) == 18 && memcmp(bytes, "ctorch.nn\nLinear\n.", 18) == 0);
  FAILS(tensor_archive_save(path, given, 1, (const tensor_t *[]){data, data}, 2),
        TENSOR_ERROR_VALUE, "1 names were given for 2 records");
  tensor_t *floats = counted(2);
  FAILS(tensor_archive_save(path, given, 1, (const tensor_t *[]){floats}, 1), TENSOR_ERROR_VALUE,
        "uint8 tensor");
  OK(tensor_free(floats));
  OK(tensor_free(renamed));
  OK(tensor_free(file));
  OK(tensor_free(data));
}

int main(void) {
  CHECK(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a", folder);
  int64_t handles = tensor_live_handles();
  dicts(), structures(), others(), weights_in_blocks(), rejected_by_the_system(), older_files();
  archives();
  CHECK(tensor_live_handles() == handles);
  unlink(path);
  CHECK(rmdir(folder) == 0);
  return 0;
}
