// Threads create, view, export, save and free tensors over one storage; memory of other owners is
// released once, whichever side and thread releases last; shared memory, files and Arrow arrays
// keep their guarantees. STRESS_SECONDS sets how long the threads work.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 8, ELEMENTS = 4096 };
static tensor_storage_t *storage;
static char folder[] = "/tmp/libtensor-XXXXXX";
static time_t end;
static _Atomic int64_t lent, released;

static void release(void *context) {
  free(context);
  released++;
}

static void loaded(tensor_t **tensors, int64_t n, char *structure, const tensor_t *like) {
  CHECK(n == 1 && tensor_numel(tensors[0]) == tensor_numel(like));
  tensor_string_free(structure);
  OK(tensor_list_free(tensors, n));
}

// Saves a tensor to memory and to a file of the thread's own, and loads both, the latter mapped.
static void files(const tensor_t *self, int64_t id, bool compact) {
  tensor_t *bytes = NULL, **tensors = NULL;
  int64_t n = 0;
  char *structure = NULL, path[64];
  OK(tensor_save_bytes("{\"tensor\": 0}", &self, 1, compact, &bytes));
  OK(tensor_load_bytes(bytes, NULL, &structure, &tensors, &n));
  loaded(tensors, n, structure, self);
  OK(tensor_free(bytes));
  snprintf(path, sizeof path, "%s/%d", folder, (int)id);
  OK(tensor_save(path, "{\"tensor\": 0}", &self, 1, compact));
  OK(tensor_load(path, NULL, true, &structure, &tensors, &n));
  loaded(tensors, n, structure, self);
  CHECK(unlink(path) == 0);
}

static void *work(void *arg) {
  int64_t id = *(int *)arg;
  for (int64_t i = 0; time(NULL) < end; i++) {
    tensor_t *all = NULL, *view = NULL, *back = NULL, *blob = NULL, *sum = NULL;
    tensor_storage_t *part = NULL;
    void *managed = NULL;
    OK(tensor_storage_view(storage, TENSOR_FLOAT32, &all));
    OK(tensor_slice(all, 0, id * 8, TENSOR_NONE, 2, &view));
    OK(tensor_storage_slice(storage, i % 100, 400, &part));
    OK(tensor_to_dlpack(view, i % 2, false, &managed));
    OK(tensor_free(all));
    OK(tensor_from_dlpack(managed, i % 2, &back));
    OK(tensor_free(view));
    CHECK(tensor_numel(back) == (ELEMENTS - id * 8) / 2);
    if (i % 16 == 0) files(back, id, i % 32 == 0);

    const int64_t size[] = {16};
    float *memory = calloc(16, sizeof *memory);
    lent++;
    OK(tensor_from_blob(memory, 64, TENSOR_FLOAT32, size, 1, NULL, 0, release, memory, false,
                        &blob));
    OK(tensor_add_scalar(blob, tensor_int(id), tensor_int(1), &sum));
    CHECK(data_of(sum)[15] == (float)id);
    OK(tensor_free(blob));
    OK(tensor_free(sum));
    OK(tensor_storage_free(part));
    OK(tensor_free(back));
  }
  return NULL;
}

