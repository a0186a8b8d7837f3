// The table of custom operators: definition, removal and lookup by name.
#define _GNU_SOURCE
#include "custom.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "restart.h"

// The target of a schema. Targets are never freed: descriptions of operators are valid until the
// process ends. A schema that is defined again has the same target.
typedef struct entry {
  struct entry *next;
  lt_target *target;
  lt_definition *definition;  // NULL if there is none now
} entry;

// Overloads of a name that were defined at the same time, which are never freed either.
typedef struct family {
  struct family *next;
  lt_family *family;
} family;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
LT_KEPT static entry *entries, *last_entry;
LT_KEPT static family *families;
LT_KEPT static int64_t last_id;

// ------------------------------------------------------------------------------------ definitions

void lt_release_definition(lt_definition *d) {
  pthread_mutex_lock(&lock);
  const bool last = d && --d->holders == 0;
  pthread_mutex_unlock(&lock);
  if (!last) return;
  if (d->deleter) d->deleter(d->context);
  free(d);
}

static void hold_definition(lt_definition *d) {
  pthread_mutex_lock(&lock);
  d->holders++;
  pthread_mutex_unlock(&lock);
}

lt_custom_call *lt_keep_call(const lt_custom_call *c) {
  size_t room = sizeof *c + (size_t)c->tensor_count;
  for (int i = 0; i < c->target->count; i++) {
    const tensor_value *v = c->arguments + i;
    room += v->kind == TENSOR_VALUE_STRING ? strlen(v->as.string) + 1 : 0;
    if (v->length > 0) room += (size_t)v->length * sizeof(tensor_scalar) + sizeof(tensor_scalar);
    for (int64_t k = 0; v->kind == TENSOR_VALUE_STRINGS && k < v->length; k++)
      room += strlen(v->as.strings[k]) + 1;
  }
  lt_custom_call *made = malloc(room + LT_MOST_VALUES * sizeof(tensor_scalar));
  if (!made) return NULL;
  *made = *c;
  char *to = (char *)(made + 1);
  for (int i = 0; i < c->target->count; i++) {
    tensor_value *v = made->arguments + i;
    size_t width = v->kind == TENSOR_VALUE_BOOLS     ? sizeof(bool)
                   : v->kind == TENSOR_VALUE_SCALARS ? sizeof(tensor_scalar)
                                                     : 8;
    to += -(uintptr_t)to & 15;
    switch (v->kind) {
      case TENSOR_VALUE_TENSOR:
        v->as.tensor = NULL;
        break;
      case TENSOR_VALUE_GENERATOR:
        *v = (tensor_value){.kind = TENSOR_VALUE_NONE};  // the caller's may not live as long
        break;
      case TENSOR_VALUE_STRING:
        v->as.string = strcpy(to, v->as.string);
        to += strlen(to) + 1;
        break;
      case TENSOR_VALUE_TENSORS:  // of which only NULL items are looked at
      case TENSOR_VALUE_INTS:
      case TENSOR_VALUE_FLOATS:
      case TENSOR_VALUE_BOOLS:
      case TENSOR_VALUE_SCALARS:
        if (v->length) memcpy(to, v->as.ints, (size_t)v->length * width);
        v->as.ints = (int64_t *)to;
        to += (size_t)v->length * width;
        break;
      case TENSOR_VALUE_STRINGS: {
        const char **list = (const char **)to;
        to += (size_t)v->length * sizeof *list;
        for (int64_t k = 0; k < v->length; k++) {
          list[k] = strcpy(to, v->as.strings[k]);
          to += strlen(to) + 1;
        }
        v->as.strings = list;
        break;
      }
      default:
        break;
    }
  }
  made->formals = memcpy(to, c->formals, (size_t)c->tensor_count);
  hold_definition(made->definition);
  return made;
}

void lt_drop_call(lt_custom_call *c) {
  lt_release_definition(c->definition);
  free(c);
}

static entry *find_entry(const lt_target *target) {
  for (entry *e = entries; e; e = e->next)
    if (e->target == target) return e;
  return NULL;
}

lt_definition *lt_hold_definition(const lt_target *target) {
  pthread_mutex_lock(&lock);
  const entry *e = find_entry(target);
  lt_definition *d = e ? e->definition : NULL;
  if (d) d->holders++;
  pthread_mutex_unlock(&lock);
  if (d) return d;
  char text[400];
  snprintf(text, sizeof text,
           "%s: the operator was removed; define it again with the schema \"%.200s\"", target->name,
           target->schema);
  lt_fail(0, text);
  return NULL;
}

