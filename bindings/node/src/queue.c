// A queue of jobs, and threads of the addon's own that run them, so that files and names that
// libuv's pool looks up never wait for them. The threads serve all environments.
#include "queue.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

// A question of a call that runs, which waits for the answer.
typedef struct lt_asked {
  lt_question *question;
  lt_job *job;
  lt_modes modes;
  enum { OPEN, ANSWERED, FAILED } state;
  struct lt_asked *next;
} asked;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, finished;  // finished: jobs and answers
  lt_jobs queue;
  int threads, idle, wanted;
  bool waking;  // a thread was woken and has not looked yet
} pool = {.lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
          .work = PTHREAD_COND_INITIALIZER,
          .finished = PTHREAD_COND_INITIALIZER};

static void append(lt_jobs *list, lt_job *j) {
  j->previous = list->last, j->next = NULL;
  if (list->last)
    list->last->next = j;
  else
    list->first = j;
  list->last = j;
  list->count++;
}

static void take(lt_jobs *list, lt_job *j) {
  if (j->previous)
    j->previous->next = j->next;
  else
    list->first = j->next;
  if (j->next)
    j->next->previous = j->previous;
  else
    list->last = j->previous;
  list->count--;
}

// ----------------------------------------------------------------------------------------- modes

static const char *const autocast_devices[] = {"cpu", "cuda"};

bool lt_read_modes(lt_modes *m) {
  int64_t cards = 0, current = 0;
  bool read = !tensor_get_default_device(&m->device) && !tensor_is_grad_enabled(&m->grad) &&
              !tensor_is_inference_mode_enabled(&m->inference) &&
              !tensor_device_count("cuda", &cards) &&
              (cards == 0 || !tensor_device_current("cuda", &current));
  for (int i = 0; i < 2 && read; i++) {
    read = !tensor_is_autocast_enabled(autocast_devices[i], &m->autocast[i]);
    if (read && m->autocast[i])
      read = !tensor_get_autocast_dtype(autocast_devices[i], &m->autocast_dtype[i]);
  }
  m->cards = (int16_t)(cards < LT_MOST_DEVICES ? cards : LT_MOST_DEVICES);
  m->current = (int16_t)current;
  for (int16_t i = 0; i < m->cards && read; i++)
    read = !tensor_stream_current((tensor_device){TENSOR_CUDA, i}, &m->streams[i]);
  return read;
}

tensor_status lt_set_modes(const lt_modes *m) {
  tensor_status status = tensor_set_default_device(m->device);
  if (!status) status = tensor_set_inference_mode(m->inference);
  if (!status) status = tensor_set_grad_enabled(m->grad);
  for (int i = 0; i < 2 && !status; i++) {
    status = tensor_set_autocast_enabled(autocast_devices[i], m->autocast[i]);
    if (!status && m->autocast[i])
      status = tensor_set_autocast_dtype(autocast_devices[i], m->autocast_dtype[i]);
  }
  for (int16_t i = 0; i < m->cards && !status; i++)
    status = tensor_stream_set_current(m->streams[i]);
  if (status || !m->cards) return status;
  return tensor_device_set_current((tensor_device){TENSOR_CUDA, m->current});
}

// ------------------------------------------------------------------------------------- questions

// The job that the thread runs, NULL for the environments' threads.
static _Thread_local lt_job *current;

lt_env *lt_env_of_job(void) { return current ? current->e : NULL; }

