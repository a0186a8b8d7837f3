// Calls of custom operators: arguments and results of the application's functions.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"
#include "custom.h"
#include "handle.h"
#include "observer.h"

// --------------------------------------------------------------------------------------- arguments

// The value of an argument, in the type of its parameter.
static tensor_value value_of(char kind, const lt_value *a) {
  tensor_value v = {.kind = TENSOR_VALUE_NONE};
  const bool optional = islower((unsigned char)kind);
  switch (toupper((unsigned char)kind)) {
    case 'T':
      if (a->pointer) v.kind = TENSOR_VALUE_TENSOR, v.as.tensor = a->pointer;
      break;
    case 'I':
      if (!optional || a->i != TENSOR_NONE) v.kind = TENSOR_VALUE_INT, v.as.i = a->i;
      break;
    case 'F':
      if (!optional)
        v.kind = TENSOR_VALUE_FLOAT, v.as.f = a->f;
      else if (a->pointer)
        v.kind = TENSOR_VALUE_FLOAT, v.as.f = *(const double *)a->pointer;
      break;
    case 'B':
      if (!optional || a->i >= 0) v.kind = TENSOR_VALUE_BOOL, v.as.b = a->i != 0;
      break;
    case 'S':
      switch (a->scalar.kind) {
        case TENSOR_SCALAR_BOOL:
          v.kind = TENSOR_VALUE_BOOL, v.as.b = a->scalar.value.i != 0;
          break;
        case TENSOR_SCALAR_INT:
          v.kind = TENSOR_VALUE_INT, v.as.i = a->scalar.value.i;
          break;
        case TENSOR_SCALAR_UINT:
          v.kind = TENSOR_VALUE_UINT, v.as.u = a->scalar.value.u;
          break;
        case TENSOR_SCALAR_FLOAT:
          v.kind = TENSOR_VALUE_FLOAT, v.as.f = a->scalar.value.f.re;
          break;
        case TENSOR_SCALAR_COMPLEX:
          v.kind = TENSOR_VALUE_COMPLEX;
          v.as.c[0] = a->scalar.value.f.re, v.as.c[1] = a->scalar.value.f.im;
      }
      break;
    case 'U':
      if (a->text) v.kind = TENSOR_VALUE_STRING, v.as.string = a->text;
      break;
    case 'D':
      if (a->i >= 0) v.kind = TENSOR_VALUE_DTYPE, v.as.dtype = (tensor_dtype)a->i;
      break;
    case 'Y':
      if (a->i >= 0) v.kind = TENSOR_VALUE_LAYOUT, v.as.layout = (tensor_layout)a->i;
      break;
    case 'M':
      if (a->i >= 0)
        v.kind = TENSOR_VALUE_MEMORY_FORMAT, v.as.memory_format = (tensor_memory_format)a->i;
      break;
    case 'C':
      if (a->device.type >= 0) v.kind = TENSOR_VALUE_DEVICE, v.as.device = a->device;
      break;
    case 'G':
      if (a->pointer) v.kind = TENSOR_VALUE_GENERATOR, v.as.generator = a->pointer;
      break;
    default: {
      static const struct {
        char letter;
        tensor_value_kind kind;
      } lists[] = {{'A', TENSOR_VALUE_TENSORS}, {'Z', TENSOR_VALUE_TENSORS},
                   {'L', TENSOR_VALUE_INTS},    {'E', TENSOR_VALUE_FLOATS},
                   {'H', TENSOR_VALUE_BOOLS},   {'N', TENSOR_VALUE_SCALARS},
                   {'K', TENSOR_VALUE_STRINGS}};
      for (size_t i = 0; i < sizeof lists / sizeof *lists && a->list.data; i++)
        if (lists[i].letter == toupper((unsigned char)kind))
          v.kind = lists[i].kind, v.length = a->list.length, v.as.ints = a->list.data;
    }
  }
  return v;
}