// -------------------------------------------------------------------------------------- lookup

// Whether a name, with an overload or without, denotes a target.
static bool is_name_of(const char *name, const lt_target *t) {
  const size_t n = strcspn(name, ".");
  const char *own = t->name + strcspn(t->name, ".");
  if ((size_t)(own - t->name) != n || strncmp(name, t->name, n) != 0) return false;
  if (!name[n]) return true;
  return strcmp(name + n, *own ? own : ".default") == 0;
}

static bool is_same(const lt_family *f, const char *name, lt_target *const *targets, int count) {
  return f->count == count && strcmp(f->name, name) == 0 &&
         memcmp(f->targets, targets, (size_t)count * sizeof *targets) == 0;
}

static const lt_family *add_family(const char *name, lt_target *const *targets, int count) {
  for (const family *f = families; f; f = f->next)
    if (is_same(f->family, name, targets, count)) return f->family;
  family *f = malloc(sizeof *f);
  char *copy = strdup(name);
  lt_family *made = calloc(1, sizeof *made + (size_t)count * sizeof *made->targets);
  if (!f || !copy || !made) {
    free(f), free(copy), free(made);
    return NULL;
  }
  made->name = copy, made->count = count;
  memcpy(made->targets, targets, (size_t)count * sizeof *targets);
  *f = (family){families, made};
  families = f;
  return made;
}

const lt_family *lt_find_custom(const char *name) {
  enum { MOST = 48 };
  lt_target *found[MOST];
  int count = 0;
  if (!strstr(name, "::")) return NULL;
  pthread_mutex_lock(&lock);
  for (const entry *e = entries; e && count < MOST; e = e->next)
    if (e->definition && is_name_of(name, e->target)) found[count++] = e->target;
  const lt_family *made = count ? add_family(name, found, count) : NULL;
  pthread_mutex_unlock(&lock);
  return made;
}

TENSOR_API tensor_status tensor_custom_operator_names(char ***out, int64_t *out_len) {
  if (!lt_check_pointer(out, "custom_operator_names", "out") ||
      !lt_check_pointer(out_len, "custom_operator_names", "out_len"))
    return TENSOR_ERROR_VALUE;
  int64_t n = 0;
  pthread_mutex_lock(&lock);
  for (const entry *e = entries; e; e = e->next) n += e->definition != NULL;
  char **names = calloc((size_t)n + 1, sizeof *names);
  int64_t made = 0;
  for (const entry *e = entries; e && names; e = e->next)
    if (e->definition && (names[made] = strdup(e->target->name))) made++;
  pthread_mutex_unlock(&lock);
  if (!names || made < n) {
    if (names) tensor_string_list_free(names, made);
    lt_fail(0, "custom_operator_names: not enough memory for the names");
    return TENSOR_ERROR_MEMORY;
  }
  *out = names, *out_len = n;
  return TENSOR_OK;
}

// -------------------------------------------------------------------------------- definition

static tensor_status report_problem(const lt_problem *problem) {
  lt_fail(0, problem->text);
  return problem->code;
}

// Rejects parameters and results that a definition cannot have.
static bool check_target(const lt_target *t, const tensor_operator_options *options,
                         lt_problem *problem) {
  bool writes = false;
  for (int i = 0; i < t->count; i++) {
    const lt_formal *f = t->formals + i;
    lt_bound bound = {.target = t};
    writes |= f->is_written;
    if (f->kind == 'Q' || !f->kind) {
      lt_explain(problem, TENSOR_ERROR_VALUE, "schema",
                 "define_operator: %s: parameter '%s' has the type %s, which no argument can have",
                 t->name, f->name, f->type);
      return false;
    }
    for (int k = 0; k < i; k++)
      if (strcmp(t->formals[k].name, f->name) == 0) {
        lt_explain(problem, TENSOR_ERROR_VALUE, "schema",
                   "define_operator: %s: two parameters are named '%s'", t->name, f->name);
        return false;
      }
    const bool fits = !f->has_default || lt_convert(t, f, &f->absent, &bound, NULL);
    lt_release_bound(&bound);
    if (fits) continue;
    lt_explain(problem, TENSOR_ERROR_VALUE, "schema",
               "define_operator: %s: the default of parameter '%s' does not have the type %s",
               t->name, f->name, f->type);
    return false;
  }
  for (int i = 0; i < t->info.result_count && !options->composite; i++)
    if (t->info.results[i].alias_set >= 0) {
      lt_explain(problem, TENSOR_ERROR_VALUE, "schema",
                 "define_operator: %s: result %d shares memory with an argument, which only "
                 "composite operators support; return a new tensor, or no result",
                 t->name, i);
      return false;
    }
  if (writes && options->backward) {
    lt_explain(problem, TENSOR_ERROR_VALUE, "options",
               "define_operator: %s: an operator that writes to an argument cannot have a "
               "backward function; define one that returns new tensors",
               t->name);
    return false;
  }
  return true;
}

