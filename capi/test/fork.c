// Children use the library and their parent's tensors, whether they are forked before or after the
// first call, daemons and their workers among them. The parent is not disturbed.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "children.h"

static void work_alone(void) {
  check_work(300);
  tensor_t *product = work(8);
  CHECK(tensor_live_handles() == 1);
  OK(tensor_free(product));
  CHECK(tensor_live_handles() == 0);
}

// The behavior of daemon() and of a server that forks its workers.
static void serve(void) {
  CHECK(setsid() >= 0);
  for (int i = 0; i < 3; i++) PASSES(work_alone);
  work_alone();
}

static tensor_t *values, *view;

static void use_parents(void) {
  tensor_t *sum = NULL;
  CHECK(tensor_live_handles() == 2);
  OK(tensor_add(values, view, tensor_int(1), &sum));
  CHECK(data_of(sum)[0] == 2 && data_of(sum)[2] == 6);
  OK(tensor_add_(values, view, tensor_int(1)));
  CHECK(data_of(view)[1] == 4 && data_of(values) == data_of(view));
  check_work(300);
  OK(tensor_free(sum));
  CHECK(tensor_live_handles() == 2);
}

static void free_parents(void) {
  tensor_t *stale = view;
  OK(tensor_free(view));  // before the child's first call
  FAILS(tensor_mul_scalar(stale, tensor_int(2), &stale), TENSOR_ERROR_HANDLE, "not a live tensor");
  CHECK(tensor_live_handles() == 1);
  OK(tensor_free(values));
  CHECK(tensor_live_handles() == 0);
}

static void fork_again(void) {
  PASSES(use_parents);
  use_parents();
  OK(tensor_mul_scalar_(values, tensor_float(0.5)));
  PASSES(use_parents);
}

// Handlers that the program installs over Go's, and calls in turn, end a faulting child.
static struct sigaction below;
static void chained(int number, siginfo_t *info, void *context) {
  if (below.sa_flags & SA_SIGINFO)
    below.sa_sigaction(number, info, context);
  else
    _exit(9);
}

static void fault(void) {
  use_parents();
  *(volatile int *)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
}

static void *fork_in_thread(void *nothing) {
  PASSES(use_parents);
  return nothing;
}

static volatile int stop;
static void *compute(void *nothing) {
  while (!stop) check_work(40);
  return nothing;
}

static void compute_in_child(void) { check_work(100); }

int main(void) {
  PASSES(serve);
  const int64_t three[] = {3};
  values = floats((float[]){1, 2, 3}, three, 1);
  OK(tensor_view(values, three, 1, &view));
  PASSES(use_parents);
  PASSES(free_parents);
  PASSES(fork_again);
  const struct sigaction ours = {.sa_sigaction = chained, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  CHECK(sigaction(SIGSEGV, &ours, &below) == 0);
  const int end = ends(fault);  // sanitizers report the fault and exit
  CHECK(WIFSIGNALED(end) ? WTERMSIG(end) == SIGSEGV : WEXITSTATUS(end) == 1);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, fork_in_thread, NULL) == 0 &&
        pthread_join(thread, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, compute, NULL) == 0);
  for (int i = 0; i < 100; i++) PASSES(compute_in_child);
  stop = 1;
  CHECK(pthread_join(thread, NULL) == 0);
  use_parents();
  OK(tensor_free(values));
  OK(tensor_free(view));
  CHECK(tensor_live_handles() == 0);
  return 0;
}
