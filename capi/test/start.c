// The first call: from many threads at once, before main, on a small stack, while a timer
// interrupts it. Each part is a separate process.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "children.h"

static char *word;  // the argument of the program

// glibc passes main's arguments to constructors.
__attribute__((constructor)) static void before_main(int count, char **words) {
  word = count > 1 ? words[1] : NULL;
  if (word) check_work(300);
}

static void a_constructor_makes_the_first_call(void) {
  execl("/proc/self/exe", "start", "constructor", (char *)NULL);
  CHECK(!"execl");
}

enum { CALLERS = 32 };
static pthread_barrier_t together;

static void *call(void *side) {
  pthread_barrier_wait(&together);
  check_work((int64_t)(intptr_t)side);
  return NULL;
}

static void many_threads_make_the_first_call(void) {
  pthread_t callers[CALLERS];
  CHECK(pthread_barrier_init(&together, NULL, CALLERS) == 0);
  for (intptr_t i = 0; i < CALLERS; i++)
    CHECK(pthread_create(&callers[i], NULL, call, (void *)(100 + i)) == 0);
  for (int i = 0; i < CALLERS; i++) CHECK(pthread_join(callers[i], NULL) == 0);
  check_work(300);
}

// Errors are of the thread that made the first call, too.
static void *fail(void *nothing) {
  const int64_t two[] = {2}, three[] = {3};
  pthread_barrier_wait(&together);
  tensor_t *t = NULL;
  FAILS(tensor_from_data(NULL, two, -1, TENSOR_FLOAT32, &t), TENSOR_ERROR_VALUE, "from_data");
  tensor_t *a = floats((float[]){1, 2}, two, 1), *b = floats((float[]){1, 2, 3}, three, 1);
  FAILS(tensor_add(a, b, tensor_int(1), &t), TENSOR_ERROR_RUNTIME, "add");
  CHECK(!t);
  OK(tensor_free(a));
  OK(tensor_free(b));
  return nothing;
}

static void first_calls_that_fail(void) {
  pthread_t callers[CALLERS];
  CHECK(pthread_barrier_init(&together, NULL, CALLERS) == 0);
  for (int i = 0; i < CALLERS; i++) CHECK(pthread_create(&callers[i], NULL, fail, NULL) == 0);
  for (int i = 0; i < CALLERS; i++) CHECK(pthread_join(callers[i], NULL) == 0);
  CHECK(tensor_live_handles() == 0);
  check_work(8);
}

static void *call_alone(void *side) {
  check_work((int64_t)(intptr_t)side);
  return NULL;
}

// A thread with the minimum stack of the header starts the library and ends; others continue.
static void a_small_stack_makes_the_first_call(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
  for (int i = 0; i < 3; i++) {
    pthread_t caller;
    CHECK(pthread_create(&caller, &attributes, call_alone, (void *)(intptr_t)(300 + i)) == 0);
    CHECK(pthread_join(caller, NULL) == 0);
  }
  check_work(300);
}

static volatile sig_atomic_t alarms;
static void count(int number) {
  (void)number;
  alarms++;
}

// Without SA_RESTART each system call that waits would end with EINTR.
static void a_timer_interrupts_the_first_call(void) {
  sigaction(SIGALRM, &(struct sigaction){.sa_handler = count, .sa_flags = SA_ONSTACK}, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 200}, {0, 200}}, NULL);
  errno = 0;
  for (int i = 0; i < 50; i++) check_work(200 + i);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  CHECK(alarms > 0);
}

static int64_t threads_at_first(void) {
  int64_t n = 0;
  OK(tensor_get_num_threads(&n));
  return n;
}

// The environment is read at the first call, as setenv has left it.
static void the_variable_gives_the_number_of_threads(void) {
  setenv("OMP_NUM_THREADS", "3,2", 1);
  CHECK(threads_at_first() == 3);
  setenv("OMP_NUM_THREADS", "5", 1);
  check_work(300);
  CHECK(threads_at_first() == 3);
  OK(tensor_set_num_threads(2));
  CHECK(threads_at_first() == 2);
}

static cpu_set_t allowed;

static void bad_values_are_ignored(void) {
  setenv("OMP_NUM_THREADS", "many", 1);
  CHECK(threads_at_first() >= 1 && threads_at_first() <= CPU_COUNT(&allowed));
}

static void affinity_bounds_the_number_of_threads(void) {
  unsetenv("OMP_NUM_THREADS");
  unsetenv("GOMAXPROCS");
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
    if (CPU_ISSET(i, &allowed)) CPU_SET(i, &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(threads_at_first() == 1);
  check_work(300);
}

int main(void) {
  if (word) {
    check_work(300);
    return 0;
  }
  CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  PASSES(a_constructor_makes_the_first_call);
  PASSES(many_threads_make_the_first_call);
  PASSES(first_calls_that_fail);
  PASSES(a_small_stack_makes_the_first_call);
  PASSES(a_timer_interrupts_the_first_call);
  PASSES(the_variable_gives_the_number_of_threads);
  PASSES(bad_values_are_ignored);
  PASSES(affinity_bounds_the_number_of_threads);
  return 0;
}
