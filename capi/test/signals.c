// The library does not affect the program's signals: it starts no thread before the first call, and
// its threads receive none; handlers have enough stack; faults in the program's code end it as
// without the library.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/time.h>

#include "children.h"

// The program's own signal stacks are looked at, not those of AddressSanitizer.
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "use_sigaltstack=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0";
}

static void loading_starts_no_thread(void) {
  CHECK(threads_now() == 1);
  CHECK(tensor_version() == TENSOR_VERSION && tensor_live_handles() == 0);
  FAILS(tensor_free((tensor_t *)16), TENSOR_ERROR_HANDLE, "not a live tensor");
  CHECK(threads_now() == 1);
  check_work(8);
  CHECK(threads_now() > 1);
}

static void block(sigset_t *set, int number) {
  sigemptyset(set);
  sigaddset(set, number);
  CHECK(pthread_sigmask(SIG_BLOCK, set, NULL) == 0);
}

static void signalfd_takes_what_is_blocked(void) {
  const int numbers[] = {SIGHUP, SIGCHLD, SIGALRM, SIGPIPE, SIGSTKFLT, SIGRTMIN, SIGRTMAX};
  for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
    sigset_t one;
    block(&one, numbers[n]);
    const int fd = signalfd(-1, &one, 0);
    CHECK(fd >= 0);
    check_work(300);
    for (int i = 0; i < 100; i++) {
      kill(getpid(), numbers[n]);
      struct signalfd_siginfo info;
      CHECK(read(fd, &info, sizeof info) == sizeof info && (int)info.ssi_signo == numbers[n]);
    }
    close(fd);
  }
}

static void sigwait_takes_what_is_blocked(void) {
  sigset_t term;
  block(&term, SIGTERM);
  check_work(300);
  for (int i = 0; i < 100; i++) {
    int taken = 0;
    kill(getpid(), SIGTERM);
    CHECK(sigwait(&term, &taken) == 0 && taken == SIGTERM);
  }
}

// Every signal that the program blocks stays so, also those that Go would have for itself.
static void masks_are_kept(void) {
  sigset_t all, before, after;
  sigfillset(&all);
  CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  check_work(300);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  for (int i = 1; i < NSIG; i++) CHECK(sigismember(&before, i) == sigismember(&after, i));
}

static volatile sig_atomic_t alarms;
static void count(int number) {
  (void)number;
  alarms++;
}

static void signalfd_takes_children(void) {
  sigset_t child;
  block(&child, SIGCHLD);
  const int fd = signalfd(-1, &child, 0);
  CHECK(fd >= 0);
  check_work(300);
  for (int i = 0; i < 100; i++) {
    const pid_t forked = fork();
    if (!forked) _exit(7);
    struct signalfd_siginfo info;
    CHECK(read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGCHLD);
    int status = 0;
    CHECK((pid_t)info.ssi_pid == forked && waitpid(forked, &status, 0) == forked &&
          WEXITSTATUS(status) == 7);
    if (i % 10 == 0) check_work(300);
  }
}

// The program's handler runs on the program's threads.
static pthread_t home;
static volatile sig_atomic_t elsewhere;
static void look(int number) {
  (void)number;
  alarms++;
  if (!pthread_equal(pthread_self(), home)) elsewhere++;
}

static void handlers_of_children_run_at_home(void) {
  home = pthread_self();
  sigaction(SIGCHLD, &(struct sigaction){.sa_handler = look, .sa_flags = SA_ONSTACK | SA_RESTART},
            NULL);
  check_work(300);
  for (int i = 0; i < 50; i++) {
    const pid_t forked = fork();
    if (!forked) _exit(0);
    CHECK(waitpid(forked, NULL, 0) == forked);
    check_work(300);
  }
  CHECK(alarms == 50 && elsewhere == 0);
}

