// tensor_call: binds arguments to the parameters of an operator, and runs it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "closest.h"
#include "custom.h"
#include "export.h"
#include "observer.h"

// --------------------------------------------------------------------------------------- binding

static int find_formal(const lt_target *t, const char *name) {
  for (int i = 0; i < t->count; i++)
    if (strcmp(t->formals[i].name, name) == 0) return i;
  // Python's names of self.
  if (t->count && strcmp(t->formals[0].name, "self") == 0 && (strcmp(name, "input") == 0)) return 0;
  return -1;
}

static tensor_status reject_keyword(const lt_target *t, const char *name, lt_problem *problem) {
  const char *near = NULL;
  int least = 1 + (int)strlen(name) / 2;
  for (int i = 0; problem && i < t->count; i++) {
    const int distance = lt_edit_distance(name, t->formals[i].name, least);
    if (distance < least) least = distance, near = t->formals[i].name;
  }
  if (near)
    lt_explain(problem, TENSOR_ERROR_TYPE, name,
               "%s: unknown keyword argument '%s'; did you mean '%s'? The schema is %s", t->name,
               name, near, t->schema);
  else
    lt_explain(problem, TENSOR_ERROR_TYPE, name,
               "%s: unknown keyword argument '%s'; the schema is %s", t->name, name, t->schema);
  return TENSOR_ERROR_TYPE;
}

// Finds the argument of each parameter; NULL where it has none.
static tensor_status match_parameters(const lt_target *t, const tensor_value *values,
                                      const char *const *keywords, int32_t count,
                                      const tensor_value **given, lt_problem *problem) {
  memset(given, 0, (size_t)t->count * sizeof *given);
  int position = 0;
  for (int32_t k = 0; k < count; k++) {
    int at;
    if (!keywords || !keywords[k]) {
      if (position == t->positional) {
        int32_t positional = 0;
        for (int32_t i = 0; i < count; i++) positional += !keywords || !keywords[i];
        lt_explain(problem, TENSOR_ERROR_TYPE, NULL,
                   "%s: takes %d positional argument%s, but %d were given; the schema is %s",
                   t->name, t->positional, t->positional == 1 ? "" : "s", positional, t->schema);
        return TENSOR_ERROR_TYPE;
      }
      at = position++;
    } else if ((at = find_formal(t, keywords[k])) < 0) {
      return reject_keyword(t, keywords[k], problem);
    }
    if (given[at]) {
      lt_explain(problem, TENSOR_ERROR_TYPE, t->formals[at].name,
                 "%s: argument '%s' was given more than once", t->name, t->formals[at].name);
      return TENSOR_ERROR_TYPE;
    }
    given[at] = values + k;
  }
  return TENSOR_OK;
}

tensor_status lt_bind(const lt_target *t, const tensor_value *values, const char *const *keywords,
                      int32_t count, lt_bound *b, lt_problem *problem) {
  const tensor_value *given[LT_MOST_VALUES];
  b->target = t;
  b->number = t->number, b->converted = false;
  b->held_count = b->used = 0;
  b->blocks = NULL;
  const tensor_status placed = match_parameters(t, values, keywords, count, given, problem);
  if (placed) return placed;
  memcpy(b->a, t->defaults, (size_t)(t->inputs + t->outs) * sizeof *b->a);
  for (int i = 0; i < t->count + t->hidden; i++) {
    const lt_formal *f = t->formals + i;
    bool fits = true;
    if (i < t->count && given[i]) {
      fits = lt_convert(t, f, given[i], b, problem);
    } else if (f->needs_conversion) {
      fits = lt_convert(t, f, &f->absent, b, problem);
    } else if (!f->has_default) {
      lt_explain(problem, TENSOR_ERROR_TYPE, f->name,
                 "%s: argument '%s' of type %s is missing; the schema is %s", t->name, f->name,
                 f->type, t->schema);
      fits = false;
    }
    if (fits) continue;
    lt_release_bound(b);
    return problem && problem->code ? problem->code : TENSOR_ERROR_TYPE;
  }
  return TENSOR_OK;
}

// ------------------------------------------------------------------------------------- execution