// Resolves the tensors of an argument, and adds them to a list.
static bool add_tensors(lt_custom_call *c, int formal, const tensor_value *v, tensor_t **list) {
  const lt_formal *f = c->target->formals + formal;
  const bool one = v->kind == TENSOR_VALUE_TENSOR;
  if (!one && v->kind != TENSOR_VALUE_TENSORS) return true;
  tensor_t *const *items = one ? &v->as.tensor : v->as.tensors;
  for (int64_t i = 0; i < (one ? 1 : v->length); i++) {
    if (!items[i]) {
      if (f->kind == 'Z') continue;
      lt_resolve(NULL, LT_TENSOR, c->target->name, f->name);
      return false;
    }
    if (!lt_resolve(items[i], LT_TENSOR, c->target->name, f->name)) return false;
    c->formals[c->tensor_count] = (uint8_t)formal;
    list[c->tensor_count++] = items[i];
  }
  return true;
}

static int64_t count_tensors(const tensor_value *values, int count) {
  int64_t n = 0;
  for (int i = 0; i < count; i++)
    n += values[i].kind == TENSOR_VALUE_TENSOR    ? 1
         : values[i].kind == TENSOR_VALUE_TENSORS ? values[i].length
                                                  : 0;
  return n;
}

// Distributes the results of the call; frees the list.
static void distribute(const lt_custom_call *c, lt_value *list, lt_value *a) {
  const lt_target *t = c->target;
  void **handles = (void **)list->list.data;
  int64_t at = 0;
  for (int i = 0; t->results[i]; i++) {
    const tensor_value *v = c->results + i;
    switch (t->results[i]) {
      case 'T':
        a[i].pointer = handles[at++];
        break;
      case 'A': {
        const int64_t n = c->lengths[i];
        void **items = malloc((size_t)(n + 1) * sizeof *items);
        for (int64_t k = 0; k < n; k++)
          if (items)
            items[k] = handles[at + k];
          else
            tensor_free(handles[at + k]);
        at += n;
        a[i].list.data = items, a[i].list.length = items ? n : 0;
        break;
      }
      case 'F':
        a[i].f = v->kind == TENSOR_VALUE_INT ? (double)v->as.i : v->as.f;
        break;
      case 'B':
        a[i].i = v->as.b;
        break;
      case 'I':
        a[i].i = v->as.i;
        break;
      default:
        a[i].scalar = v->kind == TENSOR_VALUE_INT     ? tensor_int(v->as.i)
                      : v->kind == TENSOR_VALUE_BOOL  ? tensor_bool(v->as.b)
                      : v->kind == TENSOR_VALUE_FLOAT ? tensor_float(v->as.f)
                                                      : tensor_complex(v->as.c[0], v->as.c[1]);
    }
  }
  free(handles);
}

tensor_status lt_run_custom(const lt_target *t, lt_value *a) {
  tensor_t *few[LT_FEW_TENSORS], **list = few;
  uint8_t few_formals[LT_FEW_TENSORS];
  lt_custom_call c = {.target = t, .formals = few_formals};
  c.definition = lt_hold_definition(t);
  if (!c.definition) return TENSOR_ERROR_NOT_IMPLEMENTED;
  for (int i = 0; i < t->count; i++) c.arguments[i] = value_of(t->formals[i].kind, a + i);
  const int64_t n = count_tensors(c.arguments, t->count);
  if (n > LT_FEW_TENSORS) {
    list = malloc((size_t)n * (sizeof *list + 1));
    c.formals = (uint8_t *)(list + n);
  }
  tensor_status status = list ? TENSOR_OK : TENSOR_ERROR_MEMORY;
  if (!list) lt_fail(0, "custom operator: not enough memory for the list of tensors");
  for (int i = 0; i < t->count && !status; i++)
    if (!add_tensors(&c, i, c.arguments + i, list)) status = TENSOR_ERROR_HANDLE;
  if (!status) {
    lt_value arguments[2];
    arguments[0].list.data = list, arguments[0].list.length = c.tensor_count;
    arguments[1].pointer = &c;
    lt_frame frame = {.args = arguments, .runs = true};
    lt_observation observation = {.observer = NULL};
    if (lt_is_observed()) lt_observe_tensors(&observation, t->name, list, c.tensor_count);
    status = lt_invoke_with(&frame, t->name, lt_enter_custom);
    if (observation.observer)
      lt_observe_end_tensors(&observation, status, frame.results[0].list.data,
                             frame.results[0].list.length);
    if (!status) distribute(&c, frame.results, a);
  }
  if (list != few) free(list);
  lt_release_definition(c.definition);
  return status;
}

