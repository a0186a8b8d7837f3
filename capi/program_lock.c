// The lock of programs that write to their state, whose runs are executed one after the other.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "interrupt.h"
#include "program.h"

// A thread that runs programs. It holds those of its runs, and waits for at most one.
struct lt_runner {
  const lt_program *awaited;
};

enum { POLL_NANOSECONDS = 10000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static _Thread_local struct lt_runner me;

// Returns whether waiting for a program would deadlock: this thread runs it, or the thread that
// runs it waits, directly or through other threads, for a program that this thread runs.
static bool waits_for_itself(const lt_program *p) {
  for (; p && p->holder; p = p->holder->awaited)
    if (p->holder == &me) return true;
  return false;
}

static tensor_status reject(const lt_program *p) {
  char text[512];
  const char *name = "";
  for (int64_t i = p->state_count; i--;)
    if (p->state[i].is_written) name = p->state[i].name;
  snprintf(text, sizeof text, "program_run: the program writes to its state ('%.200s') and is %s",
           name,
           p->holder == &me
               ? "running on this thread; its operators cannot run it"
               : "running on another thread, which waits for a program that is running on this "
                 "thread; operators of programs cannot run each other's programs");
  lt_fail(0, text);
  return TENSOR_ERROR_RUNTIME;
}

// Waits until a program is released. Returns whether the interrupt function cancels the wait.
static bool wait_for_release(void) {
  if (lt_interruptible == 0) return pthread_cond_wait(&released, &lock), false;
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_nsec += POLL_NANOSECONDS;
  if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
  pthread_cond_timedwait(&released, &lock, &end);
  pthread_mutex_unlock(&lock);
  const bool cancelled = lt_poll_interrupt();
  pthread_mutex_lock(&lock);
  return cancelled;
}

tensor_status lt_lock_program(lt_program *p) {
  tensor_status status = TENSOR_OK;
  pthread_mutex_lock(&lock);
  while (p->holder && !status) {
    if (waits_for_itself(p)) {
      status = reject(p);
      break;
    }
    me.awaited = p;
    if (wait_for_release()) {
      lt_fail(0, "program_run: the call was cancelled");
      status = TENSOR_ERROR_CANCELLED;
    }
    me.awaited = NULL;
  }
  if (!status) p->holder = &me;
  pthread_mutex_unlock(&lock);
  return status;
}

void lt_unlock_program(lt_program *p) {
  pthread_mutex_lock(&lock);
  p->holder = NULL;
  pthread_cond_broadcast(&released);
  pthread_mutex_unlock(&lock);
}

void lt_inherit_program(void *program) { ((lt_program *)program)->holder = NULL; }
