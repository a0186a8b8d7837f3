// Asynchronous calls: jobs that run on threads of the addon's own, so that files and names that
// libuv's pool looks up never wait for them. The threads serve all environments.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

#include "addon.h"

typedef enum state { NEW, QUEUED, RUNNING, DONE } state;

enum { MOST_THREADS = 256, MOST_DEVICES = 64 };

// What a call carries of the thread that makes it, and takes to the thread that runs it.
typedef struct modes {
  tensor_device device;
  bool grad, inference;
  int16_t cards;                  // CUDA devices; where there are none, neither of these two counts
  int16_t current;                // the one among them that is current
  int64_t streams[MOST_DEVICES];  // and the current stream of each
} modes;

// Its tensors stay alive, and are not changed by others, until it is done.
typedef struct job {
  lt_call call;
  lt_graph graph;
  lt_env *e;
  state state;   // changed under the pool's lock
  bool settled;  // the signal has rejected the promise
  tensor_dtype default_dtype;
  modes modes;
  lt_kept *saving;  // the hooks on what it saves, NULL for none
  napi_ref raised;  // what a function that it called has thrown
  napi_deferred deferred;
  napi_ref outs;              // an array of the objects that the call returns
  napi_ref caller;            // an error whose stack shows the caller
  napi_async_context context;  // of functions that the call may ask, NULL without
  napi_ref signal, listener;  // an AbortSignal and what listens to it
  struct watch *watch;        // the listener's
  tensor_status status;
  char *message;
  int32_t number;  // of the system, 0 for none
  struct job *previous, *next;
} job;

// What a listener knows, which the signal may keep after the job.
typedef struct watch {
  job *job;
} watch;

typedef struct jobs {
  job *first, *last;
  int64_t count;
} jobs;

// A question of a call that runs, which waits for the answer.
typedef struct asked {
  lt_question *question;
  job *job;
  modes modes;
  enum { OPEN, ANSWERED, FAILED } state;
  struct asked *next;
} asked;

// Who waits until asynchronous calls are done with some tensors, or with all.
typedef struct waiter {
  napi_deferred deferred;
  napi_ref tensors;  // an array
  struct waiter *next;
} waiter;

// What an environment has: all but wake and waiters is read under the pool's lock.
struct lt_async {
  napi_threadsafe_function wake;
  waiter *waiters;
  jobs done;
  int64_t running;
  asked *questions;
  bool closed;
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, finished;  // finished: jobs and answers
  jobs queue;
  int threads, idle, wanted;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .finished = PTHREAD_COND_INITIALIZER};

static void append(jobs *list, job *j) {
  j->previous = list->last, j->next = NULL;
  if (list->last)
    list->last->next = j;
  else
    list->first = j;
  list->last = j;
  list->count++;
}