// --------------------------------------------------------------------------------------- functions

// Returns an error of a function of the application.
__attribute__((format(printf, 2, 3))) static int32_t fail(const lt_custom_call *c,
                                                          const char *format, ...) {
  char text[1024];
  const int n = snprintf(text, sizeof text, "%s: ", c->target->name);
  va_list values;
  va_start(values, format);
  vsnprintf(text + n, sizeof text - (size_t)n, format, values);
  va_end(values);
  tensor_set_last_error(text);
  return TENSOR_ERROR_CALLBACK;
}

// Returns whether an item of a list is a tensor: those that are NULL are not among the tensors of a
// call.
static bool has_item(const tensor_value *list, int64_t i) {
  return !list->as.tensors || list->as.tensors[i];
}

// Fills in handles for the tensors of values; returns the memory of the lists, which the caller
// frees. *failed is set if there is none.
static void *fill(const tensor_value *from, int count, int64_t *at, const uintptr_t *given,
                  tensor_value *to, bool *failed) {
  int64_t room = 0;
  for (int i = 0; i < count; i++)
    if (from[i].kind == TENSOR_VALUE_TENSORS) room += from[i].length;
  tensor_t **lists = room ? calloc((size_t)room, sizeof *lists) : NULL, **next = lists;
  if ((*failed = room && !lists)) return NULL;
  for (int i = 0; i < count; i++) {
    to[i] = from[i];
    if (from[i].kind == TENSOR_VALUE_TENSOR) {
      to[i].as.tensor = (tensor_t *)given[(*at)++];
      if (!to[i].as.tensor) to[i].kind = TENSOR_VALUE_NONE;  // not saved
    } else if (from[i].kind == TENSOR_VALUE_TENSORS) {
      for (int64_t k = 0; k < from[i].length; k++, next++)
        if (has_item(from + i, k)) *next = (tensor_t *)given[(*at)++];
      to[i].as.tensors = next - from[i].length;
    }
  }
  return lists;
}

// Returns whether a handle is in a list.
static bool has_handle(const uintptr_t *handles, int64_t n, const void *handle) {
  for (int64_t i = 0; i < n; i++)
    if (handles[i] == (uintptr_t)handle) return true;
  return false;
}

// Frees a result, unless it is no live handle or one of those that were given: the last error is
// kept.
static void free_handle(tensor_t *handle, const uintptr_t *given, int64_t n) {
  const lt_slot *slot = has_handle(given, n, handle) ? NULL : lt_find(handle);
  if (slot && slot->kind == LT_TENSOR) tensor_free(handle);
}

static void free_value(tensor_value *v, const uintptr_t *given, int64_t n) {
  if (v->kind == TENSOR_VALUE_TENSOR) free_handle(v->as.tensor, given, n);
  if (v->kind != TENSOR_VALUE_TENSORS || !v->as.tensors) return;
  const int64_t length = v->length <= LT_LONGEST ? v->length : 0;  // an invalid one has no items
  for (int64_t i = 0; i < length; i++) free_handle(v->as.tensors[i], given, n);
  free((void *)v->as.tensors);
}

// What a value is called in errors.
typedef struct place {
  const char *what;  // "result" or "gradient"
  int number;
  const char *name;  // of the argument, or NULL
} place;

static int32_t reject(const lt_custom_call *c, const place *p, const char *problem) {
  if (p->name) return fail(c, "the %s of argument '%s' %s", p->what, p->name, problem);
  return fail(c, "%s %d %s", p->what, p->number, problem);
}

