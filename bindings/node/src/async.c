// Asynchronous calls: held objects and copies, completion, and abortion.
#include <stdatomic.h>
#include <stdio.h>

#include "queue.h"

// Its tensors stay alive, and are not changed by others, until it is done.
typedef struct job {
  lt_job base;
  lt_call call;
  lt_graph graph;
  bool settled;         // the signal has rejected the promise
  atomic_bool stopped;  // the call is to stop, if it runs
  tensor_dtype default_dtype;
  lt_kept *saving;  // the saved-tensor hooks, NULL for none
  napi_deferred deferred;
  napi_ref outs;               // an array of the objects that the call returns
  napi_ref caller;             // an error whose stack shows the caller
  napi_async_context context;  // for callbacks of the call, or NULL
  napi_ref signal, listener;   // an AbortSignal and its listener
  struct watch *watch;         // the listener's
  tensor_status status;
  char *message;
  int32_t number;  // of the system, 0 for none
} job;

// The data of a listener, which the signal may keep after the job.
typedef struct watch {
  job *job;
} watch;

// ------------------------------------------------------------------------------------------ runs

static void run(job *j) {
  j->status = lt_run_call(&j->call, j->default_dtype);
  if (!j->status) return;
  j->message = lt_in_name_of(j->call.name, tensor_last_error());
  j->number = tensor_last_errno();
}

// A tensor_interrupt.
static bool is_stopped(void *context) { return ((job *)context)->stopped; }

// Runs a job on a thread that is not its environment's.
static void run_here(lt_job *base) {
  job *j = (job *)base;
  j->status = lt_set_modes(&j->base.modes);
  lt_kept *saving = j->saving;
  if (!j->status && saving && !(j->status = lt_push_saving(saving))) j->saving = NULL;
  if (!j->status && j->signal) j->status = tensor_set_interrupt(is_stopped, j, 0);
  if (j->status)
    j->message = strdup(tensor_last_error());
  else
    run(j);
  if (j->signal) tensor_set_interrupt(NULL, NULL, 0);
  if (saving && !j->saving) tensor_pop_saved_tensors_hooks();
}

// -------------------------------------------------------------------------------------- operands

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

// A call that makes views of an ArrayBuffer runs immediately: a view of a copy would not share
// memory. So do calls with operands that are views of each other in ArrayBuffers, and backward
// passes with saved tensors in an ArrayBuffer.
static bool runs_at_once(const job *j) {
  const lt_call *call = &j->call;
  if (j->graph.shares || (call->shares && lt_writes_shared(call))) return true;
  for (int i = 0; call->shares && i < call->op->result_count; i++)
    if (call->mode != LT_OUT && call->op->results[i].flags & LT_IS_ALIAS) return true;
  return false;
}

// ------------------------------------------------------------- the objects that the call returns

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

// ---------------------------------------------------------------------------------------- errors

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

// Returns the error the stack of the call: nothing of it is left when the call is done.
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

// ------------------------------------------------------------------------------------------ ends

static void delete_reference(napi_env env, napi_ref *ref) {
  if (*ref) napi_delete_reference(env, *ref);
  *ref = NULL;
}

static void free_job(napi_env env, job *j) {
  if (j->watch) j->watch->job = NULL;
  lt_release_graph(env, &j->graph);
  lt_drop_copies(&j->call);
  lt_end_call(&j->call);
  delete_reference(env, &j->outs);
  delete_reference(env, &j->caller);
  delete_reference(env, &j->signal);
  delete_reference(env, &j->listener);
  delete_reference(env, &j->base.raised);
  if (j->context) napi_async_destroy(env, j->context);
  if (j->saving) lt_let_go(j->saving);
  free(j->message);
  free(j);
}

// Calls a function of lib/signals.js with a job's signal and listener.
static bool call_signal(napi_env env, const job *j, napi_ref function) {
  napi_value callee, arguments[2], result;
  if (!j->signal) return true;
  napi_status made = napi_get_reference_value(env, function, &callee);
  if (!made) made = napi_get_reference_value(env, j->signal, &arguments[0]);
  if (!made) made = napi_get_reference_value(env, j->listener, &arguments[1]);
  if (!made) made = napi_call_function(env, callee, callee, 2, arguments, &result);
  return lt_ok(env, made);
}

