// The threads that Go runs on. They are created in advance, since Go ends the process if it cannot
// create one, with signal stacks that are large enough for the program's handlers.
#define _GNU_SOURCE
#include "threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "glibc.h"
#include "start.h"

// Handlers of the program's run on these, on whatever thread a signal finds.
enum { SIGNAL_STACK = 256 << 10, GUARD = 4 << 10 };

void *lt_give_signal_stack(void *stack) {
  stack_t now;
  if (sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE)) return NULL;
  if (!stack) {
    char *base = mmap(NULL, GUARD + SIGNAL_STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return NULL;
    mprotect(base, GUARD, PROT_NONE);
    stack = base + GUARD;
  }
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = SIGNAL_STACK}, NULL);
  return stack;
}

// A waiting thread, and the function that it is to run.
typedef struct seat {
  pthread_t thread;
  pthread_cond_t called;
  void *(*body)(void *);
  void *argument;
  bool settling;
  struct seat *next;
} seat;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t settled = PTHREAD_COND_INITIALIZER;
static seat *waiting;
static int made;  // threads that wait, or that Go has

// The name is the linker's; a program of Go's, such as a test, need not have it.
__attribute__((weak)) int __real_pthread_create(pthread_t *, const pthread_attr_t *,
                                                void *(*)(void *), void *);
LT_FIRST(__real_pthread_create, pthread_create);

// A thread that Go runs on, and whether it blocks the signals that it does not use.
typedef struct runner {
  pid_t id;
  volatile sig_atomic_t blocks;
  struct runner *next;
} runner;

static runner *runners;
static _Thread_local __attribute__((tls_model("initial-exec"))) runner *me;
// Go's handler of SIGURG, with which its scheduler interrupts threads.
static struct sigaction urgent;

// The signal mask in the context becomes the thread's mask after the handler.
static void handle_signal(int number, siginfo_t *info, void *context) {
  if (me) {
    sigset_t *mask = &((ucontext_t *)context)->uc_sigmask;
    static const int useless[] = {SIGCHLD, SIGPROF, SIGSTKFLT};
    for (size_t i = 0; i < sizeof useless / sizeof *useless; i++) sigaddset(mask, useless[i]);
    sigaddset(mask, SIGRTMIN);
    me->blocks = true;
  }
  urgent.sa_sigaction(number, info, context);
}

// The thread receives this signal as soon as Go has set its mask; until then it has the mask of a
// waiting thread.
static void interrupt_later(void) {
  struct sigaction now;
  if (!sigaction(SIGURG, NULL, &now) && now.sa_sigaction == handle_signal)
    pthread_kill(pthread_self(), SIGURG);
}

// Whether all threads that Go has do by now.
static bool all_block(void) {
  pthread_mutex_lock(&lock);
  bool all = true;
  for (runner *r = runners; r; r = r->next) all = all && r->blocks;
  pthread_mutex_unlock(&lock);
  return all;
}

void lt_leave_signals(void) {
  if (sigaction(SIGURG, NULL, &urgent) || !(urgent.sa_flags & SA_SIGINFO)) return;
  struct sigaction ours = urgent;
  ours.sa_sigaction = handle_signal;
  sigaction(SIGURG, &ours, NULL);
  pthread_mutex_lock(&lock);
  for (runner *r = runners; r; r = r->next) syscall(SYS_tgkill, getpid(), r->id, SIGURG);
  pthread_mutex_unlock(&lock);
  // A second is enough for threads that the system is slow to run.
  for (int i = 0; i < 10000 && !all_block(); i++) usleep(100);
}

bool lt_runs_go(void) { return me != NULL; }

static void *leave_thread(void *nothing) { return nothing; }

static void settle_malloc(seat *s) {
  pthread_mutex_unlock(&lock);
  void *volatile first = malloc(1);
  free(first);
  pthread_mutex_lock(&lock);
  s->settling = false;
  pthread_cond_signal(&settled);
}

static void *run_thread(void *given) {
  seat *s = given;
  pthread_mutex_lock(&lock);
  while (!s->body) {
    if (s->settling)
      settle_malloc(s);
    else
      pthread_cond_wait(&s->called, &lock);
  }
  const seat called = *s;
  runner self = {(pid_t)syscall(SYS_gettid), false, runners};
  if (called.body != leave_thread) runners = me = &self;
  pthread_mutex_unlock(&lock);
  pthread_cond_destroy(&s->called);
  free(s);
  if (me) lt_give_signal_stack(NULL), interrupt_later();
  void *result = called.body(called.argument);
  pthread_mutex_lock(&lock);
  if (me) {
    runner **r = &runners;
    while (*r != me) r = &(*r)->next;
    *r = self.next;
    me = NULL;
  }
  made--;
  pthread_mutex_unlock(&lock);
  return result;
}

// Makes a thread that waits, with all signals blocked; the caller has the lock.
static int make_thread(void) {
  seat *s = calloc(1, sizeof *s);
  if (!s) return EAGAIN;
  pthread_cond_init(&s->called, NULL);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const int error = __real_pthread_create(&s->thread, &attributes, run_thread, s);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) return free(s), error;
  s->next = waiting;
  waiting = s;
  made++;
  return 0;
}

// Has the thread that was made last run body; the caller has the lock.
static pthread_t call_thread(void *(*body)(void *), void *argument) {
  seat *s = waiting;
  waiting = s->next;
  const pthread_t thread = s->thread;
  s->body = body;
  s->argument = argument;
  pthread_cond_signal(&s->called);
  return thread;
}

int lt_make_threads(int number) {
  if (!lt_entry) return number;  // Go makes its own, in a program of its
  pthread_mutex_lock(&lock);
  while (made < number && !make_thread()) continue;
  const int had = made;
  pthread_mutex_unlock(&lock);
  return had;
}

void lt_settle_threads(void) {
  pthread_mutex_lock(&lock);
  for (seat *s = waiting; s; s = s->next) {
    s->settling = true;
    pthread_cond_signal(&s->called);
    while (s->settling) pthread_cond_wait(&settled, &lock);
  }
  pthread_mutex_unlock(&lock);
}

void lt_dismiss_threads(void) {
  pthread_mutex_lock(&lock);
  while (waiting) call_thread(leave_thread, NULL);
  pthread_mutex_unlock(&lock);
}

// The function that Go calls to create a thread (link), detached like these.
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument) {
  (void)attributes;
  pthread_mutex_lock(&lock);
  const int error = waiting ? 0 : make_thread();
  if (!error) *thread = call_thread(body, argument);
  pthread_mutex_unlock(&lock);
  return error;
}