static int32_t check_handle(const lt_custom_call *c, const place *p, const void *handle,
                            const uintptr_t *given, int64_t n, const lt_made *made) {
  if (has_handle(given, n, handle))
    return reject(c, p,
                  "is the handle of an argument, which belongs to the library; return a new "
                  "reference, such as the result of tensor_detach()");
  if (handle && has_handle(made->handles, made->count, handle))
    return reject(c, p, "is a handle that was returned already; return a new reference");
  const lt_slot *slot = lt_find(handle);
  if (!slot || slot->kind != LT_TENSOR) return reject(c, p, "is not a live tensor");
  return TENSOR_OK;
}

static bool is_number(char letter, tensor_value_kind kind) {
  switch (letter) {
    case 'I':
      return kind == TENSOR_VALUE_INT;
    case 'B':
      return kind == TENSOR_VALUE_BOOL;
    case 'F':
      return kind == TENSOR_VALUE_FLOAT || kind == TENSOR_VALUE_INT;
    default:
      return kind == TENSOR_VALUE_INT || kind == TENSOR_VALUE_BOOL || kind == TENSOR_VALUE_FLOAT ||
             kind == TENSOR_VALUE_COMPLEX;
  }
}

static int32_t reject_kind(const lt_custom_call *c, const place *p, const tensor_value *v,
                           const char *required) {
  char shown[128], text[256];
  lt_show_value(v, shown, sizeof shown);
  snprintf(text, sizeof text, "is %s; %s is required", shown, required);
  return reject(c, p, text);
}

static int32_t collect_one(const lt_custom_call *c, const place *p, const tensor_value *v,
                           const uintptr_t *given, int64_t n, lt_made *made) {
  if (p->name && v->kind == TENSOR_VALUE_NONE) return made->handles[made->count++] = 0, TENSOR_OK;
  if (v->kind != TENSOR_VALUE_TENSOR) return reject_kind(c, p, v, "a tensor");
  const int32_t status = check_handle(c, p, v->as.tensor, given, n, made);
  if (!status) made->handles[made->count++] = (uintptr_t)v->as.tensor;
  return status;
}

// A list of results, or of the gradients of `of`.
static int32_t collect_list(const lt_custom_call *c, const place *p, const tensor_value *of,
                            const tensor_value *v, const uintptr_t *given, int64_t n,
                            lt_made *made) {
  const bool none = of && v->kind == TENSOR_VALUE_NONE;
  const int64_t length = none ? of->length : v->length;
  if (!none && v->kind != TENSOR_VALUE_TENSORS) return reject_kind(c, p, v, "a list of tensors");
  if (length < 0 || length > LT_LONGEST || (length && !none && !v->as.tensors))
    return reject(c, p, "is a list of invalid length");
  if (of && length != of->length)
    return reject(c, p, "is a list of another length than the argument");
  uintptr_t *grown =
      realloc(made->handles, (size_t)(made->count + length + LT_MOST_VALUES) * sizeof *grown);
  if (!grown) return reject(c, p, "does not fit in memory"), TENSOR_ERROR_MEMORY;
  made->handles = grown;
  for (int64_t i = 0; i < length; i++) {
    if (of && !has_item(of, i)) continue;
    const void *item = none ? NULL : v->as.tensors[i];
    const int32_t status = of && !item ? TENSOR_OK : check_handle(c, p, item, given, n, made);
    if (status) return status;
    grown[made->count++] = (uintptr_t)item;
  }
  return TENSOR_OK;
}

// Reports the arguments that a function has freed.
static int32_t check_given(const lt_custom_call *c, const uintptr_t *given, int64_t n,
                           int64_t first) {
  for (int64_t i = 0; i < n; i++) {
    if (!given[i] || lt_find((void *)given[i])) continue;
    if (i < first || i >= first + c->tensor_count)
      return fail(c, "the function freed a result or a gradient, which it borrows");
    return fail(c, "the function freed argument '%s', which it borrows",
                c->target->formals[c->formals[i - first]].name);
  }
  return TENSOR_OK;
}