// The entry of a schema, under the lock; NULL if there is no memory.
static entry *add_entry(const char *schema) {
  for (entry *e = entries; e; e = e->next)
    if (strcmp(e->target->schema, schema) == 0) return e;
  entry *e = calloc(1, sizeof *e);
  if (!e || !(e->target = lt_make_custom_target(schema))) {
    free(e);
    return NULL;
  }
  if (last_entry)
    last_entry->next = e;
  else
    entries = e;
  return last_entry = e;
}

static const entry *find_defined(const char *name) {
  for (const entry *e = entries; e; e = e->next)
    if (e->definition && strcmp(e->target->name, name) == 0) return e;
  return NULL;
}

static bool add_definition(const char *schema, lt_definition *d, lt_problem *problem) {
  entry *e = add_entry(schema);
  if (!e) {
    lt_explain(problem, TENSOR_ERROR_MEMORY, NULL, "define_operator: not enough memory");
    return false;
  }
  if (!check_target(e->target, &d->options, problem)) return false;
  const entry *other = find_defined(e->target->name);
  if (other) {
    lt_explain(problem, TENSOR_ERROR_VALUE, "schema",
               "define_operator: the operator %s is already defined, with the schema \"%.200s\"; "
               "remove it with tensor_remove_operator() first",
               other->target->name, other->target->schema);
    return false;
  }
  d->target = e->target, d->id = ++last_id;
  e->definition = d;
  return true;
}

TENSOR_API tensor_status tensor_define_operator(const char *schema,
                                                tensor_operator_function function,
                                                const tensor_operator_options *options,
                                                void *context, tensor_deleter deleter,
                                                int64_t *out) {
  char normalized[4096];
  lt_problem problem = {.code = TENSOR_OK};
  const char *missing = !schema ? "schema" : !function ? "function" : !out ? "out" : NULL;
  if (missing) return lt_check_pointer(NULL, "define_operator", missing), TENSOR_ERROR_VALUE;
  if (options && (options->size < sizeof options->size || options->size > sizeof *options)) {
    lt_explain(&problem, TENSOR_ERROR_VALUE, "options",
               "define_operator: options.size is %zu; it must be sizeof(tensor_operator_options), "
               "at most %zu",
               options->size, sizeof *options);
    return report_problem(&problem);
  }
  if (!lt_normalize_schema(schema, normalized, sizeof normalized, &problem))
    return report_problem(&problem);
  lt_definition *d = calloc(1, sizeof *d);
  if (!d) {
    lt_fail(0, "define_operator: not enough memory");
    return TENSOR_ERROR_MEMORY;
  }
  *d = (lt_definition){.holders = 1, .function = function, .context = context, .deleter = deleter};
  if (options) memcpy(&d->options, options, options->size);
  pthread_mutex_lock(&lock);
  const bool defined = add_definition(normalized, d, &problem);
  if (defined) *out = d->id;
  pthread_mutex_unlock(&lock);
  if (defined) return TENSOR_OK;
  free(d);
  return report_problem(&problem);
}

TENSOR_API tensor_status tensor_remove_operator(int64_t definition) {
  lt_definition *removed = NULL;
  pthread_mutex_lock(&lock);
  for (entry *e = entries; e && !removed; e = e->next)
    if (e->definition && e->definition->id == definition)
      removed = e->definition, e->definition = NULL;
  pthread_mutex_unlock(&lock);
  if (removed) lt_release_definition(removed);
  return TENSOR_OK;
}
