// The JavaScript form of the library's operators: names in camelCase, from the library's table,
// once per process.
#include <ctype.h>
#include <pthread.h>

#include "addon.h"

static struct {
  lt_entry *entries;
  size_t count;
} table;

static pthread_once_t once = PTHREAD_ONCE_INIT;

// a_name as aName, without leading and trailing underscores, except those of an operator's name.
static char *camel(const char *name, bool whole) {
  char *made = malloc(strlen(name) + 1), *to = made;
  if (!made) return NULL;
  while (*name) {
    size_t part = strcspn(name, ".");
    size_t before = strspn(name, "_"), after = part;
    while (after > before && name[after - 1] == '_') after--;
    if (whole) memcpy(to, name, before), to += before;
    for (size_t i = before; i < after; i++) {
      if (name[i] != '_')
        *to++ = i > before && name[i - 1] == '_' ? (char)toupper(name[i]) : name[i];
    }
    if (whole) memcpy(to, name + after, part - after), to += part - after;
    name += part;
    if (*name) *to++ = *name++;
  }
  *to = '\0';
  return made;
}

static lt_type type_of(char kind) {
  switch (toupper(kind)) {
    case 'T':
    case 'A':
    case 'R':
    case 'Z':
      return LT_TENSOR;
    case 'W':
      return LT_STORAGE;
    case 'G':
      return LT_GENERATOR;
    case 'J':
      return LT_NODE;
    case 'P':
    case 'O':
      return LT_OPERAND;
    case 'S':
    case 'N':
      return LT_SCALAR;
    case 'F':
    case 'E':
      return LT_FLOAT;
    case 'B':
    case 'H':
      return LT_BOOL;
    case 'U':
    case 'K':
      return LT_STR;
    case 'D':
      return LT_DTYPE;
    case 'C':
      return LT_DEVICE;
    case 'Y':
      return LT_LAYOUT;
    case 'M':
      return LT_FORMAT;
    case 'X':
      return LT_INDEX;
    case 'Q':
      return LT_CALLBACK;
  }
  return LT_INT;
}

static bool is_list(char kind) { return strchr("ARZNLVEHKX", toupper(kind)); }

static bool read_parameter(const lt_parameter *p, lt_argument *a) {
  static const struct {
    int told, flag;
  } flags[] = {{LT_OPTIONAL, LT_IS_OPTIONAL}, {LT_BY_NAME, LT_IS_KEYWORD},
               {LT_DEFAULT, LT_HAS_DEFAULT},  {LT_MUTATED, LT_IS_MUTATED},
               {LT_MOVED, LT_IS_MOVED},       {LT_SPREAD, LT_IS_VARIADIC},
               {LT_INTEGERS, LT_IS_INTEGERS}};
  a->type = (uint8_t)type_of(p->kind);
  a->flags = is_list(p->kind) ? LT_IS_LIST : 0;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (p->flags & flags[i].told) a->flags |= (uint16_t)flags[i].flag;
  a->dim_of = p->dim_of;
  a->value = p->absent;
  return (a->name = camel(strcmp(p->name, "self") ? p->name : "input", false));
}

// The number of arguments in JavaScript: a function represents a callback with its context and the
// context's deleter, which come last.
static int given(const lt_operator *row) {
  for (int i = 0; i < row->count; i++)
    if (row->parameters[i].flags & LT_CALLS_BACK) return i + 1;
  return row->count;
}

// Whether JavaScript can call an operator: the only addresses in JavaScript are those of functions.
// Saved-tensor hooks, which asynchronous calls take along, are pushed and popped by the addon
// itself.
static bool callable(const lt_operator *row) {
  for (int i = 0, n = given(row); i < n; i++)
    if (type_of(row->parameters[i].kind) == LT_CALLBACK &&
        !(row->parameters[i].flags & LT_CALLS_BACK))
      return false;
  return !strchr(row->results, 'Q') && strcmp(row->name, "pop_saved_tensors_hooks") != 0;
}

static bool read_operator(const lt_operator *row, lt_overload *o) {
  int count = given(row), results = (int)strlen(row->results);
  lt_argument *all = calloc((size_t)(count + results) + 1, sizeof *all);
  if (!all) return false;
  *o = (lt_overload){.row = row, .arguments = all, .results = all + count, .operand = -1};
  o->argument_count = (uint8_t)count, o->result_count = (uint8_t)results;
  for (int i = 0; i < count; i++) {
    if (!read_parameter(&row->parameters[i], &all[i])) return false;
    if (!(row->parameters[i].flags & LT_BY_NAME)) o->positional_count++;
    if (all[i].type == LT_OPERAND) o->operand = (int8_t)i;
  }
  const char *name = row->out;
  for (int i = 0; i < results; i++, name += strlen(name) + 1) {
    lt_argument *a = &all[count + i];
    a->type = (uint8_t)type_of(row->results[i]), a->dim_of = -1;
    a->flags = (uint16_t)((is_list(row->results[i]) ? LT_IS_LIST : 0) |
                          (row->aliases >> i & 1 ? LT_IS_ALIAS : 0));
    if (!(a->name = camel(name, false))) return false;
  }
  return (o->name = camel(row->called, true));
}

// In which forms JavaScript has an operator.
static int forms_of(const lt_operator *row) {
  int forms = row->forms & LT_HAS(LT_INPLACE, 0) ? LT_AS_INPLACE : 0;
  char owner = row->count && !strcmp(row->parameters->name, "self") ? row->parameters->kind : 0;
  if (owner == 'W' || owner == 'G')
    return forms | LT_AS_METHOD | (owner == 'W' ? LT_AS_STORAGE : LT_AS_GENERATOR);
  if (row->flags & LT_NAMED) forms |= LT_AS_FUNCTION;
  if (row->flags & LT_METHOD) forms |= LT_AS_METHOD;
  if (row->flags & LT_LENGTHY || strpbrk(row->results, "TA")) forms |= LT_AS_ASYNC;
  return forms;
}

// The entry of `count` rows, which are the overloads of one name.
static bool read_entry(const lt_operator *rows, int count, lt_entry *entry) {
  lt_overload *overloads = calloc((size_t)count, sizeof *overloads);
  const char *name = rows->called;
  if (!overloads) return false;
  *entry = (lt_entry){.overloads = overloads};
  for (int order = 0; entry->count < count; order++) {
    for (int i = 0; i < count; i++) {
      if (rows[i].order != order) continue;
      if (!read_operator(&rows[i], &overloads[entry->count++])) return false;
      entry->forms |= (uint8_t)forms_of(&rows[i]);
    }
  }
  if (entry->forms & LT_AS_STORAGE) name += strlen("storage_");
  if (entry->forms & LT_AS_GENERATOR) name += strlen("generator_");
  return (entry->path = camel(name, true));
}

static void read_table(void) {
  int32_t count;
  const lt_operator *rows = tensor_operators(&count);
  lt_entry *entries = calloc((size_t)count, sizeof *entries);
  if (!entries) return;
  size_t made = 0;
  for (int32_t i = 0, n; i < count; i += n) {
    for (n = 1; i + n < count && !strcmp(rows[i + n].called, rows[i].called);) n++;
    if (!callable(&rows[i])) continue;
    if (!read_entry(&rows[i], n, &entries[made++])) return;
  }
  table.entries = entries, table.count = made;
}

const lt_entry *lt_read_table(size_t *count) {
  pthread_once(&once, read_table);
  *count = table.count;
  return table.entries;
}
