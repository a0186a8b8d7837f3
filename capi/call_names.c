// The names of calls: their operators, and the overloads that a name without one denotes.
#define _GNU_SOURCE
#include <ctype.h>
#include <strings.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aten.h"
#include "closest.h"
#include "custom.h"
#include "export.h"
#include "restart.h"

extern const int lt_operator_count;

enum { BUCKETS = 1024 };

// The names that were used: lists, to whose front new ones are added.
typedef struct entry {
  struct entry *next;
  const lt_family *family;
} entry;
LT_KEPT static _Atomic(entry *) known[BUCKETS];

static uint32_t hash_name(const char *name) {
  uint32_t hash = 2166136261u;
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
  return hash % BUCKETS;
}

static const lt_family *find_known(const char *name) {
  for (entry *e = atomic_load_explicit(known + hash_name(name), memory_order_acquire); e;
       e = e->next)
    if (strcmp(e->family->name, name) == 0) return e->family;
  return NULL;
}

// Another thread may have added the same name: the first one in the list is used.
static const lt_family *add_known(const lt_family *family) {
  entry *e = malloc(sizeof *e);
  if (!e) return NULL;
  _Atomic(entry *) *bucket = known + hash_name(family->name);
  e->family = family;
  e->next = atomic_load_explicit(bucket, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(bucket, &e->next, e, memory_order_release,
                                                memory_order_relaxed));
  return family;
}

// --------------------------------------------------------------------------------------- overloads

enum { MOST_OVERLOADS = 48 };

typedef struct overloads {
  int count;
  lt_target *targets[MOST_OVERLOADS];
} overloads;

static void add_target(overloads *o, lt_target *t) {
  if (t && o->count < MOST_OVERLOADS) o->targets[o->count++] = t;
}

// Compares a name up to its overload with another.
static int compare_base(const char *base, size_t n, const char *name) {
  const size_t length = strcspn(name, ".");
  const int order = strncmp(base, name, n < length ? n : length);
  return order ? order : n < length ? -1 : n > length;
}

// The first row of a name of ATen, and the number of its rows.
static int find_rows(const char *base, size_t n, int *count) {
  int low = 0, high = lt_aten_count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (compare_base(base, n, lt_aten_text + lt_aten_rows[middle].name) > 0)
      low = middle + 1;
    else
      high = middle;
  }
  *count = 0;
  while (low + *count < lt_aten_count &&
         compare_base(base, n, lt_aten_text + lt_aten_rows[low + *count].name) == 0)
    ++*count;
  return low;
}

// Adds the overloads of ATen that a name denotes. The overload `default` has an empty name.
static void find_aten(const char *name, overloads *to) {
  const size_t n = strcspn(name, ".");
  const char *overload = name[n] ? name + n + 1 : NULL;
  int count;
  const int first = find_rows(name, n, &count);
  for (int i = first; i < first + count; i++) {
    const char *own = lt_aten_text + lt_aten_rows[i].name + n;
    if (*own) own++;
    if (!overload || strcmp(own, strcmp(overload, "default") == 0 ? "" : overload) == 0)
      add_target(to, lt_make_aten_target(i));
  }
}

// Returns whether a name is that of a form of an operator, with its overload or without.
static bool is_name_of(const lt_operator *op, int form, const char *name) {
  const char *called = form == LT_INPLACE ? op->called_ : op->called;
  if (!called) return false;
  const size_t n = strlen(called);
  if (strncmp(name, called, n) != 0) return false;
  return !name[n] || strcmp(name + n, op->name + strlen(op->called)) == 0;
}

// Adds a form of the operators of libtensor that a name denotes.
static void find_own(const char *name, int form, overloads *to) {
  const lt_operator *found[MOST_OVERLOADS];
  int n = 0;
  for (int i = 0; i < lt_operator_count && n < MOST_OVERLOADS; i++) {
    const lt_operator *op = lt_operators + i;
    if (op->forms & (LT_HAS(form, 0) | LT_HAS(form, 1)) && is_name_of(op, form, name))
      found[n++] = op;
  }
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && found[k]->order < found[k - 1]->order; k--) {
      const lt_operator *other = found[k];
      found[k] = found[k - 1], found[k - 1] = other;
    }
  for (int i = 0; i < n; i++) add_target(to, lt_make_target(found[i], form));
}

static void find_overloads(const char *name, overloads *to) {
  to->count = 0;
  if (strncmp(name, "aten::", 6) == 0) {
    find_aten(name + 6, to);
    return;
  }
  find_own(name, LT_FUNCTION, to);
  find_own(name, LT_OUT, to);
  find_own(name, LT_INPLACE, to);
  if (!to->count) find_aten(name, to);
}

// --------------------------------------------------------------------------------------- all names

LT_KEPT static const char *const *_Atomic all_names;
LT_KEPT static _Atomic int32_t all_count;

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *join_strings(const char *a, const char *b, const char *c) {
  char *made = NULL;
  return asprintf(&made, "%s%s%s", a, b, c) < 0 ? NULL : made;
}