// Takes the values that a function stored, unless it failed; frees them otherwise. A backward
// function has been given `grads` gradients first; for other functions it is -1.
static int32_t take_all(const lt_custom_call *c, int32_t status, int64_t grads,
                        tensor_value *values, const uintptr_t *given, int64_t n, lt_made *made) {
  const lt_target *t = c->target;
  const bool backward = grads >= 0;
  const int count = backward ? t->count : (int)strlen(t->results);
  made->count = 0;
  made->handles = calloc(LT_MOST_VALUES, sizeof *made->handles);
  if (!made->handles && !status)
    fail(c, "there is no memory for the results"), status = TENSOR_ERROR_MEMORY;
  if (!status) status = check_given(c, given, n, backward ? grads : 0);
  for (int i = 0; i < count && !status; i++) {
    const tensor_value *of = backward ? c->arguments + i : NULL;
    const int64_t before = made->count;
    const place p = {backward ? "gradient" : "result", i, backward ? t->formals[i].name : NULL};
    if (backward ? of->kind == TENSOR_VALUE_TENSOR : t->results[i] == 'T') {
      status = collect_one(c, &p, values + i, given, n, made);
    } else if (backward ? of->kind == TENSOR_VALUE_TENSORS : t->results[i] == 'A') {
      status = collect_list(c, &p, of, values + i, given, n, made);
    } else if (backward) {
      if (values[i].kind != TENSOR_VALUE_NONE)
        status = reject(c, &p, "must be none, because the argument is not a tensor");
    } else if (is_number(t->results[i], values[i].kind)) {
      made->results[i] = values[i];
    } else {
      status = reject_kind(c, &p, values + i, t->info.results[i].type);
    }
    if (!backward) made->lengths[i] = made->count - before;
  }
  if (!status) {
    // The arrays of lists; their items belong to `made`.
    for (int i = 0; i < count; i++)
      if (values[i].kind == TENSOR_VALUE_TENSORS) free((void *)values[i].as.tensors);
    return status;
  }
  free(made->handles);
  made->handles = NULL;
  for (int i = 0; i < count; i++) free_value(values + i, given, n);
  return status;
}

// Sets the last error after a function of the application has failed without a message.
static void explain_failure(const lt_custom_call *c, int32_t status, const char *function) {
  if (status <= TENSOR_OK || status > TENSOR_ERROR_CANCELLED || *tensor_last_error()) return;
  fail(c, "the %s returned an error without a message; set one with tensor_set_last_error()",
       function);
}

int32_t lt_call_function(const lt_custom_call *c, uintptr_t *given, bool meta, lt_made *made) {
  const lt_definition *d = c->definition;
  const bool use_meta = meta && !d->options.composite;
  tensor_value values[LT_MOST_VALUES], results[LT_MOST_RESULTS] = {{.kind = TENSOR_VALUE_NONE}};
  int64_t at = 0;
  bool failed;
  if (use_meta && !d->options.meta)
    return fail(c, "the operator has no meta function, which meta tensors require"),
           TENSOR_ERROR_NOT_IMPLEMENTED;
  void *lists = fill(c->arguments, c->target->count, &at, given, values, &failed);
  if (failed) return fail(c, "there is no memory for the arguments"), TENSOR_ERROR_MEMORY;
  const int32_t status = (int32_t)(use_meta ? d->options.meta : d->function)(
      d->context, values, c->target->count, results, (int32_t)strlen(c->target->results));
  free(lists);
  explain_failure(c, status, use_meta ? "meta function" : "function");
  return take_all(c, status, -1, results, given, c->tensor_count, made);
}