static void set_result(char kind, const lt_value *v, tensor_value *to) {
  *to = (tensor_value){.kind = TENSOR_VALUE_NONE};
  switch (kind) {
    case 'T':
      if (v->pointer) to->kind = TENSOR_VALUE_TENSOR, to->as.tensor = v->pointer;
      break;
    case 'G':
      if (v->pointer) to->kind = TENSOR_VALUE_GENERATOR, to->as.generator = v->pointer;
      break;
    case 'W':
      if (v->pointer) to->kind = TENSOR_VALUE_STORAGE, to->as.storage = v->pointer;
      break;
    case 'I':
      to->kind = TENSOR_VALUE_INT, to->as.i = v->i;
      break;
    case 'B':
      to->kind = TENSOR_VALUE_BOOL, to->as.b = *(const unsigned char *)&v->i != 0;
      break;
    case 'F':
      to->kind = TENSOR_VALUE_FLOAT, to->as.f = v->f;
      break;
    case 'U':
      if (v->text) to->kind = TENSOR_VALUE_STRING, to->as.string = v->text;
      break;
    case 'D':
      to->kind = TENSOR_VALUE_DTYPE, to->as.dtype = (tensor_dtype)v->i;
      break;
    case 'C':
      to->kind = TENSOR_VALUE_DEVICE, to->as.device = v->device;
      break;
    case 'A':
      to->kind = TENSOR_VALUE_TENSORS, to->length = v->list.length;
      to->as.tensors = (tensor_t *const *)v->list.data;
      break;
    case 'L':
      to->kind = TENSOR_VALUE_INTS, to->length = v->list.length, to->as.ints = v->list.data;
      break;
    case 'K':
      to->kind = TENSOR_VALUE_STRINGS, to->length = v->list.length, to->as.strings = v->list.data;
      break;
    case 'S':
      switch (v->scalar.kind) {
        case TENSOR_SCALAR_BOOL:
          to->kind = TENSOR_VALUE_BOOL, to->as.b = v->scalar.value.i != 0;
          break;
        case TENSOR_SCALAR_INT:
          to->kind = TENSOR_VALUE_INT, to->as.i = v->scalar.value.i;
          break;
        case TENSOR_SCALAR_UINT:
          to->kind = TENSOR_VALUE_UINT, to->as.u = v->scalar.value.u;
          break;
        case TENSOR_SCALAR_FLOAT:
          to->kind = TENSOR_VALUE_FLOAT, to->as.f = v->scalar.value.f.re;
          break;
        case TENSOR_SCALAR_COMPLEX:
          to->kind = TENSOR_VALUE_COMPLEX;
          to->as.c[0] = v->scalar.value.f.re, to->as.c[1] = v->scalar.value.f.im;
      }
  }
}

static tensor_status copy_result(const lt_target *t, tensor_t *from, tensor_t *to) {
  tensor_status status = TENSOR_OK;
  if (t->form == LT_OUT)
    status = tensor_resize_(to, tensor_sizes(from), tensor_dim(from), TENSOR_CONTIGUOUS);
  return status ? status : tensor_copy_(to, from, false);
}

// Copies a list of results to the tensors of a list.
static tensor_status copy_list(const lt_target *t, const lt_value *from, const lt_value *to) {
  tensor_t *const *made = from->list.data, *const *outs = to->list.data;
  if (from->list.length != to->list.length) {
    char text[256];
    snprintf(text, sizeof text, "%s: argument 'out' is a list of %lld tensors; %lld are required",
             t->name, (long long)to->list.length, (long long)from->list.length);
    lt_fail(0, text);
    return TENSOR_ERROR_RUNTIME;
  }
  tensor_status status = TENSOR_OK;
  for (int64_t i = 0; i < from->list.length && !status; i++)
    status = copy_result(t, made[i], outs[i]);
  return status;
}

// Copies results to the tensors that an operator without the form is to write to, and frees them.
static tensor_status copy_results(const lt_target *t, const lt_value *results, lt_value *outs) {
  tensor_status status = TENSOR_OK;
  for (int i = 0; t->results[i]; i++) {
    const bool list = t->results[i] == 'A';
    if (!status && list) status = copy_list(t, results + i, outs + i);
    if (!status && !list) status = copy_result(t, results[i].pointer, outs[i].pointer);
    if (list)
      tensor_list_free((tensor_t **)results[i].list.data, results[i].list.length);
    else
      tensor_free(results[i].pointer);
  }
  return status;
}

