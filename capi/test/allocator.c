// Tensor memory that the application's allocator provides (tensor_set_allocator).
#include <pthread.h>
#include <stdatomic.h>

#include "children.h"

typedef struct {
  atomic_long blocks, bytes, requests;
  long most_bytes;  // a limit, 0 for none
  int shift;        // added to addresses, which are then not aligned
  int deleted;
} arena;

static void *take(void *context, int64_t size, int64_t alignment) {
  arena *a = context;
  void *data;
  CHECK(size > 0 && alignment == 64 && !a->deleted);
  a->requests++;
  if (a->most_bytes && a->bytes + size > a->most_bytes) return NULL;
  CHECK(!posix_memalign(&data, (size_t)alignment, (size_t)size + 64));
  memset(data, 0xff, (size_t)size);
  a->blocks++;
  a->bytes += size;
  return (char *)data + a->shift;
}

static void give_back(void *context, void *data, int64_t size) {
  arena *a = context;
  CHECK(!a->deleted && a->blocks > 0);
  a->blocks--;
  a->bytes -= size;
  free((char *)data - a->shift);
}

static void delete(void *context) { ((arena *)context)->deleted++; }

static tensor_t *zeros(int64_t length) {
  tensor_t *t;
  OK(tensor_zeros(&length, 1, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &t));
  return t;
}

static void check_zeros(const tensor_t *t) {
  const float *p = data_of(t);
  for (int64_t i = 0; i < tensor_numel(t); i++) CHECK(p[i] == 0);
}

static const int64_t LENGTHS[] = {1, 100, 1000, 1 << 14, 1 << 19};
enum { KINDS = sizeof LENGTHS / sizeof *LENGTHS };

// Blocks of every size class are the allocator's, and none is reused from before it was set.
static void all_sizes(void) {
  arena a = {0};
  tensor_t *before[KINDS], *made[KINDS], *sums[KINDS];
  for (int i = 0; i < KINDS; i++) before[i] = zeros(LENGTHS[i]);
  for (int i = 0; i < KINDS; i++) tensor_free(zeros(LENGTHS[i]));
  OK(tensor_set_allocator(take, give_back, &a, delete));
  for (int round = 0; round < 2; round++) {
    const long known = a.requests;
    for (int i = 0; i < KINDS; i++) {
      made[i] = zeros(LENGTHS[i]);
      check_zeros(made[i]);
      OK(tensor_add(made[i], before[i], tensor_int(1), &sums[i]));
      check_zeros(sums[i]);
    }
    CHECK(a.blocks == 2 * KINDS && a.requests == known + 2 * KINDS);
    for (int i = 0; i < KINDS; i++) tensor_free(made[i]), tensor_free(sums[i]);
    CHECK(a.blocks == 0 && a.bytes == 0);
  }
  // Memory of before is not freed by the allocator.
  for (int i = 0; i < KINDS; i++) tensor_free(before[i]);
  CHECK(a.blocks == 0 && !a.deleted);
  OK(tensor_set_allocator(NULL, NULL, NULL, NULL));
  CHECK(a.deleted == 1);
}

// A block is freed by the functions that allocated it, and the last one calls the deleter.
static void replaced(void) {
  arena a = {0}, b = {0};
  OK(tensor_set_allocator(take, give_back, &a, delete));
  tensor_t *x = zeros(100), *view;
  OK(tensor_detach(x, &view));
  OK(tensor_set_allocator(take, give_back, &b, delete));
  tensor_t *y = zeros(100);
  CHECK(a.blocks == 1 && b.blocks == 1 && !a.deleted);
  tensor_free(x);
  CHECK(a.blocks == 1);
  tensor_free(view);
  CHECK(a.blocks == 0 && a.deleted == 1 && b.blocks == 1);
  OK(tensor_set_allocator(NULL, NULL, NULL, NULL));
  CHECK(!b.deleted);
  // Growing moves the memory to the current allocator, and keeps the elements.
  const int64_t more = 1000000;
  OK(tensor_resize_(y, &more, 1, TENSOR_CONTIGUOUS));
  CHECK(b.deleted == 1 && b.blocks == 0);
  for (int i = 0; i < 100; i++) CHECK(data_of(y)[i] == 0);
  tensor_free(y);
}

static void errors(void) {
  arena a = {.most_bytes = 1 << 20}, shifted = {.shift = 8};
  tensor_t *t = NULL;
  const int64_t large = 1 << 20;
  const int64_t handles = tensor_live_handles();
  OK(tensor_set_allocator(take, give_back, &a, delete));
  FAILS(tensor_zeros(&large, 1, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &t),
        TENSOR_ERROR_MEMORY,
        "zeros: the application's allocator returned no memory for 4194304 bytes");
  CHECK(!t && a.blocks == 0 && tensor_live_handles() == handles);
  FAILS(tensor_set_allocator(take, NULL, &a, delete), TENSOR_ERROR_VALUE,
        "set_allocator: allocate and deallocate must both be functions or both be NULL");
  FAILS(tensor_set_allocator(NULL, give_back, &a, delete), TENSOR_ERROR_VALUE, "set_allocator");
  CHECK(!a.deleted);
  OK(tensor_set_allocator(take, give_back, &shifted, delete));
  CHECK(a.deleted == 1);
  FAILS(tensor_zeros(&large, 1, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &t),
        TENSOR_ERROR_MEMORY, "aligned to 64 bytes");
  CHECK(!t && shifted.blocks == 0);
  OK(tensor_set_allocator(NULL, NULL, NULL, NULL));
  CHECK(shifted.deleted == 1);
}

static void *compute(void *context) {
  (void)context;
  for (int i = 0; i < 200; i++) {
    tensor_t *x = zeros(64 + i), *y;
    OK(tensor_exp(x, &y));
    CHECK(data_of(y)[i] == 1);
    tensor_free(x), tensor_free(y);
  }
  return NULL;
}

// Allocators are replaced while other threads allocate: each block returns to its own.
static void threads(void) {
  enum { THREADS = 4, ARENAS = 50 };
  static arena arenas[ARENAS];
  pthread_t running[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(running + i, NULL, compute, NULL));
  for (int i = 0; i < ARENAS; i++) OK(tensor_set_allocator(take, give_back, arenas + i, delete));
  OK(tensor_set_allocator(NULL, NULL, NULL, NULL));
  for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(running[i], NULL));
  for (int i = 0; i < ARENAS; i++) {
    CHECK(arenas[i].blocks == 0 && arenas[i].bytes == 0 && arenas[i].deleted == 1);
  }
}

static arena early;

// Set before the first call, an allocator provides all memory of tensors, and a child keeps it.
static void from_the_start(void) {
  OK(tensor_set_allocator(take, give_back, &early, delete));
  tensor_t *x = zeros(1000);
  CHECK(early.blocks == 1);
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (!child) {
    tensor_t *y = zeros(1000);
    check_zeros(x), check_zeros(y);
    CHECK(early.blocks == 2);
    tensor_free(y), tensor_free(x);
    CHECK(early.blocks == 0);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && !status);
  tensor_free(x);
  CHECK(early.blocks == 0);
}

static void later(void) {
  all_sizes();
  replaced();
  errors();
  threads();
}

int main(void) {
  PASSES(from_the_start);
  PASSES(later);
  return 0;
}
