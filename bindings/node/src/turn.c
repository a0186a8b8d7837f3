// The default dtype of the environment whose calls run.
#include <pthread.h>
#include <stdatomic.h>

#include "addon.h"

// The library has one default dtype, and each environment a separate one: calls of environments
// with different defaults alternate. The low bits of a word hold the current dtype, and the rest
// counts the calls that run with it, so that calls need no lock while none waits for another dtype.
enum { TURN_CALL = 1 << 8, TURN_CHANGES = TURN_CALL - 1 };
static struct {
  _Atomic int64_t word, waiting;
  pthread_mutex_t lock;
  pthread_cond_t left;
} turn = {TENSOR_FLOAT32, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};

static bool join_turn(tensor_dtype dtype) {
  int64_t now = turn.word;
  while (now % TURN_CALL == dtype)
    if (atomic_compare_exchange_weak(&turn.word, &now, now + TURN_CALL)) return true;
  return false;
}

// Waits until no call with another dtype runs.
static tensor_status wait_for_turn(tensor_dtype dtype) {
  tensor_status status = TENSOR_OK;
  pthread_mutex_lock(&turn.lock);
  turn.waiting++;
  while (!status && !join_turn(dtype)) {
    int64_t now = turn.word;
    if (now >= TURN_CALL) {
      pthread_cond_wait(&turn.left, &turn.lock);
    } else if (atomic_compare_exchange_strong(&turn.word, &now, TURN_CHANGES)) {
      status = tensor_set_default_dtype(dtype);
      turn.word = status ? now : dtype;
    }
  }
  turn.waiting--;
  pthread_mutex_unlock(&turn.lock);
  return status;
}

static void leave_turn(void) {
  if (atomic_fetch_sub(&turn.word, TURN_CALL) >= 2 * TURN_CALL || !turn.waiting) return;
  pthread_mutex_lock(&turn.lock);
  pthread_cond_broadcast(&turn.left);
  pthread_mutex_unlock(&turn.lock);
}

tensor_dtype lt_pause(void) {
  tensor_dtype dtype = (tensor_dtype)(turn.word % TURN_CALL);
  leave_turn();
  return dtype;
}

tensor_status lt_resume(tensor_dtype dtype) {
  return turn.waiting || !join_turn(dtype) ? wait_for_turn(dtype) : TENSOR_OK;
}