// A timer of the program interrupts system calls of the library, which must not cause errors.
static void results_do_not_depend_on_signals(void) {
  char path[] = "/tmp/libtensor-signals-XXXXXX";
  const int fd = mkstemp(path);
  CHECK(fd >= 0);
  close(fd);
  sigaction(SIGALRM, &(struct sigaction){.sa_handler = count, .sa_flags = SA_ONSTACK}, NULL);
  const struct itimerval every = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &every, NULL);
  for (int i = 0; i < 20; i++) {
    tensor_t *made = work(300), **found = NULL;
    int64_t length = 0;
    char *structure = NULL;
    OK(tensor_save(path, "{\"tensor\": 0}", (const tensor_t *[]){made}, 1, false));
    OK(tensor_load(path, NULL, i % 2, &structure, &found, &length));
    bool same = false;
    OK(tensor_equal(made, found[0], &same));
    CHECK(length == 1 && same && data_of(found[0])[89999] == 600);
    tensor_string_free(structure);
    OK(tensor_list_free(found, length));
    OK(tensor_free(made));
  }
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  unlink(path);
  CHECK(alarms > 0);
}

static void use_much_of_the_stack(int number) {
  volatile char frame[160 << 10];
  for (size_t i = 0; i < sizeof frame; i += 64) frame[i] = (char)number;
  alarms += frame[64] == number;
}

static void *raise_in_thread(void *unused) {
  check_work(8);
  raise(SIGUSR1);
  return unused;
}

static void handlers_have_room(void) {
  sigaction(SIGUSR1,
            &(struct sigaction){.sa_handler = use_much_of_the_stack, .sa_flags = SA_ONSTACK}, NULL);
  check_work(8);
  raise(SIGUSR1);
  for (int i = 0; i < 20; i++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, raise_in_thread, NULL) == 0);
    pthread_join(thread, NULL);
  }
  CHECK(alarms == 21);
}

static void stacks_of_the_program_stay(void) {
  static char own[64 << 10];
  CHECK(sigaltstack(&(stack_t){.ss_sp = own, .ss_size = sizeof own}, NULL) == 0);
  check_work(300);
  stack_t now;
  CHECK(sigaltstack(NULL, &now) == 0 && now.ss_sp == own && now.ss_size == sizeof own);
}

static tensor_status fall(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                          int64_t made_len) {
  (void)given, (void)given_len, (void)made, (void)made_len;
  *(volatile int *)context = 1;
  return TENSOR_OK;
}

// Ends the process in a function that the library calls.
static void fault_in_a_hook(void) {
  const int64_t three[] = {3};
  tensor_t *x = floats((float[]){1, 2, 3}, three, 1), *sum = NULL;
  OK(tensor_set_requires_grad(x, true));
  int64_t number;
  OK(tensor_register_hook(x, fall, NULL, NULL, &number));
  OK(tensor_sum(x, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  tensor_backward((const tensor_t *[]){sum}, 1, NULL, 0, 1, false, NULL, 0);
}

static void fault_between_calls(void) {
  check_work(8);
  *(volatile int *)(alarms * 8L) = 1;
}

static void recover(int number) { _exit(number == SIGSEGV ? 42 : 43); }

static void fault_with_a_handler(void) {
  sigaction(SIGSEGV, &(struct sigaction){.sa_handler = recover, .sa_flags = SA_ONSTACK}, NULL);
  fault_in_a_hook();
}

static void sent(void) {
  check_work(8);
  kill(getpid(), SIGSEGV);
  pause();
}

static void broken_pipe(void) {
  int ends_of[2];
  CHECK(pipe(ends_of) == 0);
  check_work(8);
  close(ends_of[0]);
  CHECK(write(ends_of[1], "", 1) == 1);
}

static void stop(void) {
  check_work(8);
  abort();
}

static void killed_by(int number, void (*part)(void)) {
  const int status = ends(part);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == number);
}

int main(void) {
  PASSES(loading_starts_no_thread);
  PASSES(signalfd_takes_what_is_blocked);
  PASSES(signalfd_takes_children);
  PASSES(handlers_of_children_run_at_home);
  PASSES(sigwait_takes_what_is_blocked);
  PASSES(masks_are_kept);
  PASSES(results_do_not_depend_on_signals);
  PASSES(handlers_have_room);
  PASSES(stacks_of_the_program_stay);
  killed_by(SIGSEGV, fault_in_a_hook);
  killed_by(SIGSEGV, fault_between_calls);
  killed_by(SIGSEGV, sent);
  killed_by(SIGPIPE, broken_pipe);
  killed_by(SIGABRT, stop);
  const int status = ends(fault_with_a_handler);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  return 0;
}
