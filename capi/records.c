// The records of threads: their pins, their modes and their interrupt function.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "_cgo_export.h"
#include "restart.h"
#include "start.h"
#include "table.h"
#include "threads.h"
#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#endif

enum { FIRST_PINS = 64 };

LT_KEPT lt_thread *_Atomic lt_threads;
LT_KEPT _Atomic int32_t lt_several;
LT_KEPT _Atomic int32_t lt_interruptible;
_Thread_local __attribute__((tls_model("initial-exec"))) lt_thread *lt_me;
LT_KEPT static pthread_key_t leaving;
LT_KEPT static pthread_once_t prepared = PTHREAD_ONCE_INIT;

// Go unblocks signals that it wants on a thread that calls it first, such as the one that its
// scheduler interrupts threads with. Here they stay as the program has them.
static void meet_go(lt_thread *thread) {
  if (lt_state != LT_RUNNING) return;
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  void *stack = lt_give_signal_stack(thread->signal_stack);
  if (stack) thread->signal_stack = stack;
  lt_empty(thread, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void leave_go(lt_thread *thread) {
  stack_t now;
  if (thread->signal_stack && !sigaltstack(NULL, &now) && now.ss_sp == thread->signal_stack)
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
}

static void drop_interrupt(lt_thread *t) {
  if (t->interrupt) atomic_fetch_sub(&lt_interruptible, 1);
  t->interrupt = NULL;
}

// Makes a thread's record available to new threads; calls during the rest of its exit join again.
static void leave_record(void *record) {
  lt_thread *t = record;
  lt_me = NULL;
  t->used = t->base = t->calls = 0;
  drop_interrupt(t);
  leave_go(t);
  t->owned = 0;
}

static void create_key(void) {
  if (!pthread_key_create(&leaving, leave_record)) lt_keep_key(leaving);
#ifdef __linux__
  if (syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) return;
#endif
  lt_several = 1;
}

static void wait_barrier(void) {
#ifdef __linux__
  syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}

_Bool lt_join(void) {
  pthread_once(&prepared, create_key);
  lt_thread *t = lt_threads;
  int32_t expected = 0;
  while (t && !atomic_compare_exchange_strong(&t->owned, &expected, 1)) t = t->next, expected = 0;
  if (!t) {
    lt_slot *_Atomic *pins = calloc(FIRST_PINS, sizeof *pins);
    t = calloc(1, sizeof *t);
    if (!t || !pins) return free(t), free(pins), 0;
    t->owned = 1;
    t->pins = pins;
    t->room = FIRST_PINS;
    t->next = lt_threads;
    while (!atomic_compare_exchange_weak(&lt_threads, &t->next, t));
    if (t->next) {
      lt_several = 1;
      wait_barrier();
    }
  }
  t->modes = (lt_modes){.device_type = TENSOR_CPU, .device_index = -1, .grad = 1};
  pthread_setspecific(leaving, t);
  lt_me = t;
  meet_go(t);
  return 1;
}

// The calling thread's pins are of the call that found the library in a forked child. Modes that
// represent objects of the parent's runtime go back to none.
void lt_forget_threads(void) {
  for (lt_thread *t = lt_threads; t; t = t->next) {
    if (t != lt_me) t->interrupt = NULL;
    t->asking = t->cancelled = false;
    t->ready = t->spent = NULL;
    t->spent_count = t->taken = 0;
    t->modes.saving = t->modes.level = 0;
    if (t != lt_me) t->used = t->base = t->calls = t->owned = 0;
  }
  lt_interruptible = lt_me && lt_me->interrupt;
}

__attribute__((cold, noinline)) _Bool lt_make_pins(void) {
  lt_thread *t = lt_me;
  if (!t) return lt_join();
  lt_slot *_Atomic *more = calloc((size_t)t->room * 2, sizeof *more);
  if (!more) return 0;
  for (int64_t i = 0; i < t->room; i++) more[i] = t->pins[i];
  t->pins = more;
  t->room *= 2;
  return 1;
}