int32_t lt_call_vmap(const lt_custom_call *c, uintptr_t *given, const bool *mapped, int64_t size,
                     lt_made *made) {
  const lt_definition *d = c->definition;
  tensor_value values[LT_MOST_VALUES], results[LT_MOST_RESULTS] = {{.kind = TENSOR_VALUE_NONE}};
  int64_t at = 0;
  bool failed;
  void *lists = fill(c->arguments, c->target->count, &at, given, values, &failed);
  if (failed) return fail(c, "there is no memory for the arguments"), TENSOR_ERROR_MEMORY;
  for (int i = 0; i < LT_MOST_RESULTS; i++) made->batched[i] = true;
  const int32_t status =
      (int32_t)d->options.vmap(d->context, size, values, c->target->count, mapped, results,
                               (int32_t)strlen(c->target->results), made->batched);
  free(lists);
  explain_failure(c, status, "vmap function");
  return take_all(c, status, -1, results, given, c->tensor_count, made);
}

int32_t lt_call_backward(const lt_custom_call *c, uintptr_t *given, int64_t grads, lt_made *made) {
  const lt_target *t = c->target;
  const lt_definition *d = c->definition;
  const int result_count = (int)strlen(t->results);
  tensor_value arguments[LT_MOST_VALUES], results[LT_MOST_RESULTS], gradients[LT_MOST_RESULTS];
  tensor_value kinds[LT_MOST_RESULTS] = {{.kind = TENSOR_VALUE_NONE}}, out[LT_MOST_VALUES];
  if (!d->options.backward)
    return fail(c,
                "the operator has no backward function; define it with one, or call detach() on "
                "its arguments"),
           TENSOR_ERROR_NOT_IMPLEMENTED;
  for (int i = 0; i < result_count; i++) {
    kinds[i] = c->results[i];
    if (t->results[i] == 'T') kinds[i] = (tensor_value){.kind = TENSOR_VALUE_TENSOR};
    if (t->results[i] == 'A')
      kinds[i] = (tensor_value){.kind = TENSOR_VALUE_TENSORS, .length = c->lengths[i]};
  }
  for (int i = 0; i < t->count; i++) out[i] = (tensor_value){.kind = TENSOR_VALUE_NONE};
  int64_t at = 0;
  bool failed[3];
  void *lists[3] = {fill(kinds, result_count, &at, given, gradients, failed),
                    fill(c->arguments, t->count, &at, given, arguments, failed + 1),
                    fill(kinds, result_count, &at, given, results, failed + 2)};
  for (int i = 0; i < result_count; i++)
    if (t->results[i] != 'T' && t->results[i] != 'A') gradients[i].kind = TENSOR_VALUE_NONE;
  int32_t status = TENSOR_OK;
  if (failed[0] || failed[1] || failed[2])
    fail(c, "there is no memory for the arguments"), status = TENSOR_ERROR_MEMORY;
  if (!status)
    status = (int32_t)d->options.backward(d->context, arguments, t->count, results, gradients,
                                          result_count, out);
  for (int i = 0; i < 3; i++) free(lists[i]);
  explain_failure(c, status, "backward function");
  return take_all(c, status, grads, out, given, 2 * grads + c->tensor_count, made);
}

// ------------------------------------------------------------------------------------------- loops

// The largest loop: the sums of indices and ranges of all threads are integers of 64 bits.
static const int64_t most_items = INT64_C(1) << 48;

TENSOR_API tensor_status tensor_parallel_for(int64_t n, int64_t grain,
                                             tensor_range_function function, void *context) {
  if (!lt_check_pointer((const void *)(uintptr_t)function, "parallel_for", "function"))
    return TENSOR_ERROR_VALUE;
  if (!lt_check_range(n, 0, most_items, "parallel_for", "n") ||
      !lt_check_range(grain, 1, INT64_MAX, "parallel_for", "grain"))
    return TENSOR_ERROR_VALUE;
  lt_value arguments[4] = {{.i = n}, {.i = grain < most_items ? grain : most_items}};
  arguments[2].pointer = (void *)(uintptr_t)function, arguments[3].pointer = context;
  lt_frame frame = {.args = arguments, .runs = true};
  return lt_invoke_with(&frame, "parallel_for", lt_enter_range);
}
