// The names of calls: their operators, and the overloads that a name without one denotes.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
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
  for (entry *e = atomic_load_explicit(known + hash_name(name), memory_order_acquire); e; e = e->next)
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

int lt_edit_distance(const char *a, const char *b, int most) {
  enum { LONGEST = 96 };
  const int n = (int)strlen(a), m = (int)strlen(b);
  int row[LONGEST + 1];
  if (n > LONGEST || m > LONGEST || abs(n - m) > most) return most + 1;
  for (int j = 0; j <= m; j++) row[j] = j;
  for (int i = 1; i <= n; i++) {
    int before = row[0];
    row[0] = i;
    for (int j = 1; j <= m; j++) {
      const int replaced = before + (a[i - 1] != b[j - 1]);
      before = row[j];
      const int least = row[j - 1] < row[j] ? row[j - 1] : row[j];
      row[j] = replaced < least + 1 ? replaced : least + 1;
    }
  }
  return row[m];
}

// --------------------------------------------------------------------------- targets of own operators

// The type of a parameter in ATen's schema language.
static const char *type_of(char kind) {
  static const char *const types[26][2] = {
      ['A' - 'A'] = {"Tensor[]", "Tensor[]?"}, ['B' - 'A'] = {"bool", "bool?"},
      ['C' - 'A'] = {"Device", "Device?"},     ['D' - 'A'] = {"ScalarType", "ScalarType?"},
      ['E' - 'A'] = {"float[]", "float[]?"},   ['F' - 'A'] = {"float", "float?"},
      ['G' - 'A'] = {"Generator", "Generator?"}, ['H' - 'A'] = {"bool[]", "bool[]?"},
      ['I' - 'A'] = {"SymInt", "SymInt?"},     ['J' - 'A'] = {"Node", "Node?"},
      ['K' - 'A'] = {"str[]", "str[]?"},       ['L' - 'A'] = {"SymInt[]", "SymInt[]?"},
      ['M' - 'A'] = {"MemoryFormat", "MemoryFormat?"}, ['N' - 'A'] = {"Scalar[]", "Scalar[]?"},
      ['O' - 'A'] = {"Operand", "Operand?"},   ['P' - 'A'] = {"Operand", "Operand?"},
      ['Q' - 'A'] = {"Address", "Address?"},   ['R' - 'A'] = {"Tensor[]", "Tensor[]?"},
      ['S' - 'A'] = {"Scalar", "Scalar?"},     ['T' - 'A'] = {"Tensor", "Tensor?"},
      ['U' - 'A'] = {"str", "str?"},           ['V' - 'A'] = {"SymInt[]", "SymInt[]?"},
      ['W' - 'A'] = {"Storage", "Storage?"},   ['X' - 'A'] = {"Index", "Index?"},
      ['Y' - 'A'] = {"Layout", "Layout?"},     ['Z' - 'A'] = {"Tensor?[]", "Tensor?[]"}};
  const bool nullable = kind >= 'a';
  return types[nullable ? kind - 'a' : kind - 'A'][nullable];
}

static void set_formal(lt_formal *f, const lt_operator *op, int i, int form) {
  const lt_parameter *p = op->parameters + i;
  *f = (lt_formal){.name = p->name,
                   .kind = p->kind,
                   .to = (signed char)i,
                   .alias = -1,
                   .by_name = p->flags & LT_BY_NAME,
                   .has_default = p->flags & LT_DEFAULT,
                   .is_written = p->flags & LT_MUTATED,
                   .flags = p->flags};
  if (form == LT_INPLACE && i == 0) {
    f->is_written = true, f->alias = 0;
    if (f->kind == 'O' || f->kind == 'P') f->kind = 'T';
  }
  f->type = type_of(f->kind);
}

// Makes the target of a form of an operator.
static lt_target *make_target(const char *name, const lt_operator *op, int form) {
  const int outs = form == LT_OUT ? (int)strlen(op->results) : 0;
  lt_target *t = calloc(1, sizeof *t);
  lt_formal *formals = calloc((size_t)(op->count + outs + 1), sizeof *formals);
  char *copy = strdup(name);
  if (!t || !formals || !copy) return free(t), free(formals), free(copy), NULL;
  const char *out = op->out;
  for (int i = 0; i < op->count; i++) {
    set_formal(formals + i, op, i, form);
    if (!formals[i].by_name) t->positional = i + 1;
  }
  for (int i = 0; i < outs; i++, out += strlen(out) + 1)
    formals[op->count + i] = (lt_formal){.name = out, .type = "Tensor", .kind = 'T',
        .to = (signed char)(op->count + i), .alias = (signed char)i, .by_name = true,
        .is_written = true, .is_out = true};
  t->name = copy, t->op = op, t->form = form, t->results = op->results;
  t->emulated = form != LT_FUNCTION && !(op->forms & (LT_HAS(form, 0) | LT_HAS(form, 1)));
  t->count = op->count + outs, t->outs = outs, t->formals = formals;
  t->schema = copy;
  return t;
}

// The overloads of a name, in the order in which a call tries them.
static int list_overloads(const char *base, size_t length, const lt_operator **to, int room) {
  int n = 0;
  for (int i = 0; i < lt_operator_count && n < room; i++) {
    const lt_operator *op = lt_operators + i;
    if (strncmp(op->name, base, length) == 0 && (!op->name[length] || op->name[length] == '.'))
      to[n++] = op;
  }
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && to[k]->order < to[k - 1]->order; k--) {
      const lt_operator *other = to[k];
      to[k] = to[k - 1], to[k - 1] = other;
    }
  return n;
}

const lt_family *lt_find_call(const char *name, lt_problem *problem) {
  enum { MOST = 32 };
  const lt_family *found = find_known(name);
  if (found) return found;
  const lt_operator *ops[MOST];
  const char *own = strncmp(name, "aten::", 6) == 0 ? name + 6 : name;
  size_t length = strcspn(own, ".");
  int form = strstr(own + length, "out") ? LT_OUT : LT_FUNCTION, n = 0;
  if ((ops[0] = tensor_operator(own)) && own[length])
    n = 1;
  else
    n = list_overloads(own, length, ops, MOST);
  if (!n && length && own[length - 1] == '_')
    n = list_overloads(own, length - 1, ops, MOST), form = LT_INPLACE;
  if (!n) {
    lt_explain(problem, TENSOR_ERROR_NOT_IMPLEMENTED, "name", "%.80s: there is no such operator", name);
    return NULL;
  }
  lt_family *family = calloc(1, sizeof *family + (size_t)n * sizeof *family->targets);
  char *copy = strdup(name);
  if (!family || !copy) return free(family), free(copy), NULL;
  family->name = copy, family->count = n;
  for (int i = 0; i < n; i++) family->targets[i] = make_target(name, ops[i], form);
  return add_known(family);
}
