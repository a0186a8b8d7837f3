// If the system limits threads or addresses, the library uses fewer, or its first call returns an
// error that names the shortage: nothing is printed, and the process does not end.
#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "children.h"

enum { CALLERS = 4, ROUNDS = 20 };

static rlim_t limit;  // of the part that runs

static void *call(void *none) {
  for (int i = 0; i < ROUNDS; i++) check_work(200 + i);
  return none;
}

// Calls from several threads at once, as many as can be had, and sorts that all workers share.
static void use(void) {
  check_work(300);
  pthread_t callers[CALLERS];
  int had = 0;
  while (had < CALLERS && !pthread_create(&callers[had], NULL, call, NULL)) had++;
  call(NULL);
  for (int i = 0; i < had; i++) CHECK(!pthread_join(callers[i], NULL));
}

static void first_call_is_rejected(const char *words) {
  const int64_t size[] = {3};
  for (int i = 0; i < 3; i++) {
    tensor_t *t = NULL;
    FAILS(tensor_from_data((float[]){1, 2, 3}, size, 1, TENSOR_FLOAT32, &t), TENSOR_ERROR_MEMORY,
          words);
    CHECK(!t);
  }
}

// The limit on processes counts those of a user, except root's: the test switches to an unused
// user.
static void have_threads(void) {
  CHECK(!setrlimit(RLIMIT_NPROC, &(struct rlimit){limit, limit}));
  if (getuid() == 0) CHECK(!setuid((uid_t)(100000 + getpid())));
}

static void few_threads_are_enough(void) {
  have_threads();
  use();
  CHECK((rlim_t)threads_now() <= limit);
  OK(tensor_set_num_threads(1000));  // those that there are do the work
  use();
}

static void too_few_threads_are_an_error(void) {
  have_threads();
  first_call_is_rejected("needs 8 threads");
}

// Root may be exempt from the limit: the library then works, or its first call returns an error.
static void any_number_of_threads(void) {
  CHECK(!setrlimit(RLIMIT_NPROC, &(struct rlimit){limit, limit}));
  const int64_t size[] = {3};
  tensor_t *t = NULL;
  if (tensor_from_data((float[]){1, 2, 3}, size, 1, TENSOR_FLOAT32, &t) == TENSOR_OK)
    use();
  else
    first_call_is_rejected("needs 8 threads");
}

#ifndef __SANITIZE_ADDRESS__  // which takes all addresses for itself
// Memory that is not there is an error of the call that wants it, and no more.
static void fill(void) {
  enum { MOST = 1000 };
  const int64_t size[] = {4 << 20};  // 32 MiB
  static tensor_t *held[MOST];
  int count = 0;
  while (count < MOST && tensor_zeros(size, 1, TENSOR_FLOAT64, TENSOR_LAYOUT_NONE,
                                      tensor_device_default(), &held[count]) == TENSOR_OK)
    count++;
  CHECK(count < MOST);
  CHECK(strstr(tensor_last_error(), "memory"));
  while (count > 0) OK(tensor_free(held[--count]));
  check_work(100);
}

static void have_addresses(void) {
  CHECK(!setrlimit(RLIMIT_AS, &(struct rlimit){limit << 20, limit << 20}));
}

static void few_addresses_are_enough(void) {
  have_addresses();
  call(NULL);  // each further thread of the program's has a stack and malloc's addresses besides
  fill();
}

static void too_few_addresses_are_an_error(void) {
  have_addresses();
  first_call_is_rejected("reserves 1376 MiB of addresses");
}

// It counts all that can be written to, the stacks of threads among them.
static void little_data_is_an_error(void) {
  CHECK(!setrlimit(RLIMIT_DATA, &(struct rlimit){limit << 20, limit << 20}));
  first_call_is_rejected(limit < 128 ? "RLIMIT_DATA" : "libtensor");
}

static void some_data_is_enough(void) {
  CHECK(!setrlimit(RLIMIT_DATA, &(struct rlimit){limit << 20, limit << 20}));
  call(NULL);
}

// After the limit is raised, the call that was rejected is made.
static void a_limit_is_raised(void) {
  CHECK(!setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)1 << 30, RLIM_INFINITY}));
  first_call_is_rejected("RLIMIT_AS");
  CHECK(!setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}));
  use();
}
#endif

// Leaves the given number of descriptors.
static void have_descriptors(void) {
  CHECK(!setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}));
  int last = 0, next;
  while ((next = dup(0)) >= 0) last = next;
  for (rlim_t i = 0; i < limit; i++) close(last - (int)i);
}

static void too_few_descriptors_are_an_error(void) {
  have_descriptors();
  first_call_is_rejected("needs 8 file descriptors");
}

static void few_descriptors_are_enough(void) {
  have_descriptors();
  use();
}

static void any_environment(void) {
  const char *const limits[] = {"", "off", "1GiB", "bad", "-1", "5XB", "99999999999TiB", "1e9"};
  setenv("GOMEMLIMIT", limits[limit % 8], 1);
  if (limit >= 8) setenv("GOMAXPROCS", "100000", 1);
  use();
}

// Runs a part for each limit. Any output is an error.
static void each(const rlim_t *limits, int count, void (*part)(void), const char *name) {
  for (int i = 0; i < count; i++) {
    limit = limits[i];
    FILE *printed = tmpfile();
    const int kept = dup(2);
    CHECK(printed && kept >= 0 && dup2(fileno(printed), 2) >= 0);
    const int status = ends(part);
    CHECK(dup2(kept, 2) >= 0);
    struct stat of;
    CHECK(!fstat(fileno(printed), &of));
    if (status || of.st_size) {
      char text[2000] = "";
      const ssize_t length = pread(fileno(printed), text, sizeof text - 1, 0);
      fprintf(stderr, "%s with a limit of %ld ended with %d and printed %.*s\n", name, (long)limit,
              status, (int)length, text);
      exit(1);
    }
    fclose(printed);
    close(kept);
  }
}

#define EACH(part, ...)                                               \
  do {                                                                \
    const rlim_t limits[] = {__VA_ARGS__};                            \
    each(limits, (int)(sizeof limits / sizeof *limits), part, #part); \
  } while (0)

// The table of docs/embedding.md.
int main(void) {
  if (getuid() == 0) {
    EACH(too_few_threads_are_an_error, 1, 2, 4, 6, 8);
    EACH(few_threads_are_enough, 9, 10, 12, 16, 40);
  } else {
    EACH(any_number_of_threads, 1, 8, 16, 24, 32, 40, 64, 100, 200, 1000);
  }
  EACH(too_few_descriptors_are_an_error, 0, 1, 3, 5, 7);
  EACH(few_descriptors_are_enough, 8, 9, 12, 20);
  EACH(any_environment, 0, 1, 2, 3, 4, 5, 6, 7, 8);
#ifndef __SANITIZE_ADDRESS__
  EACH(little_data_is_an_error, 1, 20, 60, 100, 120, 150, 180);
  EACH(some_data_is_enough, 300, 400, 600, 1000);
  EACH(too_few_addresses_are_an_error, 200, 600, 1000, 1200, 1400);
  EACH(few_addresses_are_enough, 1800, 2000, 3000, 4000);
  PASSES(a_limit_is_raised);
#endif
  return 0;
}