bool lt_ask(lt_question *question, bool *is_asked) {
  *is_asked = current != NULL;
  if (!current) return false;
  struct lt_async *async = current->e->async;
  asked a = {.question = question, .job = current};
  question->raised = &current->raised;
  if (!lt_read_modes(&a.modes)) return false;
  pthread_mutex_lock(&pool.lock);
  if (async->closed) a.state = FAILED;
  if (a.state == OPEN) {
    asked **last = &async->questions;
    while (*last) last = &(*last)->next;
    *last = &a;
    napi_call_threadsafe_function(async->wake, NULL, napi_tsfn_nonblocking);
  }
  while (a.state == OPEN) pthread_cond_wait(&pool.finished, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
  return a.state == ANSWERED;
}

// A question stays in the list until then, so that one is answered
// with a failure where the environment ends meanwhile.
void lt_answer_asked(napi_env env, lt_env *e,
                     bool (*answer)(napi_env env, const lt_job *asking, lt_question *question)) {
  struct lt_async *async = e->async;
  lt_modes before;
  if (!lt_read_modes(&before)) return;
  lt_scope *of_caller = e->scope;
  e->scope = NULL;
  pthread_mutex_lock(&pool.lock);
  for (asked *a; (a = async->questions) && !async->closed;) {
    pthread_mutex_unlock(&pool.lock);
    lt_job *asking = a->job;
    *asking->paused = true;
    bool answered = !lt_set_modes(&a->modes) && answer(env, asking, a->question);
    pthread_mutex_lock(&pool.lock);
    if (async->questions != a) break;
    *asking->paused = false;
    async->questions = a->next;
    a->state = answered ? ANSWERED : FAILED;
    pthread_cond_broadcast(&pool.finished);
  }
  pthread_mutex_unlock(&pool.lock);
  e->scope = of_caller;
  lt_set_modes(&before);
}

// --------------------------------------------------------------------------------------- threads

// Wakes one thread at a time: it wakes the next where it leaves jobs, so that a thread that starts
// many small calls need not.
static void wake_thread(void) {
  if (pool.waking || !pool.idle) return;
  pool.waking = true;
  pthread_cond_signal(&pool.work);
}

static void *serve(void *unused) {
  (void)unused;
  pthread_mutex_lock(&pool.lock);
  while (pool.threads <= pool.wanted) {
    lt_job *j = pool.queue.first;
    if (!j) {
      pool.idle++;
      pthread_cond_wait(&pool.work, &pool.lock);
      pool.idle--;
      pool.waking = false;
      continue;
    }
    take(&pool.queue, j);
    if (pool.queue.first) wake_thread();
    j->state = LT_JOB_RUNNING;
    struct lt_async *async = j->e->async;
    async->running++;
    pthread_mutex_unlock(&pool.lock);
    current = j;
    j->run(j);
    pthread_mutex_lock(&pool.lock);
    j->state = LT_JOB_DONE;
    bool first = !async->done.first;
    append(&async->done, j);
    async->running--;
    // Under the lock, so that the environment cannot end in between.
    if (first) napi_call_threadsafe_function(async->wake, NULL, napi_tsfn_nonblocking);
    pthread_cond_broadcast(&pool.finished);
  }
  pool.threads--;
  if (pool.queue.first) wake_thread();
  pthread_mutex_unlock(&pool.lock);
  return NULL;
}

static int processors(void) {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return count > 0 ? count : 1;
}

// The number of threads for calls, unless the environment or setAsyncThreads sets it.
static int wanted_at_first(void) {
  const char *text = getenv("LIBTENSOR_ASYNC_THREADS");
  int wanted = text ? atoi(text) : 0;
  if (wanted <= 0) wanted = processors();
  return wanted < LT_MOST_THREADS ? wanted : LT_MOST_THREADS;
}

// Starts a thread with all signals blocked: they are for the host's threads.
static bool start_thread(void) {
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(&thread, NULL, serve, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (started) pthread_detach(thread);
  return started;
}

bool lt_queue(lt_job *j) {
  pthread_mutex_lock(&pool.lock);
  if (!pool.wanted) pool.wanted = wanted_at_first();
  append(&pool.queue, j);
  j->state = LT_JOB_QUEUED;
  bool served = true;
  if (pool.idle >= pool.queue.count) {
    wake_thread();
  } else if (pool.threads < pool.wanted) {
    if (start_thread())
      pool.threads++;
    else
      served = pool.threads > 0;
  }
  if (!served) take(&pool.queue, j);
  pthread_mutex_unlock(&pool.lock);
  return served;
}

bool lt_unqueue(lt_job *j) {
  pthread_mutex_lock(&pool.lock);
  bool waits = j->state == LT_JOB_QUEUED;
  if (waits) take(&pool.queue, j);
  pthread_mutex_unlock(&pool.lock);
  return waits;
}

lt_job *lt_take_done(lt_env *e) {
  pthread_mutex_lock(&pool.lock);
  lt_job *first = e->async->done.first;
  e->async->done = (lt_jobs){NULL, NULL, 0};
  pthread_mutex_unlock(&pool.lock);
  return first;
}

void lt_close_queue(lt_env *e) {
  pthread_mutex_lock(&pool.lock);
  for (lt_job *j = pool.queue.first, *next; j; j = next) {
    next = j->next;
    if (j->e != e) continue;
    take(&pool.queue, j);
    append(&e->async->done, j);
  }
  e->async->closed = true;
  for (asked *a; (a = e->async->questions);) {
    e->async->questions = a->next;
    a->state = FAILED;
  }
  pthread_cond_broadcast(&pool.finished);
  while (e->async->running > 0) pthread_cond_wait(&pool.finished, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
}

void lt_set_threads(int wanted) {
  pthread_mutex_lock(&pool.lock);
  pool.wanted = wanted;
  pthread_cond_broadcast(&pool.work);
  pthread_mutex_unlock(&pool.lock);
}

int lt_threads(void) {
  pthread_mutex_lock(&pool.lock);
  if (!pool.wanted) pool.wanted = wanted_at_first();
  int wanted = pool.wanted;
  pthread_mutex_unlock(&pool.lock);
  return wanted;
}