// Settles the promise of a job that is done, unless its signal has.
static void settle(napi_env env, job *j) {
  lt_call *call = &j->call;
  napi_value value = NULL, error;
  if (!call_signal(env, j, j->base.e->unwatch)) take_exception(env);
  if (j->settled) {
    if (!j->status) lt_drop_results(call);
  } else if (!j->status && restore_outs(env, j) && (value = lt_results(env, call))) {
    napi_resolve_deferred(env, j->deferred, value);
  } else {
    const char *message = j->message ? j->message : "the call failed";
    napi_value raised = j->status ? lt_take_raised(env, &j->base.raised) : NULL;
    error = raised      ? raised
            : j->status ? lt_error(env, j->status, j->number, message)
                        : take_exception(env);
    if (error && !raised) show_caller(env, j, error);
    if (error) napi_reject_deferred(env, j->deferred, error);
  }
}

// Copies results back from staging tensors, under the call's modes.
static void copy_back(napi_env env, job *j) {
  lt_modes before;
  if (!lt_read_modes(&before)) return;
  if (!(j->status = lt_set_modes(&j->base.modes)))
    j->status = lt_copy_back(env, &j->call, &j->message);
  lt_set_modes(&before);
}

// While calls run, the event loop and the package's JavaScript stay.
static void begin_pending(napi_env env, lt_env *e) {
  if (e->pending++ > 0) return;
  napi_ref_threadsafe_function(env, e->async->wake);
  napi_reference_ref(env, e->parts, NULL);
}

static void end_pending(napi_env env, lt_env *e) {
  if (--e->pending > 0) return;
  napi_unref_threadsafe_function(env, e->async->wake);
  napi_reference_unref(env, e->parts, NULL);
}

static void finish(napi_env env, lt_env *e, job *j) {
  napi_handle_scope scope;
  lt_scope *of_caller = e->scope;
  e->scope = NULL;
  bool opened = napi_open_handle_scope(env, &scope) == napi_ok;
  // Before the tensors go that were disposed meanwhile.
  if (opened && j->call.shares && !j->status) copy_back(env, j);
  release_operands(env, &j->call);
  if (opened) {
    settle(env, j);
    napi_close_handle_scope(env, scope);
  }
  e->scope = of_caller;
  free_job(env, j);
  end_pending(env, e);
}

// Calls a function in the asynchronous context of the call that requests it.
static bool answer(napi_env env, const lt_job *base, lt_question *question) {
  const job *asking = (const job *)base;
  napi_value resource;
  napi_callback_scope scope;
  if (!asking->context || napi_create_object(env, &resource) != napi_ok ||
      napi_open_callback_scope(env, resource, asking->context, &scope) != napi_ok)
    return lt_answer(env, question);
  bool answered = lt_answer(env, question);
  napi_close_callback_scope(env, scope);
  return answered;
}

static void finish_all(napi_env env, napi_value unused, void *context, void *data) {
  (void)unused, (void)data;
  lt_env *e = context;
  if (!env) return;
  lt_answer_asked(env, e, answer);
  for (lt_job *j = lt_take_done(e), *next; j; j = next) {
    next = j->next;
    finish(env, e, (job *)j);
  }
  lt_tell_waiters(env, e);
  lt_drain_inbox(env, e);
}

// The environment ends: the results are discarded.
static void close_async(void *data) {
  lt_env *e = data;
  lt_close_queue(e);
  for (lt_job *base = lt_take_done(e), *next; base; base = next) {
    job *j = (job *)base;
    next = base->next;
    release_operands(e->env, &j->call);
    if (base->state == LT_JOB_DONE && !j->status) lt_drop_results(&j->call);
    free_job(e->env, j);
  }
}

// --------------------------------------------------------------------------------------- signals