const char *const *tensor_operator_names(int32_t *count) {
  const char *const *names = all_names;
  if (!count) return NULL;
  if (!names) {
    const int most = lt_aten_count + 2 * lt_operator_count;
    const char **made = calloc((size_t)most, sizeof *made);
    int n = 0;
    for (int i = 0; made && i < lt_aten_count; i++) made[n++] = lt_qualify(lt_aten_rows[i].name);
    for (int i = 0; made && i < lt_operator_count; i++) {
      const lt_operator *op = lt_operators + i;
      if (op->forms & (LT_HAS(LT_FUNCTION, 0) | LT_HAS(LT_FUNCTION, 1))) made[n++] = op->name;
      if (op->forms & (LT_HAS(LT_INPLACE, 0) | LT_HAS(LT_INPLACE, 1)))
        made[n++] = join_strings(op->called_, op->name + strlen(op->called), "");
    }
    for (int i = 0; i < n; i++)
      if (!made[i]) n = 0;
    if (!made || !n) return *count = 0, NULL;
    qsort(made, (size_t)n, sizeof *made, compare_names);
    all_count = n;
    const char *const *expected = NULL;
    names = made;
    if (!atomic_compare_exchange_strong(&all_names, &expected, names)) names = expected;
  }
  *count = all_count;
  return names;
}

// Copies at most n characters in lower case.
static void copy_lower(char *to, size_t room, const char *from, size_t n) {
  if (n >= room) n = room - 1;
  for (size_t i = 0; i < n; i++) to[i] = (char)tolower((unsigned char)from[i]);
  to[n] = 0;
}

// Finds the name that is most similar to an unknown one, whatever its case and the number of its
// colons, and without an overload if that has none. Returns whether one is similar.
static bool suggest_name(const char *name, char *to, size_t room) {
  enum { LONGEST = 97 };
  char given[LONGEST + 1], other[LONGEST + 1];
  int32_t count;
  const char *const *names = tensor_operator_names(&count), *rest = name;
  const bool is_aten = strncasecmp(name, "aten:", 5) == 0, has_overload = strchr(name, '.');
  if (is_aten) rest += 4 + strspn(name + 4, ":");
  copy_lower(given, sizeof given, rest, strlen(rest));
  const int length = (int)strlen(given);
  int least = length < 2 ? 1 : 2 + (length - 2) / 4;
  bool found = false;
  for (int32_t i = 0; i < count; i++) {
    const char *base = names[i];
    if ((strncmp(base, "aten::", 6) == 0) != is_aten) continue;
    if (is_aten) base += 6;
    const size_t n = has_overload ? strlen(base) : strcspn(base, ".");
    copy_lower(other, sizeof other, base, n);
    const int distance = lt_edit_distance(given, other, least);
    if (distance >= least) continue;
    least = distance, found = true;
    snprintf(to, room, "%s%.*s", is_aten ? "aten::" : "", (int)n, base);
  }
  return found;
}

static void reject_name(const char *name, lt_problem *problem) {
  if (!problem) return;
  const char *dot = strchr(name, '.');
  char base[128];
  snprintf(base, sizeof base, "%.*s", dot ? (int)(dot - name) : 0, name);
  const lt_family *other = *base ? lt_find_call(base, NULL) : NULL;
  if (other) {
    lt_explain(problem, TENSOR_ERROR_NOT_IMPLEMENTED, "name",
               "call: %.100s has no overload '%.60s'; its overloads are", base, dot + 1);
    size_t n = strlen(problem->text);
    for (int i = 0; i < other->count && n < sizeof problem->text; i++) {
      const char *own = strchr(other->targets[i]->name, '.');
      n += (size_t)snprintf(problem->text + n, sizeof problem->text - n, "%s %s", i ? "," : "",
                            own ? own + 1 : "default");
    }
    return;
  }
  char nearest[128];
  if (strstr(name, "::") && strncmp(name, "aten::", 6) != 0)
    lt_explain(problem, TENSOR_ERROR_NOT_IMPLEMENTED, "name",
               "call: there is no operator '%.100s'; tensor_define_operator() defines one", name);
  else if (suggest_name(name, nearest, sizeof nearest))
    lt_explain(problem, TENSOR_ERROR_NOT_IMPLEMENTED, "name",
               "call: there is no operator '%.100s'; did you mean '%s'?", name, nearest);
  else
    lt_explain(problem, TENSOR_ERROR_NOT_IMPLEMENTED, "name",
               "call: there is no operator '%.100s', and none with a similar name", name);
}

const lt_family *lt_find_call(const char *name, lt_problem *problem) {
  const lt_family *found = find_known(name);
  if (!found) found = lt_find_custom(name);
  if (found) return found;
  overloads o;
  find_overloads(name, &o);
  if (!o.count) return reject_name(name, problem), NULL;
  lt_family *family = calloc(1, sizeof *family + (size_t)o.count * sizeof *family->targets);
  char *copy = strdup(name);
  if (family && copy) {
    family->name = copy, family->count = o.count;
    memcpy(family->targets, o.targets, (size_t)o.count * sizeof *family->targets);
    if (add_known(family)) return family;
  }
  lt_explain(problem, TENSOR_ERROR_MEMORY, NULL, "call: %.100s: out of memory", name);
  return NULL;
}

int32_t tensor_describe_operator(const char *name, const tensor_operator_info **infos,
                                 int32_t room) {
  lt_problem problem = {.code = TENSOR_OK};
  const lt_family *family = name ? lt_find_call(name, &problem) : NULL;
  if (!family) {
    lt_fail(0, name ? problem.text : "describe_operator: argument 'name' is NULL");
    return 0;
  }
  for (int i = 0; infos && i < family->count && i < room; i++) infos[i] = &family->targets[i]->info;
  return family->count;
}
