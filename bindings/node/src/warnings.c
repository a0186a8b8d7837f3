// Reports the library's warnings by process.emitWarning. A call may run on a thread of async.c, so
// that warnings are sent as letters, which the environment reads at the end of the call.
#include <ctype.h>
#include <pthread.h>

#include "addon.h"

typedef struct warning {
  lt_letter letter;
  char code[64];
  char message[];
} warning;

// The environment whose calls the thread makes, NULL on other threads and once it ends.
static _Thread_local lt_env *here;

// The warnings that an environment has reported: each kind of one operator is reported once.
struct lt_told {
  lt_told *next;
  char code[64];
  char operator[];
};

static bool is_new(lt_env *e, const warning *w) {
  const size_t n = strcspn(w->message, ":");
  bool always = false;
  if (!tensor_is_warn_always_enabled(&always) && always) return true;
  for (const lt_told *t = e->told; t; t = t->next)
    if (!strcmp(t->code, w->code) && strlen(t->operator) == n &&
        !memcmp(t->operator, w->message, n))
      return false;
  lt_told *t = calloc(1, sizeof *t + n + 1);
  if (!t) return true;
  memcpy(t->code, w->code, sizeof t->code);
  memcpy(t->operator, w->message, n);
  t->next = e->told;
  e->told = t;
  return true;
}

static bool emit(napi_env env, const warning *w) {
  napi_value global, process, function, arguments[2], type, code, result;
  char *message = lt_in_javascript(w->message);
  bool emitted =
      message && napi_get_global(env, &global) == napi_ok &&
      napi_get_named_property(env, global, "process", &process) == napi_ok &&
      napi_get_named_property(env, process, "emitWarning", &function) == napi_ok &&
      napi_create_string_utf8(env, message, NAPI_AUTO_LENGTH, &arguments[0]) == napi_ok &&
      napi_create_string_utf8(env, "LibtensorWarning", NAPI_AUTO_LENGTH, &type) == napi_ok &&
      napi_create_string_utf8(env, w->code, NAPI_AUTO_LENGTH, &code) == napi_ok &&
      napi_create_object(env, &arguments[1]) == napi_ok &&
      napi_set_named_property(env, arguments[1], "type", type) == napi_ok &&
      napi_set_named_property(env, arguments[1], "code", code) == napi_ok &&
      napi_call_function(env, process, function, 2, arguments, &result) == napi_ok;
  free(message);
  return emitted;
}

// The call may have failed: its exception is saved meanwhile.
static void open_letter(napi_env env, lt_letter *letter) {
  napi_handle_scope scope;
  napi_value raised = NULL, again;
  bool pending = false;
  lt_env *e = lt_get_env(env);
  if (!e->closing && is_new(e, (const warning *)letter) &&
      napi_open_handle_scope(env, &scope) == napi_ok) {
    napi_is_exception_pending(env, &pending);
    if (pending) napi_get_and_clear_last_exception(env, &raised);
    emit(env, (const warning *)letter);
    if (raised) {
      napi_is_exception_pending(env, &pending);
      if (pending) napi_get_and_clear_last_exception(env, &again);
      napi_throw(env, raised);
    }
    napi_close_handle_scope(env, scope);
  }
  free(letter);
}

static tensor_status hear(void *unused, const char *kind, const char *message) {
  (void)unused;
  lt_env *e = lt_env_of_job();
  if (!e) e = here;
  warning *w = e ? calloc(1, sizeof *w + strlen(message) + 1) : NULL;
  if (!w) return TENSOR_OK;
  char *to = stpcpy(w->code, "TENSOR_WARNING_");
  for (; *kind && to < w->code + sizeof w->code - 1; kind++)
    *to++ = (char)toupper((unsigned char)*kind);
  strcpy(w->message, message);
  w->letter.open = open_letter;
  lt_expect(e->inbox, &w->letter);
  lt_post(&w->letter);
  return TENSOR_OK;
}

static void start(void) { tensor_set_warning_handler(hear, NULL, NULL); }

void lt_open_warnings(lt_env *e) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  lt_hear_warnings(e);
}

void lt_hear_warnings(lt_env *e) { here = e; }

void lt_close_warnings(lt_env *e) {
  e->closing = true;
  if (here == e) here = NULL;
  for (lt_told *next; e->told; e->told = next) {
    next = e->told->next;
    free(e->told);
  }
}