// The listener of a job's AbortSignal: the promise is rejected at once; a job that waits never
// runs.
static napi_value aborted(napi_env env, napi_callback_info info) {
  void *data;
  napi_value signal, reason;
  if (!lt_ok(env, napi_get_cb_info(env, info, NULL, NULL, NULL, &data))) return NULL;
  job *j = ((watch *)data)->job;
  if (!j || j->settled || j->base.state == LT_JOB_NEW) return NULL;
  if (!lt_ok(env, napi_get_reference_value(env, j->signal, &signal)) ||
      !lt_ok(env, napi_get_named_property(env, signal, "reason", &reason)))
    return NULL;
  if (((watch *)data)->job != j || j->settled) return NULL;  // the getter did this already
  j->settled = true;
  j->stopped = true;
  napi_reject_deferred(env, j->deferred, reason);
  if (!lt_unqueue(&j->base)) return NULL;
  j->status = TENSOR_ERROR_RUNTIME;
  lt_env *e = j->base.e;
  finish(env, e, j);
  lt_tell_waiters(env, e);
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
         call_signal(env, j, j->base.e->watch) && lt_check_held(env, &j->call);
}

// ----------------------------------------------------------------------------------------- calls

// A promise that is rejected with the pending exception.
static napi_value rejected(napi_env env) {
  napi_value promise = NULL, error = take_exception(env);
  napi_deferred deferred;
  if (error && napi_create_promise(env, &deferred, &promise) == napi_ok)
    napi_reject_deferred(env, deferred, error);
  return promise;
}

// Keeps the AsyncLocalStorage context for callbacks of the call.
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
  j->base.e = e, j->default_dtype = e->default_dtype;
  j->base.run = run_here, j->base.paused = &j->graph.paused;
  if (!lt_read_modes(&j->base.modes)) {
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
      (!at_once && !lt_copy_operands(env, e, &j->call)) ||
      !lt_ok(env, napi_create_promise(env, &j->deferred, &promise))) {
    promise = rejected(env);
    if (!call_signal(env, j, e->unwatch)) take_exception(env);
    free_job(env, j);
    return promise;
  }
  if (!at_once && (j->saving || lt_runs_graph(&j->call))) keep_context(env, j);
  if (at_once) {
    lt_release_graph(env, &j->graph);
    run(j);
    j->base.raised = e->raised;
    e->raised = NULL;
  }
  hold_operands(env, e, &j->call);
  begin_pending(env, e);
  if (!at_once && !lt_queue(&j->base)) {
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
  if (js.kind != LT_JS_INT || js.scalar.value.i < 1 || js.scalar.value.i > LT_MOST_THREADS) {
    lt_throw_status(env, js.kind == LT_JS_INT ? TENSOR_ERROR_VALUE : TENSOR_ERROR_TYPE,
                    "setAsyncThreads: the number of threads must be an integer from 1 to 256");
    return NULL;
  }
  lt_set_threads((int)js.scalar.value.i);
  lt_ok(env, napi_get_undefined(env, &undefined));
  return undefined;
}

static napi_value get_async_threads(napi_env env, napi_callback_info info) {
  (void)info;
  return lt_from_int(env, lt_threads());
}

bool lt_open_async(napi_env env, lt_env *e, napi_value exports) {
  const napi_property_descriptor functions[] = {
      {"setAsyncThreads", NULL, set_async_threads, NULL, NULL, NULL, napi_default_jsproperty, NULL},
      {"settled", NULL, lt_settled, NULL, NULL, NULL, napi_default, NULL},
      {"getAsyncThreads", NULL, get_async_threads, NULL, NULL, NULL, napi_default_jsproperty, NULL},
  };
  napi_value name;
  if (!lt_ok(env,
             napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions)))
    return false;
  if (e->async) return true;  // of an attempt to load the package that failed
  e->env = env;
  if (!(e->async = calloc(1, sizeof *e->async))) {
    lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for the environment");
    return false;
  }
  return lt_ok(env, napi_create_string_utf8(env, "libtensor", NAPI_AUTO_LENGTH, &name)) &&
         lt_ok(env, napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, NULL, NULL, e,
                                                    finish_all, &e->async->wake)) &&
         lt_ok(env, napi_unref_threadsafe_function(env, e->async->wake)) &&
         lt_ok(env, napi_add_env_cleanup_hook(env, close_async, e));
}

void lt_free_async(lt_env *e) {
  lt_free_waiters(e);
  free(e->async);
}