// Runs the function of the target on its arguments, which its results replace.
static tensor_status run_function(const lt_bound *b, lt_value *a) {
  const lt_target *t = b->target;
  if (t->is_custom) return lt_run_custom(t, a);
  if (t->compute) {
    lt_value results[LT_MOST_RESULTS] = {{0}};
    const tensor_status status = t->compute(a, results);
    if (!status) memcpy(a, results, sizeof results);
    return status;
  }
  if (!t->cloned) return t->op->run(t->op, LT_FUNCTION, b->number, a);
  tensor_t *copy;
  tensor_status status = tensor_clone(a[0].pointer, TENSOR_PRESERVE, &copy);
  if (status) return status;
  a[0].pointer = copy;
  status = t->op->run(t->op, LT_FUNCTION, b->number, a);
  if (status) tensor_free(copy);
  a[0].pointer = copy;
  return status;
}

// Runs the target on arguments, which its results replace.
static tensor_status run_forms(const lt_bound *b, lt_value *a) {
  const lt_target *t = b->target;
  if (t->form == LT_FUNCTION) return run_function(b, a);
  if (!t->emulated) return t->op->run(t->op, t->form, b->number, a);
  lt_value outs[LT_MOST_RESULTS];
  for (int i = 0, n = 0; i < t->count && n < LT_MOST_RESULTS; i++)
    if (t->form == LT_OUT ? t->formals[i].is_out : t->formals[i].is_written)
      outs[n++] = a[(int)t->formals[i].to];
  if (t->dtype_at >= 0) a[t->dtype_at].i = tensor_get_dtype(outs[0].pointer);
  const tensor_status status = run_function(b, a);
  return status ? status : copy_results(t, a, outs);
}

// The tensors among the arguments, or only among those that are written to, for an observer.
static int32_t find_arguments(const lt_bound *b, bool only_written, lt_slot **list) {
  int32_t n = 0;
  for (int i = 0; i < b->target->count; i++) {
    const lt_formal *f = b->target->formals + i;
    if (f->to < 0 || (only_written ? !f->is_written : f->is_out)) continue;
    if (!(b->number && (f->kind | 32) == 'o'))
      n = lt_add_observed(list, n, f->kind, b->a + (int)f->to);
  }
  return n;
}

// Runs a target that calls several operators, of which an observer sees one call.
__attribute__((cold, noinline)) static tensor_status run_observed(const lt_bound *b, lt_value *a) {
  const lt_target *t = b->target;
  lt_slot *list[LT_MOST_OBSERVED];
  lt_observation observation;
  const char *called = !t->op ? t->name : t->form == LT_INPLACE ? t->op->called_ : t->op->called;
  lt_observe_begin(&observation, called ? called : t->name, list, find_arguments(b, false, list));
  const bool hidden = lt_hide_calls(true);
  const tensor_status status = run_forms(b, a);
  lt_hide_calls(hidden);
  int32_t n = 0;
  if (!status && t->form != LT_FUNCTION) n = find_arguments(b, true, list);
  for (int i = 0; !status && t->form == LT_FUNCTION && t->results[i]; i++)
    n = lt_add_observed(list, n, t->results[i], a + i);
  lt_observe_end(&observation, status, list, n);
  return status;
}

static tensor_status run_target(const lt_bound *b, lt_value *a) {
  const lt_target *t = b->target;
  const bool calls_several = t->compute || t->emulated || t->cloned;
  if (__builtin_expect(lt_is_observed(), 0) && calls_several) return run_observed(b, a);
  return run_forms(b, a);
}

