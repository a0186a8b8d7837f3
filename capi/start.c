#define _GNU_SOURCE
#include "start.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "_cgo_export.h"
#include "handle.h"
#include "limits.h"
#include "restart.h"
#include "threads.h"

LT_KEPT static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

// A thread that forks in a function which the library calls returns into the parent's runtime.
LT_KEPT static bool stranded;

static void in_child(void) {
  starting = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  if (lt_state == LT_UNSTARTED) return;
  stranded = stranded || (lt_me && lt_me->calls) || lt_runs_go() || !lt_can_reset();
  lt_state = LT_FORKED;
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

// Go ends the process if it cannot parse its memory limit.
static bool unreadable(const char *variable) {
  static const char name[] = "GOMEMLIMIT=";
  if (strncmp(variable, name, sizeof name - 1) != 0) return false;
  const char *value = variable + sizeof name - 1;
  if (!*value || !strcmp(value, "off")) return false;
  const size_t digits = strspn(value, "0123456789");
  static const struct {
    const char *name;
    size_t digits;  // of which int64 holds all numbers
  } units[] = {{"", 18}, {"B", 18}, {"KiB", 15}, {"MiB", 12}, {"GiB", 9}, {"TiB", 6}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (!strcmp(value + digits, units[i].name)) return !digits || digits > units[i].digits;
  return true;
}

// The arguments that Go's runtime reads at its start, in the form that a process receives them: a
// name, the current environment with the number of processors, and the auxiliary vector. They are
// kept, since Go continues to read them.
static char **arguments(void) {
  static char processors[32];
  static const unsigned long facts[] = {AT_PAGESZ,       AT_RANDOM, AT_SECURE,
                                        AT_SYSINFO_EHDR, AT_HWCAP,  AT_HWCAP2};
  enum { FACTS = sizeof facts / sizeof *facts };
  size_t variables = 0;
  while (environ && environ[variables]) variables++;
  char **block = calloc(2 + variables + 2 + 2 * (FACTS + 1), sizeof *block);
  if (!block) return NULL;
  block[0] = "libtensor";
  char **next = block + 2;
  if (lt_processors()) {  // the first of a name counts
    snprintf(processors, sizeof processors, "GOMAXPROCS=%d", lt_processors());
    *next++ = processors;
  }
  for (size_t i = 0; i < variables; i++)
    if (!unreadable(environ[i])) *next++ = environ[i];
  unsigned long *vector = (unsigned long *)(next + 1);
  for (int i = 0; i < FACTS; i++)
    if (getauxval(facts[i])) *vector++ = facts[i], *vector++ = getauxval(facts[i]);
  return block;
}

// Go passes faults outside of Go code on to the previous handler. Without one, they end the process
// as they do without Go.
static void fault(int number) {
  signal(number, SIG_DFL);
  raise(number);  // a signal that was sent is not repeated by itself
}

static void keep_defaults(void) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    struct sigaction now;
    if (!sigaction(faults[i], NULL, &now) && now.sa_handler == SIG_DFL)
      sigaction(faults[i], &(struct sigaction){.sa_handler = fault, .sa_flags = SA_ONSTACK}, NULL);
  }
}

__attribute__((format(printf, 1, 2))) static void set_start_error(const char *format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  lt_fail(0, text);
}

static char unusable[512];  // why no kernel can run here

// Makes the state of a forked child LT_UNSTARTED.
static tensor_status reset_child(const char *op) {
  if (stranded) {
    set_start_error(
        lt_can_reset()
            ? "%s: libtensor cannot be used in a child process that was forked inside a hook, "
              "callback or deleter; fork outside of it, or start workers with spawn, forkserver "
              "or exec"
            : "%s: libtensor, linked statically, cannot be used in a forked child process once "
              "its parent has used it; fork before the first call, link the shared library, or "
              "start workers with exec",
        op);
    return TENSOR_ERROR_FORKED;
  }
  lt_thread *const me = lt_me;
  const bool is_reset = lt_reset();
  lt_me = me;
  if (!is_reset) {
    set_start_error("%s: not enough memory to start the library in a forked child process", op);
    return TENSOR_ERROR_MEMORY;
  }
  lt_forget_threads();
  lt_state = LT_UNSTARTED;
  return TENSOR_OK;
}

tensor_status lt_start(const char *op) {
  tensor_status status = TENSOR_OK;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_mutex_lock(&starting);
  if (lt_state == LT_FORKED) status = reset_child(op);
  if (lt_state == LT_UNSTARTED) {
    lt_state = LT_STARTING;
    char why[256] = "not enough memory to start the library";
    char **block = lt_make_room(why, sizeof why) ? NULL : arguments();
    if (block && !lt_snapshot()) free(block), block = NULL;
    if (block) {
      keep_defaults();
      lt_entry[0](1, block, block + 2);
      lt_give_signal_stack(NULL);  // otherwise Go allocates a small one for this thread
      lt_unusable(unusable, sizeof unusable);
      lt_leave_signals();
      lt_note_handlers();
    } else {
      set_start_error("%s: %s", op, why);
      status = TENSOR_ERROR_MEMORY;
    }
    lt_state = !block ? LT_UNSTARTED : *unusable ? LT_UNUSABLE : LT_RUNNING;
  }
  if (lt_state == LT_UNUSABLE) {
    set_start_error("%s: %s", op, unusable);
    status = TENSOR_ERROR_NOT_IMPLEMENTED;
  }
  pthread_mutex_unlock(&starting);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return status;
}