static void take(jobs *list, job *j) {
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

// ------------------------------------------------------------------------------------------------
// threads

static bool read_modes(modes *m) {
  int64_t cards = 0, current = 0;
  bool read = !tensor_get_default_device(&m->device) && !tensor_is_grad_enabled(&m->grad) &&
              !tensor_is_inference_mode_enabled(&m->inference) &&
              !tensor_device_count("cuda", &cards) &&
              (cards == 0 || !tensor_device_current("cuda", &current));
  m->cards = (int16_t)(cards < MOST_DEVICES ? cards : MOST_DEVICES);
  m->current = (int16_t)current;
  for (int16_t i = 0; i < m->cards && read; i++)
    read = !tensor_stream_current((tensor_device){TENSOR_CUDA, i}, &m->streams[i]);
  return read;
}

static tensor_status set_modes(const modes *m) {
  tensor_status status = tensor_set_default_device(m->device);
  if (!status) status = tensor_set_inference_mode(m->inference);
  if (!status) status = tensor_set_grad_enabled(m->grad);
  for (int16_t i = 0; i < m->cards && !status; i++)
    status = tensor_stream_set_current(m->streams[i]);
  if (status || !m->cards) return status;
  return tensor_device_set_current((tensor_device){TENSOR_CUDA, m->current});
}

static void run(job *j) {
  j->status = lt_run(&j->call, j->default_dtype);
  if (!j->status) return;
  j->message = lt_in_name_of(j->call.name, tensor_last_error());
  j->number = tensor_last_errno();
}

// The job that the thread runs, NULL for the environments' threads.
static _Thread_local job *current;

lt_env *lt_env_of_job(void) { return current ? current->e : NULL; }

// Runs a job on a thread that is not its environment's.
static void run_here(job *j) {
  current = j;
  j->status = set_modes(&j->modes);
  lt_kept *saving = j->saving;
  if (!j->status && saving && !(j->status = lt_push_saving(saving))) j->saving = NULL;
  if (j->status)
    j->message = strdup(tensor_last_error());
  else
    run(j);
  if (saving && !j->saving) tensor_pop_saved_tensors_hooks();
}

bool lt_ask(lt_question *question, bool *is_asked) {
  *is_asked = current != NULL;
  if (!current) return false;
  struct lt_async *async = current->e->async;
  asked a = {.question = question, .job = current};
  question->raised = &current->raised;
  if (!read_modes(&a.modes)) return false;
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

static void *serve(void *unused) {
  (void)unused;
  pthread_mutex_lock(&pool.lock);
  while (pool.threads <= pool.wanted) {
    job *j = pool.queue.first;
    if (!j) {
      pool.idle++;
      pthread_cond_wait(&pool.work, &pool.lock);
      pool.idle--;
      continue;
    }
    take(&pool.queue, j);
    j->state = RUNNING;
    struct lt_async *async = j->e->async;
    async->running++;
    pthread_mutex_unlock(&pool.lock);
    run_here(j);
    pthread_mutex_lock(&pool.lock);
    j->state = DONE;
    bool first = !async->done.first;
    append(&async->done, j);
    async->running--;
    // Under the lock, so that the environment cannot end in between.
    if (first) napi_call_threadsafe_function(async->wake, NULL, napi_tsfn_nonblocking);
    pthread_cond_broadcast(&pool.finished);
  }
  pool.threads--;
  if (pool.queue.first) pthread_cond_signal(&pool.work);
  pthread_mutex_unlock(&pool.lock);
  return NULL;
}

static int processors(void) {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return count > 0 ? count : 1;
}

// How many threads run calls, unless the environment or setAsyncThreads says otherwise.
static int wanted_at_first(void) {
  const char *text = getenv("LIBTENSOR_ASYNC_THREADS");
  int wanted = text ? atoi(text) : 0;
  if (wanted <= 0) wanted = processors();
  return wanted < MOST_THREADS ? wanted : MOST_THREADS;
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

// Queues a job; false where no thread can be had for it.
static bool queue(job *j) {
  pthread_mutex_lock(&pool.lock);
  if (!pool.wanted) pool.wanted = wanted_at_first();
  append(&pool.queue, j);
  j->state = QUEUED;
  bool served = true;
  if (pool.idle >= pool.queue.count) {
    pthread_cond_signal(&pool.work);
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

// ------------------------------------------------------------------------------------------------
// operands

// Memory of an ArrayBuffer can be taken away while a call runs: such operands are copied, and the
// copy back when the call is done. A SharedArrayBuffer stays.
static bool copy_operands(napi_env env, const lt_env *e, lt_call *call) {
  for (int i = 0; call->shares && i < call->held_count; i++) {
    lt_held *held = &call->held[i];
    const lt_memory *m = held->box->memory;
    if (held->box->kind != LT_TENSOR || !m || !m->buffer || !m->buffer->detachable) continue;
    for (int k = 0; k < i; k++)
      if (call->held[k].box == held->box && call->held[k].copy) *held->handle = call->held[k].copy;
    if (*held->handle != held->box->handle) continue;
    tensor_status status = lt_resume(e->default_dtype);
    if (!status) {
      status = tensor_clone(held->box->handle, TENSOR_PRESERVE, &held->copy);
      lt_pause();
    }
    if (status) {
      lt_throw_status(env, status, tensor_last_error());
      return false;
    }
    *held->handle = held->copy;
  }
  return true;
}

static bool same_sizes(const tensor_t *a, const tensor_t *b) {
  int64_t dim = tensor_dim(a);
  return dim == tensor_dim(b) &&
         memcmp(tensor_sizes(a), tensor_sizes(b), (size_t)dim * sizeof dim) == 0;
}

// Gives what was written to a copy to the tensor itself.
static void copy_back(napi_env env, job *j, const lt_held *held) {
  tensor_status status = TENSOR_OK;
  const char *message = NULL;
  if (lt_buffer_detached(env, held->box->memory->buffer)) {
    status = TENSOR_ERROR_HANDLE;
    message = "the ArrayBuffer of a tensor that the call writes was transferred away";
  } else if (!same_sizes(held->box->handle, held->copy)) {
    status = TENSOR_ERROR_RUNTIME;
    message =
        "the memory of an ArrayBuffer is not resizable: out must have the shape of the result";
  } else if ((status = tensor_copy_(held->box->handle, held->copy, false))) {
    message = tensor_last_error();
  }
  if (!status) return;
  j->status = status;
  j->message = strdup(message);
}

static void drop_copies(lt_call *call) {
  for (int i = 0; i < call->held_count; i++) {
    if (call->held[i].copy) tensor_free(call->held[i].copy);
    call->held[i].copy = NULL;
  }
}

static void hold_operands(napi_env env, lt_env *e, lt_call *call) {
  for (int i = 0; i < call->held_count; i++) {
    lt_held *held = &call->held[i];
    lt_use(held->box);
    lt_track(env, e, held->box);
    if (held->access >= LT_WRITES)
      lt_begin_writing(held->box);
    else
      held->box->reading++;
    if (held->access != LT_LOOKS) lt_claim(held);
  }
}

static void release_operands(napi_env env, lt_call *call) {
  for (int i = 0; i < call->held_count; i++) {
    lt_held *held = &call->held[i];
    lt_unclaim(held);
    if (held->access >= LT_WRITES)
      lt_end_writing(held->box);
    else
      held->box->reading--;
    lt_unuse(env, held->box);
  }
}

// A call that makes views of an ArrayBuffer runs at once: a view of a copy would be none. So does a
// run whose graph saved what lies in one.
static bool runs_at_once(const job *j) {
  const lt_call *call = &j->call;
  if (j->graph.shares) return true;
  for (int i = 0; call->shares && i < call->op->result_count; i++)
    if (call->mode == LT_FUNCTION && call->op->results[i].flags & LT_IS_ALIAS) return true;
  return false;
}

// ------------------------------------------------------------------------------------------------
// the objects that the call returns

static int out_count(const lt_call *call) {
  return call->mode == LT_OUT ? call->op->result_count : 1;
}

static bool keep_outs(napi_env env, job *j) {
  napi_value array;
  if (!j->call.outs[0]) return true;
  if (!lt_ok(env, napi_create_array(env, &array))) return false;
  for (int i = 0; i < out_count(&j->call); i++)
    if (!lt_ok(env, napi_set_element(env, array, (uint32_t)i, j->call.outs[i]))) return false;
  return lt_ok(env, napi_create_reference(env, array, 1, &j->outs));
}

static bool restore_outs(napi_env env, job *j) {
  napi_value array;
  if (!j->outs) return true;
  if (!lt_ok(env, napi_get_reference_value(env, j->outs, &array))) return false;
  for (int i = 0; i < out_count(&j->call); i++)
    if (!lt_ok(env, napi_get_element(env, array, (uint32_t)i, &j->call.outs[i]))) return false;
  return true;
}

// ------------------------------------------------------------------------------------------------
// errors

static napi_value take_exception(napi_env env) {
  napi_value error = NULL;
  napi_get_and_clear_last_exception(env, &error);
  return error;
}

// An error whose stack is that of the call.
static bool keep_caller(napi_env env, job *j) {
  napi_value text, error;
  return lt_ok(env, napi_create_string_utf8(env, "", 0, &text)) &&
         lt_ok(env, napi_create_error(env, NULL, text, &error)) &&
         lt_ok(env, napi_create_reference(env, error, 1, &j->caller));
}

static bool get_text(napi_env env, napi_value object, const char *name, char **text) {
  napi_value value;
  size_t length;
  if (napi_get_named_property(env, object, name, &value) != napi_ok ||
      napi_get_value_string_utf8(env, value, NULL, 0, &length) != napi_ok ||
      !(*text = malloc(length + 1)))
    return false;
  return napi_get_value_string_utf8(env, value, *text, length + 1, &length) == napi_ok;
}

// Gives the error the stack of the call: nothing of it is left when the call is done.
static void show_caller(napi_env env, job *j, napi_value error) {
  napi_value caller, stack;
  char *own = NULL, *of_caller = NULL, *whole = NULL;
  if (napi_get_reference_value(env, j->caller, &caller) == napi_ok &&
      get_text(env, error, "stack", &own) && get_text(env, caller, "stack", &of_caller)) {
    const char *frames = strchr(of_caller, '\n');
    char *end = strstr(own, "\n    at ");
    if (end) *end = 0;
    if (frames && (whole = malloc(strlen(own) + strlen(frames) + 1)) &&
        napi_create_string_utf8(env, strcat(strcpy(whole, own), frames), NAPI_AUTO_LENGTH,
                                &stack) == napi_ok) {
      const napi_property_descriptor property = {
          "stack", NULL, NULL, NULL, NULL, stack, napi_writable | napi_configurable, NULL};
      napi_define_properties(env, error, 1, &property);
    }
  }
  free(own), free(of_caller), free(whole);
  take_exception(env);
}

// ------------------------------------------------------------------------------------------------
// ends

static void delete_reference(napi_env env, napi_ref *ref) {
  if (*ref) napi_delete_reference(env, *ref);
  *ref = NULL;
}

static void free_job(napi_env env, job *j) {
  if (j->watch) j->watch->job = NULL;
  lt_release_graph(env, &j->graph);
  drop_copies(&j->call);
  lt_end_call(&j->call);
  delete_reference(env, &j->outs);
  delete_reference(env, &j->caller);
  delete_reference(env, &j->signal);
  delete_reference(env, &j->listener);
  delete_reference(env, &j->raised);
  if (j->context) napi_async_destroy(env, j->context);
  if (j->saving) lt_let_go(j->saving);
  free(j->message);
  free(j);
}

static bool call_signal(napi_env env, job *j, const char *method) {
  napi_value signal, listener, function, event, result;
  if (!j->signal) return true;
  napi_status made = napi_get_reference_value(env, j->signal, &signal);
  if (!made) made = napi_get_reference_value(env, j->listener, &listener);
  if (!made) made = napi_get_named_property(env, signal, method, &function);
  if (!made) made = napi_create_string_utf8(env, "abort", NAPI_AUTO_LENGTH, &event);
  napi_value arguments[] = {event, listener};
  if (!made) made = napi_call_function(env, signal, function, 2, arguments, &result);
  return lt_ok(env, made);
}

// Settles the promise of a job that is done, unless its signal has.
static void settle(napi_env env, job *j) {
  lt_call *call = &j->call;
  napi_value value = NULL, error;
  if (!call_signal(env, j, "removeEventListener")) take_exception(env);
  for (int i = 0; !j->status && i < call->held_count; i++)
    if (call->held[i].copy && call->held[i].access >= LT_WRITES) copy_back(env, j, &call->held[i]);
  if (j->settled) {
    if (!j->status) lt_drop_results(call);
  } else if (!j->status && restore_outs(env, j) && (value = lt_results(env, call))) {
    napi_resolve_deferred(env, j->deferred, value);
  } else {
    const char *message = j->message ? j->message : "the call failed";
    napi_value raised = j->status ? lt_take_raised(env, &j->raised) : NULL;
    error = raised      ? raised
            : j->status ? lt_error(env, j->status, j->number, message)
                        : take_exception(env);
    if (error && !raised) show_caller(env, j, error);
    if (error) napi_reject_deferred(env, j->deferred, error);
  }
}

static void finish(napi_env env, lt_env *e, job *j) {
  napi_handle_scope scope;
  lt_scope *of_caller = e->scope;
  e->scope = NULL;
  release_operands(env, &j->call);
  if (napi_open_handle_scope(env, &scope) == napi_ok) {
    settle(env, j);
    napi_close_handle_scope(env, scope);
  }
  e->scope = of_caller;
  free_job(env, j);
  if (--e->pending == 0) napi_unref_threadsafe_function(env, e->async->wake);
}

// Calls a function in the asynchronous context of the call that asks for it.
static bool answer(napi_env env, const job *asking, lt_question *question) {
  napi_value resource;
  napi_callback_scope scope;
  if (!asking->context || napi_create_object(env, &resource) != napi_ok ||
      napi_open_callback_scope(env, resource, asking->context, &scope) != napi_ok)
    return lt_answer(env, question);
  bool answered = lt_answer(env, question);
  napi_close_callback_scope(env, scope);
  return answered;
}

// Answers what calls that run ask. A question stays in the list until then, so that one is answered
// with a failure where the environment ends meanwhile.
static void answer_all(napi_env env, lt_env *e) {
  struct lt_async *async = e->async;
  modes before;
  if (!read_modes(&before)) return;
  lt_scope *of_caller = e->scope;
  e->scope = NULL;
  pthread_mutex_lock(&pool.lock);
  for (asked *a; (a = async->questions) && !async->closed;) {
    pthread_mutex_unlock(&pool.lock);
    job *asking = a->job;
    asking->graph.paused = true;
    bool answered = !set_modes(&a->modes) && answer(env, asking, a->question);
    pthread_mutex_lock(&pool.lock);
    if (async->questions != a) break;
    asking->graph.paused = false;
    async->questions = a->next;
    a->state = answered ? ANSWERED : FAILED;
    pthread_cond_broadcast(&pool.finished);
  }
  pthread_mutex_unlock(&pool.lock);
  e->scope = of_caller;
  set_modes(&before);
}

// Whether asynchronous calls use one of the tensors in an array, or, where there are none, run.
static bool in_use(napi_env env, const lt_env *e, napi_value tensors) {
  uint32_t count = 0;
  napi_value item;
  if (napi_get_array_length(env, tensors, &count) != napi_ok || count == 0) return e->pending > 0;
  for (uint32_t i = 0; i < count; i++) {
    lt_box *box = napi_get_element(env, tensors, i, &item) == napi_ok ? lt_unwrap(env, item) : NULL;
    if (box && box->users > 0) return true;
  }
  return false;
}

// Tells those that wait for tensors which no call uses any more.
static void tell_waiters(napi_env env, lt_env *e) {
  for (waiter **at = &e->async->waiters, *w; (w = *at);) {
    napi_handle_scope scope;
    napi_value tensors, undefined;
    if (napi_open_handle_scope(env, &scope) != napi_ok) return;
    bool waits = napi_get_reference_value(env, w->tensors, &tensors) == napi_ok &&
                 in_use(env, e, tensors);
    if (!waits && napi_get_undefined(env, &undefined) == napi_ok)
      napi_resolve_deferred(env, w->deferred, undefined);
    napi_close_handle_scope(env, scope);
    if (waits) {
      at = &w->next;
      continue;
    }
    *at = w->next;
    napi_delete_reference(env, w->tensors);
    free(w);
  }
}

// settled(tensors): a promise that is kept when asynchronous calls are done with them.
static napi_value settled(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value tensors, promise = NULL;
  lt_env *e = lt_get_env(env);
  waiter *w = calloc(1, sizeof *w);
  if (!w) return lt_throw_status(env, TENSOR_ERROR_MEMORY, "settled: no memory");
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &tensors, NULL, NULL)) ||
      !lt_ok(env, napi_create_reference(env, tensors, 1, &w->tensors)) ||
      !lt_ok(env, napi_create_promise(env, &w->deferred, &promise))) {
    if (w->tensors) napi_delete_reference(env, w->tensors);
    free(w);
    return NULL;
  }
  w->next = e->async->waiters;
  e->async->waiters = w;
  tell_waiters(env, e);
  return promise;
}

static void finish_all(napi_env env, napi_value unused, void *context, void *data) {
  (void)unused, (void)data;
  lt_env *e = context;
  if (!env) return;
  answer_all(env, e);
  pthread_mutex_lock(&pool.lock);
  job *j = e->async->done.first;
  e->async->done = (jobs){NULL, NULL, 0};
  pthread_mutex_unlock(&pool.lock);
  for (job *next; j; j = next) {
    next = j->next;
    finish(env, e, j);
  }
  if (e->async->waiters) tell_waiters(env, e);
  lt_drain_inbox(env, e);
}

// The environment ends: jobs that wait never run, those that run are waited for, but get no more
// answers, and nobody hears of the results.
static void close_async(void *data) {
  lt_env *e = data;
  pthread_mutex_lock(&pool.lock);
  for (job *j = pool.queue.first, *next; j; j = next) {
    next = j->next;
    if (j->e != e) continue;
    take(&pool.queue, j);
    j->state = QUEUED;
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
  for (job *j = e->async->done.first, *next; j; j = next) {
    next = j->next;
    release_operands(e->env, &j->call);
    if (j->state == DONE && !j->status) lt_drop_results(&j->call);
    free_job(e->env, j);
  }
  e->async->done = (jobs){NULL, NULL, 0};
}

// ------------------------------------------------------------------------------------------------
// signals

// The listener of a job's AbortSignal: the promise is rejected at once; a job that waits never
// runs.
static napi_value aborted(napi_env env, napi_callback_info info) {
  void *data;
  napi_value signal, reason;
  if (!lt_ok(env, napi_get_cb_info(env, info, NULL, NULL, NULL, &data))) return NULL;
  job *j = ((watch *)data)->job;
  if (!j || j->settled || j->state == NEW) return NULL;
  if (!lt_ok(env, napi_get_reference_value(env, j->signal, &signal)) ||
      !lt_ok(env, napi_get_named_property(env, signal, "reason", &reason)))
    return NULL;
  if (((watch *)data)->job != j || j->settled) return NULL;  // the getter did this already
  j->settled = true;
  napi_reject_deferred(env, j->deferred, reason);
  pthread_mutex_lock(&pool.lock);
  bool waits = j->state == QUEUED;
  if (waits) take(&pool.queue, j);
  pthread_mutex_unlock(&pool.lock);
  if (!waits) return NULL;
  j->status = TENSOR_ERROR_RUNTIME;
  lt_env *e = j->e;
  finish(env, e, j);
  if (e->async->waiters) tell_waiters(env, e);
  return NULL;
}

static void free_watch(napi_env env, void *data, void *hint) {
  (void)env, (void)hint;
  watch *w = data;
  if (w->job) w->job->watch = NULL;
  free(w);
}

static bool make_listener(napi_env env, job *j) {
  napi_value listener;
  if (!(j->watch = calloc(1, sizeof *j->watch))) {
    lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for an asynchronous call");
    return false;
  }
  j->watch->job = j;
  if (lt_ok(env, napi_create_function(env, NULL, 0, aborted, j->watch, &listener)) &&
      lt_ok(env, napi_add_finalizer(env, listener, j->watch, free_watch, NULL, NULL)))
    return lt_ok(env, napi_create_reference(env, listener, 1, &j->listener));
  free(j->watch);
  j->watch = NULL;
  return false;
}

// Whether a call with a signal can begin: throws the reason of one that has been aborted.
static bool heed_signal(napi_env env, job *j, napi_value signal) {
  napi_value value;
  napi_valuetype type;
  bool is;
  if (!signal) return true;
  if (!lt_ok(env, napi_typeof(env, signal, &type))) return false;
  if (type != napi_object ||
      !lt_ok(env, napi_has_named_property(env, signal, "addEventListener", &is)) || !is)
    return lt_throw_type(env, "%s: argument 'signal' must be an AbortSignal", j->call.name);
  if (!lt_ok(env, napi_get_named_property(env, signal, "aborted", &value)) ||
      !lt_ok(env, napi_coerce_to_bool(env, value, &value)) ||
      !lt_ok(env, napi_get_value_bool(env, value, &is)))
    return false;
  if (is) {
    if (lt_ok(env, napi_get_named_property(env, signal, "reason", &value))) napi_throw(env, value);
    return false;
  }
  return make_listener(env, j) && lt_ok(env, napi_create_reference(env, signal, 1, &j->signal)) &&
         call_signal(env, j, "addEventListener") && lt_check_held(env, &j->call);
}

// ------------------------------------------------------------------------------------------------
// calls

// A promise that is rejected with the pending exception.
static napi_value rejected(napi_env env) {
  napi_value promise = NULL, error = take_exception(env);
  napi_deferred deferred;
  if (error && napi_create_promise(env, &deferred, &promise) == napi_ok)
    napi_reject_deferred(env, deferred, error);
  return promise;
}

// Of what AsyncLocalStorage has: functions that the call asks for have it, too.
static void keep_context(napi_env env, job *j) {
  napi_value name;
  if (napi_create_string_utf8(env, "libtensor", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_async_init(env, NULL, name, &j->context) != napi_ok)
    j->context = NULL;
}

static napi_value start_job(napi_env env, lt_env *e, napi_callback_info info) {
  napi_value promise, signal;
  job *j = calloc(1, sizeof *j);
  if (!j) return lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for an asynchronous call");
  j->e = e, j->default_dtype = e->default_dtype;
  if (!read_modes(&j->modes)) {
    free(j);
    return lt_throw_status(env, TENSOR_ERROR_RUNTIME, tensor_last_error());
  }
  if (!lt_prepare(env, info, &j->call, &signal)) {
    free(j);
    return rejected(env);
  }
  if (e->saving && !(j->saving = lt_keep_saving(env, e))) {
    free_job(env, j);
    return rejected(env);
  }
  bool heeded = heed_signal(env, j, signal) && lt_hold_graph(env, &j->call, &j->graph);
  bool at_once = runs_at_once(j);
  if (!heeded || !keep_outs(env, j) || !keep_caller(env, j) ||
      (!at_once && !copy_operands(env, e, &j->call)) ||
      !lt_ok(env, napi_create_promise(env, &j->deferred, &promise))) {
    free_job(env, j);
    return rejected(env);
  }
  if (!at_once && (j->saving || lt_runs_graph(&j->call))) keep_context(env, j);
  if (at_once) {
    lt_release_graph(env, &j->graph);
    run(j);
    j->raised = e->raised;
    e->raised = NULL;
  }
  hold_operands(env, e, &j->call);
  if (e->pending++ == 0) napi_ref_threadsafe_function(env, e->async->wake);
  if (!at_once && !queue(j)) {
    j->status = TENSOR_ERROR_MEMORY;
    j->message = strdup("no thread for an asynchronous call");
    at_once = true;
  }
  if (at_once) finish(env, e, j);
  return promise;
}

napi_value lt_invoke_async(napi_env env, napi_callback_info info) {
  lt_env *e = lt_get_env(env);
  lt_keep_boxes(e->pool);
  napi_value promise = start_job(env, e, info);
  lt_leave_boxes(e->pool);
  return promise;
}

// setAsyncThreads(count)
static napi_value set_async_threads(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value value, undefined = NULL;
  lt_js js;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &value, NULL, NULL)) ||
      !lt_look(env, value, &js))
    return NULL;
  if (js.kind != LT_JS_INT || js.scalar.value.i < 1 || js.scalar.value.i > MOST_THREADS) {
    lt_throw_status(env, js.kind == LT_JS_INT ? TENSOR_ERROR_VALUE : TENSOR_ERROR_TYPE,
                    "setAsyncThreads: the number of threads must be an integer from 1 to 256");
    return NULL;
  }
  pthread_mutex_lock(&pool.lock);
  pool.wanted = (int)js.scalar.value.i;
  pthread_cond_broadcast(&pool.work);
  pthread_mutex_unlock(&pool.lock);
  lt_ok(env, napi_get_undefined(env, &undefined));
  return undefined;
}

static napi_value get_async_threads(napi_env env, napi_callback_info info) {
  (void)info;
  pthread_mutex_lock(&pool.lock);
  if (!pool.wanted) pool.wanted = wanted_at_first();
  int wanted = pool.wanted;
  pthread_mutex_unlock(&pool.lock);
  return lt_from_int(env, wanted);
}

bool lt_open_async(napi_env env, lt_env *e, napi_value exports) {
  const napi_property_descriptor functions[] = {
      {"setAsyncThreads", NULL, set_async_threads, NULL, NULL, NULL, napi_default_jsproperty, NULL},
      {"settled", NULL, settled, NULL, NULL, NULL, napi_default, NULL},
      {"getAsyncThreads", NULL, get_async_threads, NULL, NULL, NULL, napi_default_jsproperty, NULL},
  };
  napi_value name;
  e->env = env;
  if (!(e->async = calloc(1, sizeof *e->async))) {
    lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for the environment");
    return false;
  }
  return lt_ok(env, napi_create_string_utf8(env, "libtensor", NAPI_AUTO_LENGTH, &name)) &&
         lt_ok(env, napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, NULL, NULL, e,
                                                    finish_all, &e->async->wake)) &&
         lt_ok(env, napi_unref_threadsafe_function(env, e->async->wake)) &&
         lt_ok(env, napi_add_env_cleanup_hook(env, close_async, e)) &&
         lt_ok(env, napi_define_properties(env, exports, sizeof functions / sizeof *functions,
                                           functions));
}

void lt_free_async(lt_env *e) {
  for (waiter *w = e->async ? e->async->waiters : NULL, *next; w; w = next) {
    next = w->next;
    free(w);
  }
  free(e->async);
}