// The message of a failed run, with the names that the caller used.
static void explain_run(const lt_target *t, tensor_status code, lt_problem *problem) {
  if (!problem) return;
  const char *said = tensor_last_error(), *rest = strchr(said, ':');
  char *to = problem->text, *end = problem->text + sizeof problem->text;
  problem->code = code;
  *problem->argument = 0;
  if (t->compute) to += snprintf(to, sizeof problem->text, "%s: ", t->name);
  if (t->op && rest) {
    const size_t length = (size_t)(rest - said);
    const bool brackets = length > 2 && strncmp(rest - 2, "()", 2) == 0;
    const size_t n = brackets ? length - 2 : length;
    const char *const own[] = {t->op->name, t->op->called, t->op->called_};
    for (int i = 0; i < 3; i++)
      if (own[i] && strlen(own[i]) == n && strncmp(own[i], said, n) == 0) {
        to += snprintf(to, sizeof problem->text, "%s", t->name);
        said = rest;
        break;
      }
  }
  snprintf(to, (size_t)(end - to), "%s", said);
  const char *argument = strstr(problem->text, "argument '");
  if (argument) {
    argument += strlen("argument '");
    const size_t n = strcspn(argument, "'[");
    if (n < sizeof problem->argument)
      memcpy(problem->argument, argument, n), problem->argument[n] = 0;
  }
}

tensor_status lt_execute(const lt_bound *b, tensor_value *results, int32_t *count,
                         lt_problem *problem) {
  const lt_target *t = b->target;
  const bool returns = t->form == LT_FUNCTION;
  const int32_t n = returns ? (int32_t)strlen(t->results) : 0;
  lt_value a[LT_MOST_VALUES];
  if (n && (!results || !count)) {
    lt_explain(problem, TENSOR_ERROR_VALUE, results ? "result_count" : "results",
               "%s: argument '%s' is NULL, but the operator returns %d result%s", t->name,
               results ? "result_count" : "results", n, n == 1 ? "" : "s");
    return TENSOR_ERROR_VALUE;
  }
  if (n && *count < n) {
    lt_explain(problem, TENSOR_ERROR_VALUE, "results",
               "%s: returns %d result%s, but 'results' holds %d", t->name, n, n == 1 ? "" : "s",
               *count);
    return TENSOR_ERROR_VALUE;
  }
  memcpy(a, b->a, (size_t)(t->inputs + t->outs) * sizeof *a);
  const tensor_status status = run_target(b, a);
  if (status) {
    explain_run(t, status, problem);
    return status;
  }
  for (int32_t i = 0; i < n; i++) set_result(t->results[i], a + i, results + i);
  if (count) *count = n;
  return TENSOR_OK;
}

// ----------------------------------------------------------------------------------------- calls

static void describe_arguments(const tensor_value *values, const char *const *keywords,
                               int32_t count, char *to, size_t room) {
  size_t n = 0;
  *to = 0;
  for (int32_t i = 0; i < count && n < room; i++) {
    char shown[128];
    lt_show_value(values + i, shown, sizeof shown);
    const bool named = keywords && keywords[i];
    n += (size_t)snprintf(to + n, room - n, "%s%s%s%s", i ? ", " : "", named ? keywords[i] : "",
                          named ? "=" : "", shown);
  }
}

// The error of a call that no overload accepts.
static tensor_status reject_call(const lt_family *family, const tensor_value *values,
                                 const char *const *keywords, int32_t count, lt_problem *problem) {
  char shown[512];
  describe_arguments(values, keywords, count, shown, sizeof shown);
  lt_explain(problem, TENSOR_ERROR_TYPE, NULL, "%s: no overload accepts (%s); the overloads are",
             family->name, shown);
  size_t n = problem ? strlen(problem->text) : 0;
  for (int i = 0; problem && i < family->count && n < sizeof problem->text; i++)
    n += (size_t)snprintf(problem->text + n, sizeof problem->text - n, "%s %s", i ? "," : "",
                          family->targets[i]->schema);
  return TENSOR_ERROR_TYPE;
}

tensor_status lt_bind_call(const lt_family *family, const tensor_value *values,
                           const char *const *keywords, int32_t count, lt_bound *b,
                           lt_problem *problem) {
  if (family->count == 1) return lt_bind(family->targets[0], values, keywords, count, b, problem);
  const lt_target *converting = NULL, *function = NULL;
  int functions = 0;
  for (int i = 0; i < family->count; i++) {
    if (family->targets[i]->form != LT_OUT) function = family->targets[i], functions++;
    if (lt_bind(family->targets[i], values, keywords, count, b, NULL)) continue;
    if (!b->converted) return TENSOR_OK;
    lt_release_bound(b);
    if (!converting) converting = family->targets[i];
  }
  if (!converting && functions == 1) converting = function;  // its error is the more specific one
  if (converting) return lt_bind(converting, values, keywords, count, b, problem);
  return reject_call(family, values, keywords, count, problem);
}

