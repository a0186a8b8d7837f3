// Letters to an environment: objects that only its own thread may release can be submitted on any
// thread.
#include <pthread.h>

#include "addon.h"

struct lt_inbox {
  pthread_mutex_t lock;
  _Atomic(lt_letter *) first;
  bool closed;      // the environment is gone, and its references with it
  int64_t holders;  // the environment, and pending letters
};

bool lt_open_inbox(napi_env env, lt_env *e) {
  lt_inbox *inbox = e->inbox = calloc(1, sizeof *inbox);
  if (!inbox) {
    lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for the environment");
    return false;
  }
  pthread_mutex_init(&inbox->lock, NULL);
  inbox->holders = 1;
  return true;
}

// Drops a hold with the lock held; the last one frees.
static void leave(lt_inbox *inbox) {
  bool last = --inbox->holders == 0;
  pthread_mutex_unlock(&inbox->lock);
  if (!last) return;
  pthread_mutex_destroy(&inbox->lock);
  free(inbox);
}

// Opens letters in the order in which they came.
static void open_all(napi_env env, lt_letter *last) {
  lt_letter *first = NULL, *next;
  for (; last; last = next) {
    next = last->next;
    last->next = first;
    first = last;
  }
  for (; first; first = next) {
    next = first->next;
    first->open(env, first);
  }
}

void lt_close_inbox(napi_env env, lt_env *e) {
  lt_inbox *inbox = e->inbox;
  pthread_mutex_lock(&inbox->lock);
  inbox->closed = true;
  lt_letter *letters = inbox->first;
  inbox->first = NULL;
  leave(inbox);
  open_all(env, letters);
}

void lt_expect(lt_inbox *inbox, lt_letter *letter) {
  letter->to = inbox;
  pthread_mutex_lock(&inbox->lock);
  inbox->holders++;
  pthread_mutex_unlock(&inbox->lock);
}

void lt_post(lt_letter *letter) {
  lt_inbox *inbox = letter->to;
  pthread_mutex_lock(&inbox->lock);
  if (inbox->closed) {
    free(letter);
  } else {
    letter->next = inbox->first;
    inbox->first = letter;
  }
  leave(inbox);
}

void lt_drain_inbox(napi_env env, lt_env *e) {
  if (!e->inbox->first) return;
  pthread_mutex_lock(&e->inbox->lock);
  lt_letter *letters = e->inbox->first;
  e->inbox->first = NULL;
  pthread_mutex_unlock(&e->inbox->lock);
  open_all(env, letters);
}
