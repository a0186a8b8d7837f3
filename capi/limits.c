#define _GNU_SOURCE
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "threads.h"

// The memory or addresses that a limit of the process has to leave, and the error if it does not.
typedef struct {
  int resource, access;
  size_t bytes;
  const char *words;  // the error, with the needed MiB and the limit
} reserve;

// Go reserves addresses for the largest possible heap: 1290 MiB with its first arena. Tensors leave
// room for the next arena (engine/storage/alloc.c).
static const reserve kAddresses = {
    RLIMIT_AS, PROT_NONE, (size_t)1376 << 20,
    "libtensor reserves %zu MiB of addresses, which exceeds the process's limit of %zu MiB; "
    "raise it (ulimit -v, RLIMIT_AS)"};

// The memory that Go and tensors write to from the start, without the stacks of threads.
static const reserve kWritten = {RLIMIT_DATA, PROT_READ | PROT_WRITE, (size_t)128 << 20,
                                 "libtensor writes to %zu MiB of memory at the first call, which "
                                 "exceeds the process's limit of %zu MiB "
                                 "on data; raise it (ulimit -d, RLIMIT_DATA)"};

// Go has two descriptors from its first timer on and those of its control group, and opens files at
// its start, some at the same time; the rest is to spare.
enum { DESCRIPTORS = 8 };

// More processors than there are do not help; each costs two threads.
enum { MOST_PROCESSORS = 256 };

static int processors, limited;

int lt_processors(void) { return limited ? processors : 0; }

int lt_supply(int threads) {
  const int fixed = processors + LT_SPARE_THREADS, had = lt_make_threads(fixed + threads) - fixed;
  return had < 1 ? 1 : had < threads ? had : threads;
}

static int count_affinity(void) {
  cpu_set_t set[16];
  return sched_getaffinity(0, sizeof set, set) ? 1 : CPU_COUNT_S(sizeof set, set);
}

// As Go counts them where no control group bounds it.
static int count_processors(void) {
  const char *given = getenv("GOMAXPROCS");
  if (given && atoi(given) > 0) return atoi(given);
  return count_affinity();
}

static int make_threads(char *why, size_t size) {
  enum { LEAST = 2 + LT_SPARE_THREADS };
  processors = count_processors();
  const int there = count_affinity(), most = there > MOST_PROCESSORS ? there : MOST_PROCESSORS;
  limited = processors > most;
  if (limited) processors = most;
  const int wanted = 2 * processors + LT_SPARE_THREADS, had = lt_make_threads(wanted);
  if (had >= wanted) return 0;
  limited = 1;
  processors = (had - LT_SPARE_THREADS) / 2;
  if (had >= LEAST) return 0;
  lt_dismiss_threads();
  snprintf(why, size,
           "libtensor needs %d threads, but only %d can be created; raise the limit on processes "
           "(ulimit -u, RLIMIT_NPROC, the pids of a control group) or on memory",
           LEAST, had);
  return 1;
}

static void *map_memory(size_t bytes, int access) {
  void *p = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static void *reserve_addresses(size_t bytes) { return map_memory(bytes, PROT_NONE); }

// Makes the waiting threads set up malloc while no address space is left for separate arenas, so
// that the addresses remain for tensors. LEFT remains for concurrent requests.
static void settle_threads(void) {
  enum { MANY = 33, LEAST = 26, LEFT = 32 << 20 };  // 8 GiB, 64 MiB
  void *held[MANY] = {NULL};
  size_t sizes[MANY];
  int last = -1;
  for (int power = MANY; power >= LEAST; power--) {
    const size_t bytes = (size_t)1 << power;
    void *p = reserve_addresses(bytes);
    if (p && power == MANY) return (void)munmap(p, bytes);
    if (p) held[++last] = p, sizes[last] = bytes;
  }
  if (last >= 0)
    munmap(held[last], LEFT), held[last] = (char *)held[last] + LEFT, sizes[last] -= LEFT;
  lt_settle_threads();
  for (; last >= 0; last--) munmap(held[last], sizes[last]);
}

// Returns whether descriptors are missing, with the error in `why`; other errors are ignored.
static int lacks_descriptors(char *why, size_t size) {
  int opened[DESCRIPTORS], count = 0, error = 0;
  while (count < DESCRIPTORS && !error) {
    opened[count] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened[count] < 0)
      error = errno;
    else
      count++;
  }
  const int had = count;
  while (count) close(opened[--count]);
  if (error != EMFILE && error != ENFILE) return 0;
  snprintf(why, size,
           "libtensor needs %d file descriptors, but only %d are available; close some, or raise "
           "their limit (ulimit -n, RLIMIT_NOFILE)",
           DESCRIPTORS, had);
  return 1;
}

// Checks that a limit leaves the needed memory or addresses, and holds them; NULL without a limit.
// Writes the reason of a failure to `why`.
static int check_limit(const reserve *r, void **held, char *why, size_t size) {
  struct rlimit limit;
  if (getrlimit(r->resource, &limit) || limit.rlim_cur == RLIM_INFINITY) return 0;
  if ((*held = map_memory(r->bytes, r->access))) return 0;
  snprintf(why, size, r->words, r->bytes >> 20, (size_t)limit.rlim_cur >> 20);
  return 1;
}

int lt_make_room(char *why, size_t size) {
  void *addresses = NULL, *written = NULL;
  // The stacks of the threads are needed in addition to the held memory.
  const int failed = lacks_descriptors(why, size) ||
                     check_limit(&kAddresses, &addresses, why, size) ||
                     check_limit(&kWritten, &written, why, size) || make_threads(why, size);
  if (written) munmap(written, kWritten.bytes);
  if (!addresses) return failed;
  if (!failed) settle_threads();
  munmap(addresses, kAddresses.bytes);
  return failed;
}