static tensor_status check_call(const char *name, const tensor_value *values, int32_t count,
                                lt_problem *problem) {
  if (!name)
    lt_explain(problem, TENSOR_ERROR_VALUE, "name", "call: argument 'name' is NULL");
  else if (count < 0 || count > LT_MOST_VALUES)
    lt_explain(problem, TENSOR_ERROR_VALUE, "count",
               "call: %.80s: argument 'count' is %d; it must be between 0 and %d", name, count,
               LT_MOST_VALUES);
  else if (count && !values)
    lt_explain(problem, TENSOR_ERROR_VALUE, "arguments",
               "call: %.80s: argument 'arguments' is NULL, but 'count' is %d", name, count);
  return problem->code;
}

// Reports a problem to the caller; returns its code.
static tensor_status report_problem(const lt_problem *problem, const char *name,
                                    tensor_error_info **error) {
  const int32_t number = tensor_last_errno();
  lt_fail(number, problem->text);
  if (!error) return problem->code;
  if (!name) name = "";
  const size_t sizes[] = {strlen(name) + 1, strlen(problem->argument) + 1,
                          strlen(problem->text) + 1};
  tensor_error_info *made = malloc(sizeof *made + sizes[0] + sizes[1] + sizes[2]);
  if (!made) return problem->code;
  char *texts = (char *)(made + 1);
  *made = (tensor_error_info){problem->code, number, texts,
                              *problem->argument ? texts + sizes[0] : NULL,
                              texts + sizes[0] + sizes[1]};
  memcpy(texts, name, sizes[0]);
  memcpy(texts + sizes[0], problem->argument, sizes[1]);
  memcpy(texts + sizes[0] + sizes[1], problem->text, sizes[2]);
  *error = made;
  return problem->code;
}

TENSOR_API tensor_status tensor_call(const char *name, const tensor_value *arguments,
                                     const char *const *keywords, int32_t count,
                                     tensor_value *results, int32_t *result_count,
                                     tensor_error_info **error) {
  lt_problem problem;
  lt_bound bound;
  problem.code = TENSOR_OK;
  if (error) *error = NULL;
  tensor_status status = check_call(name, arguments, count, &problem);
  const lt_family *family = status ? NULL : lt_find_call(name, &problem);
  if (!family) return report_problem(&problem, name, error);
  status = lt_bind_call(family, arguments, keywords, count, &bound, &problem);
  if (!status) {
    status = lt_execute(&bound, results, result_count, &problem);
    lt_release_bound(&bound);
  }
  return status ? report_problem(&problem, name, error) : TENSOR_OK;
}

TENSOR_API tensor_status tensor_value_free(tensor_value *value) {
  tensor_status status = TENSOR_OK;
  if (!value) return status;
  switch (value->kind) {
    case TENSOR_VALUE_TENSOR:
      status = tensor_free(value->as.tensor);
      break;
    case TENSOR_VALUE_GENERATOR:
      status = tensor_generator_free(value->as.generator);
      break;
    case TENSOR_VALUE_STORAGE:
      status = tensor_storage_free(value->as.storage);
      break;
    case TENSOR_VALUE_TENSORS:
      status = tensor_list_free((tensor_t **)value->as.tensors, value->length);
      break;
    case TENSOR_VALUE_STRINGS:
      tensor_string_list_free((char **)value->as.strings, value->length);
      break;
    case TENSOR_VALUE_STRING:
      tensor_string_free((char *)value->as.string);
      break;
    case TENSOR_VALUE_INTS:
      free((void *)value->as.ints);
      break;
    default:
      if ((unsigned)value->kind <= TENSOR_VALUE_INDICES) break;
      char text[80];
      snprintf(text, sizeof text, "value_free: argument 'value' has the unknown kind %d",
               (int)value->kind);
      lt_fail(0, text);
      return TENSOR_ERROR_VALUE;
  }
  *value = (tensor_value){.kind = TENSOR_VALUE_NONE};
  return status;
}

TENSOR_API void tensor_error_free(tensor_error_info *error) { free(error); }