static void threads(void) {
  const char *seconds = getenv("STRESS_SECONDS");
  end = time(NULL) + (seconds ? atoi(seconds) : 2);
  OK(tensor_storage_new(4 * ELEMENTS, tensor_device_default(), &storage));
  CHECK(mkdtemp(folder) != NULL);
  pthread_t workers[THREADS];
  int ids[THREADS];
  for (int i = 0; i < THREADS; i++) {
    ids[i] = i;
    CHECK(pthread_create(&workers[i], NULL, work, &ids[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(workers[i], NULL);
  int64_t users;
  OK(tensor_storage_use_count(storage, &users));
  CHECK(users == 1 && lent == released && rmdir(folder) == 0);
  OK(tensor_storage_free(storage));
}

static void shared_memory(void) {
  tensor_storage_t *s = NULL, *again = NULL;
  int64_t fd;
  void *first, *second;
  bool shared;
  OK(tensor_storage_new(64, tensor_device_default(), &s));
  FAILS(tensor_storage_descriptor(s, &fd), TENSOR_ERROR_RUNTIME, "not in shared memory");
  OK(tensor_storage_share_memory_(s));
  OK(tensor_storage_is_shared(s, &shared));
  OK(tensor_storage_descriptor(s, &fd));
  OK(tensor_storage_from_descriptor(fd, 32, &again));
  OK(tensor_storage_fill_(again, 3));
  OK(tensor_storage_data_ptr(s, &first));
  OK(tensor_storage_data_ptr(again, &second));
  CHECK(shared && first != second && ((char *)first)[31] == 3 && ((char *)first)[32] == 0);
  FAILS(tensor_storage_resize_(s, 128), TENSOR_ERROR_RUNTIME, "not resizable");
  CHECK(ftruncate((int)fd, 8) != 0);  // the memory cannot be truncated
  OK(tensor_storage_free(s));
  OK(tensor_storage_free(again));
  FAILS(tensor_storage_from_descriptor(-1, 8, &s), TENSOR_ERROR_VALUE,
        "-1 is not a valid file descriptor");
}

static void arrow(void) {
  // ArrowSchema and ArrowArray have nine and ten words.
  void *schema[9], *array[10];
  const int64_t three[] = {3};
  tensor_t *a = floats((float[]){1, 2, 3}, three, 1), *b = NULL;
  bool read_only;
  OK(tensor_to_arrow(a, schema, array));
  OK(tensor_from_arrow(schema, array, &b));
  OK(tensor_is_read_only(b, &read_only));
  CHECK(strcmp(schema[0], "f") == 0 && data_of(a) == data_of(b) && read_only);
  FAILS(tensor_from_arrow(schema, array, &b), TENSOR_ERROR_VALUE, "released before");
  tensor_arrow_release(schema, array);
  OK(tensor_free(a));
  CHECK(data_of(b)[2] == 3);
  OK(tensor_free(b));
}

// Errors of exports name the argument with its dtype, device or dimensions, and what would work.
static void unsupported_exports(void) {
  const int64_t three[] = {3};
  void *schema[9], *array[10], *managed = NULL;
  const struct {
    tensor_device_type device;
    tensor_dtype dtype;
    int64_t dims;
    const char *arrow, *dlpack;
  } cases[] = {
      {TENSOR_CPU, TENSOR_BFLOAT16, 1, "to_arrow: argument 'self' has dtype bfloat16, for", NULL},
      {TENSOR_CPU, TENSOR_COMPLEX64, 1, "to_arrow: argument 'self' has dtype complex64, for", NULL},
      {TENSOR_CPU, TENSOR_FLOAT32, 0,
       "to_arrow: argument 'self' has 0 dimensions, and an Arrow array has one; flatten() it",
       NULL},
      {TENSOR_META, TENSOR_FLOAT32, 1, "to_arrow: argument 'self' is on meta; copy it with cpu()",
       "to_dlpack: argument 'self' is on meta; cpu or cuda is required"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tensor_t *t = NULL;
    OK(tensor_zeros(three, cases[i].dims, cases[i].dtype, TENSOR_STRIDED,
                    (tensor_device){cases[i].device, -1}, &t));
    CHECK(tensor_to_arrow(t, schema, array) != TENSOR_OK);
    CHECK(strstr(tensor_last_error(), cases[i].arrow));
    if (cases[i].dlpack)
      FAILS(tensor_to_dlpack(t, true, false, &managed), TENSOR_ERROR_RUNTIME, cases[i].dlpack);
    FAILS(tensor_to_arrow(t, NULL, array), TENSOR_ERROR_VALUE,
          "to_arrow: argument 'schema' is NULL");
    FAILS(tensor_to_arrow(t, schema, NULL), TENSOR_ERROR_VALUE,
          "to_arrow: argument 'array' is NULL");
    FAILS(tensor_from_arrow(schema, NULL, &t), TENSOR_ERROR_VALUE,
          "from_arrow: argument 'array' is NULL");
    FAILS(tensor_from_arrow_stream(NULL, &t), TENSOR_ERROR_VALUE,
          "from_arrow: argument 'stream' is NULL");
    OK(tensor_free(t));
  }
}

static void backwards(void) {
  const int64_t three[] = {3};
  tensor_t *a = floats((float[]){1, 2, 3}, three, 1), *b = NULL;
  void *managed = NULL;
  OK(tensor_to_dlpack(a, false, false, &managed));
  // A DLManagedTensor starts with the address of the data; its strides are its fifth word.
  void **words = managed;
  int64_t back = -1;
  words[0] = (float *)words[0] + 2, words[4] = &back;
  OK(tensor_from_dlpack(managed, false, &b));
  CHECK(data_of(b)[0] == 3 && data_of(b)[2] == 1 && tensor_strides(b)[0] == 1);
  OK(tensor_free(a));
  OK(tensor_free(b));
}

int main(void) {
  threads();
  shared_memory();
  arrow();
  unsupported_exports();
  backwards();
  CHECK(tensor_live_handles() == 0);
  return 0;
}
