// The threads that Go runs on, with signal stacks on which handlers of the program's have room.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

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

typedef struct {
  void *(*body)(void *);
  void *argument;
} task;

static void *run(void *given) {
  const task t = *(task *)given;
  free(given);
  lt_give_signal_stack(NULL);
  return t.body(t.argument);
}

// Both names are of the linker; a program of Go's, such as a test, has them not.
__attribute__((weak)) int __real_pthread_create(pthread_t *, const pthread_attr_t *,
                                                void *(*)(void *), void *);

// What Go calls to make a thread (link).
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument) {
  task *t = malloc(sizeof *t);
  if (!t) return EAGAIN;
  *t = (task){body, argument};
  const int error = __real_pthread_create(thread, attributes, run, t);
  if (error) free(t);
  return error;
}
