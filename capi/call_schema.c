// Schemas of calls by name: those of ATen are parsed, those of libtensor's operators are written
// from the table of operators.
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aten.h"
#include "custom.h"
#include "export.h"
#include "gen_names.h"

// A text that grows in a buffer, and is cut at its end.
typedef struct text {
  char *at, *end;
} text;

static void append_text(text *t, const char *s, size_t n) {
  if (n > (size_t)(t->end - t->at)) n = (size_t)(t->end - t->at);
  memcpy(t->at, s, n);
  t->at += n, *t->at = 0;
}
static void add_text(text *t, const char *s) { append_text(t, s, strlen(s)); }

// ------------------------------------------------------------------------------- schemas of ATen

enum { SCHEMA_BYTES = 4096 };

// Expands a packed schema; returns the map of names that follows it.
static const char *expand_schema(const char *packed, text *to) {
  for (; *packed && *packed != 1; packed++) {
    const unsigned char c = (unsigned char)*packed;
    if (c >= 0x80)
      add_text(to, lt_aten_words[c - 0x80]);
    else
      append_text(to, packed, 1);
  }
  return *packed ? packed + 1 : packed;
}

// The results of a schema, with marks of the arguments that are returned: Tensor(a!).
static void mark_results(const char *results, text *to) {
  char letter = 'a';
  while (*results) {
    if (strncmp(results, "Tensor", 6) == 0 &&
        (isspace((unsigned char)results[6]) || strchr(",)(", results[6]) || !results[6])) {
      char mark[] = "Tensor(a!)";
      mark[7] = letter++;
      add_text(to, mark);
      results += 6;
      if (*results == '(') results = strchr(results, ')') + 1;
    } else {
      append_text(to, results++, 1);
    }
  }
}

// Writes the schema of a row without its name; returns its map of names.
static const char *write_schema(const lt_aten_row *row, text *to) {
  if (row->from < 0) return expand_schema(lt_aten_text + row->text, to);
  char source[SCHEMA_BYTES];
  text s = {source, source + sizeof source - 1};
  const char *map = expand_schema(lt_aten_text + lt_aten_rows[row->from].text, &s);
  const char *arrow = strstr(source, ") -> ");
  if (row->form == LT_INPLACE) {
    add_text(to, "(Tensor(a!)");
    append_text(to, source + strlen("(Tensor"), (size_t)(arrow - source) - strlen("(Tensor"));
  } else {
    append_text(to, source, (size_t)(arrow - source));
    if (arrow > source + 1) add_text(to, ", ");
    if (!memmem(source, (size_t)(arrow - source), "*, ", 3)) add_text(to, "*, ");
    char letter = 'a';
    for (const char *name = lt_aten_text + row->text; *name;) {
      const size_t n = strcspn(name, " ");
      char mark[] = "Tensor(a!) ";
      mark[7] = letter++;
      if (letter > 'b') add_text(to, ", ");
      add_text(to, mark);
      append_text(to, name, n);
      name += n + (name[n] == ' ');
    }
  }
  add_text(to, ") -> ");
  mark_results(arrow + strlen(") -> "), to);
  return map;
}

// --------------------------------------------------------------------------------------- parsing

// The letter of a type of ATen, a small one for an optional type.
static char letter_of(const char *type) {
  static const struct {
    const char *type;
    char one, many;
  } letters[] = {{"Tensor", 'T', 'A'},  {"Scalar", 'S', 'N'}, {"int", 'I', 'L'},
                 {"SymInt", 'I', 'L'},  {"float", 'F', 'E'},  {"bool", 'B', 'H'},
                 {"SymBool", 'B', 'H'}, {"str", 'U', 'K'},    {"ScalarType", 'D', 0},
                 {"Layout", 'Y', 0},    {"Device", 'C', 0},   {"MemoryFormat", 'M', 0},
                 {"Generator", 'G', 0}, {"Storage", 'W', 0},  {"Stream", 'I', 0}};
  const size_t n = strspn(type, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  const char *rest = type + n;
  if (strncmp(rest, "?[]", 3) == 0) return 'Z';
  const bool list = *rest == '[', optional = type[strlen(type) - 1] == '?';
  for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
    if (strlen(letters[i].type) == n && strncmp(letters[i].type, type, n) == 0) {
      const char letter = list ? letters[i].many : letters[i].one;
      return (char)(optional ? tolower(letter) : letter);
    }
  return 'Q';
}

// ATen's numbers of dtypes in defaults.
static tensor_dtype dtype_of(int number) {
  static const tensor_dtype numbers[] = {TENSOR_UINT8,     TENSOR_INT8,       TENSOR_INT16,
                                         TENSOR_INT32,     TENSOR_INT64,      TENSOR_FLOAT16,
                                         TENSOR_FLOAT32,   TENSOR_FLOAT64,    TENSOR_COMPLEX32,
                                         TENSOR_COMPLEX64, TENSOR_COMPLEX128, TENSOR_BOOL};
  return number >= 0 && number < (int)(sizeof numbers / sizeof *numbers) ? numbers[number]
                                                                         : TENSOR_DTYPE_NONE;
}

static tensor_dtype dtype_named(const char *s) {
  for (int i = 0; isalpha((unsigned char)*s) && i < LT_DTYPES; i++)
    if (strcmp(s, tensor_dtype_name((tensor_dtype)i)) == 0) return (tensor_dtype)i;
  return dtype_of(atoi(s));
}

static tensor_value parse_list(const char *s, char kind) {
  enum { MOST = LT_MOST_DEFAULT_ITEMS };
  tensor_value v = {.kind = tolower(kind) == 'e'   ? TENSOR_VALUE_FLOATS
                            : tolower(kind) == 'h' ? TENSOR_VALUE_BOOLS
                                                   : TENSOR_VALUE_INTS};
  int64_t *items = calloc(MOST, sizeof *items);
  if (!items) return v;
  v.as.ints = items;
  for (s++; *s && *s != ']' && v.length < MOST; s += strspn(s, ", ")) {
    char *end = (char *)s;
    if (v.kind == TENSOR_VALUE_BOOLS) {
      ((bool *)items)[v.length++] = *s == 'T';
      s += strcspn(s, ",]");
      continue;
    }
    if (v.kind == TENSOR_VALUE_FLOATS)
      ((double *)items)[v.length++] = strtod(s, &end);
    else
      items[v.length++] = strtoll(s, &end, 10);
    if (end == s) break;
    s = end;
  }
  return v;
}

// The value of a default in a schema. Strings and lists are never freed.
static tensor_value parse_default(const char *s, char kind) {
  tensor_value v = {.kind = TENSOR_VALUE_NONE};
  if (strcmp(s, "None") == 0) return v;
  if (*s == '[') return parse_list(s, kind);
  if (strcmp(s, "True") == 0 || strcmp(s, "False") == 0) {
    v.kind = TENSOR_VALUE_BOOL, v.as.b = *s == 'T';
  } else if (*s == '"' || *s == '\'') {
    v.kind = TENSOR_VALUE_STRING, v.as.string = strndup(s + 1, strlen(s) - 2);
  } else if (tolower(kind) == 'd') {
    v.kind = TENSOR_VALUE_DTYPE, v.as.dtype = dtype_named(s);
  } else if (tolower(kind) == 'm') {
    v.kind = TENSOR_VALUE_MEMORY_FORMAT, v.as.memory_format = (tensor_memory_format)atoi(s);
  } else if (tolower(kind) == 'y') {
    v.kind = TENSOR_VALUE_LAYOUT, v.as.layout = (tensor_layout)atoi(s);
  } else if (strpbrk(s, ".eEni")) {
    v.kind = TENSOR_VALUE_FLOAT, v.as.f = strtod(s, NULL);
  } else {
    errno = 0;
    v.kind = TENSOR_VALUE_INT, v.as.i = strtoll(s, NULL, 10);
    if (errno) v.kind = TENSOR_VALUE_FLOAT, v.as.f = strtod(s, NULL);
  }
  return v;
}

// The end of an item of a list of parameters, which begins at s: a comma or a bracket outside of
// brackets and quotes.
static const char *end_of_item(const char *s) {
  int depth = 0;
  char quote = 0;
  for (; *s; s++) {
    if (quote) {
      if (*s == quote) quote = 0;
    } else if (*s == '"' || *s == '\'') {
      quote = *s;
    } else if (*s == '(' || *s == '[') {
      depth++;
    } else if (depth && (*s == ')' || *s == ']')) {
      depth--;
    } else if (!depth && (*s == ',' || *s == ')')) {
      break;
    }
  }
  return s;
}

// Parses a parameter: its type, with a mark of its alias set such as (a!), its name, its default.
static bool parse_formal(const char *s, const char *end, bool by_name, lt_formal *f) {
  char item[512], type[64];
  size_t n = 0;
  snprintf(item, sizeof item, "%.*s", (int)(end - s), s);
  char *at = item;
  *f = (lt_formal){.alias = -1, .to = -1, .by_name = by_name};
  for (; *at && *at != ' ' && n < sizeof type - 1; at++) {
    if (*at != '(') {
      type[n++] = *at;
      continue;
    }
    f->alias = (signed char)(at[1] - 'a');
    char *close = strchr(at, ')');
    if (!close) return false;
    f->is_written = close[-1] == '!' || memchr(at, '!', (size_t)(close - at));
    at = close;
  }
  type[n] = 0;
  if (*at != ' ') return false;
  char *name = at + 1, *equals = strchr(name, '=');
  if (equals) *equals = 0;
  f->kind = letter_of(type);
  f->nullable = f->kind >= 'a';
  if (equals) f->has_default = true, f->absent = parse_default(equals + 1, f->kind);
  f->name = strdup(name), f->type = strdup(type);
  return f->name && f->type;
}

// Parses the parameters of a schema without its name; returns their number, -1 for an error.
static int parse_formals(const char *schema, lt_formal *to, int room) {
  int n = 0;
  bool by_name = false;
  for (const char *s = schema + 1; *s && *s != ')';) {
    const char *end = end_of_item(s);
    if (*s == '*')
      by_name = true;
    else if (n == room || !parse_formal(s, end, by_name, to + n))
      return -1;
    else
      n++;
    s = *end == ',' ? end + 1 + (end[1] == ' ') : end;
  }
  return n;
}

// ------------------------------------------------------------------------------- maps of names

// Finds what a map has for a name: `name=other` or `name=-`; returns its length, -1 for none.
static int find_mapped(const char *map, const char *name, const char **other) {
  const size_t n = strlen(name);
  while (*map) {
    const size_t length = strcspn(map, ",");
    if (length > n && strncmp(map, name, n) == 0 && map[n] == '=') {
      *other = map + n + 1;
      return (int)(length - n - 1);
    }
    map += length + (map[length] == ',');
  }
  return -1;
}

static int find_parameter(const lt_operator *op, const char *name, size_t n) {
  for (int i = 0; i < op->count; i++)
    if (strlen(op->parameters[i].name) == n && strncmp(op->parameters[i].name, name, n) == 0)
      return i;
  return -1;
}

// Connects a parameter of a schema to the operator's parameter.
static bool connect_parameter(const lt_operator *op, const char *map, int form, lt_formal *f) {
  const char *name = f->name;
  int n = find_mapped(map, f->name, &name);
  if (n == 1 && *name == '-') return true;
  if (n < 0) n = (int)strlen(f->name);
  const int at = find_parameter(op, name, (size_t)n);
  if (at < 0) return strcmp(f->name, "pin_memory") == 0;
  const lt_parameter *p = op->parameters + at;
  f->is_scalar = p->kind == 'O' && (f->kind == 'S' || f->kind == 'F' || f->kind == 's');
  f->to = (signed char)at, f->kind = p->kind, f->called = p->name, f->flags = p->flags;
  if (f->nullable && !(p->kind >= 'a') && p->flags & LT_DEFAULT) f->flags |= LT_NONE_IS_DEFAULT;
  if (!f->nullable) f->flags &= (unsigned short)~LT_NONE_IS_DEFAULT;
  if (form == LT_INPLACE && at == 0 && (f->kind == 'O' || f->kind == 'P')) f->kind = 'T';
  return true;
}

// Adds the constants of a map, parameter:=value, behind the parameters.
static int add_constants(const lt_operator *op, const char *map, lt_formal *to, int room) {
  int n = 0;
  while (*map && n < room) {
    const size_t length = strcspn(map, ",");
    const char *sign = memmem(map, length, ":=", 2);
    if (sign) {
      char value[64];
      const int at = find_parameter(op, map, (size_t)(sign - map));
      if (at < 0) return -1;
      snprintf(value, sizeof value, "%.*s", (int)(length - (size_t)(sign + 2 - map)), sign + 2);
      const lt_parameter *p = op->parameters + at;
      to[n++] = (lt_formal){.name = p->name,
                            .type = "",
                            .called = p->name,
                            .kind = p->kind,
                            .to = (signed char)at,
                            .alias = -1,
                            .nullable = p->kind >= 'a',
                            .has_default = true,
                            .absent = parse_default(value, p->kind)};
    }
    map += length + (map[length] == ',');
  }
  return n;
}

// ----------------------------------------------------------------------------------------- results

static int count_results(const char *s) {
  if (strcmp(s, "()") == 0) return 0;
  if (*s != '(') return 1;
  int n = 1;
  for (const char *at = s + 1; *at; at++) n += *at == ',';
  return n;
}

// Describes the results of a schema: their types and alias sets, and their letters.
static bool parse_results(const char *s, lt_target *t, tensor_result_info *infos) {
  const int n = count_results(s);
  if (*s == '(') s++;
  for (int i = 0; i < n; i++) {
    lt_formal f;
    char item[128];
    const char *end = end_of_item(s);
    snprintf(item, sizeof item, "%.*s", (int)(end - s), s);
    if (!strchr(item, ' ')) strncat(item, " out", sizeof item - strlen(item) - 1);
    if (!parse_formal(item, item + strlen(item), false, &f)) return false;
    free((char *)f.name);
    infos[i] = (tensor_result_info){f.type, -1, f.alias};
    t->letters[i] = f.kind;
    for (int k = 0; f.is_written && k < t->count; k++)
      if (t->formals[k].is_written && t->formals[k].alias == f.alias &&
          (t->form != LT_OUT || t->formals[k].is_out))
        infos[i].parameter = k;
    s = *end == ',' ? end + 2 : end;
  }
  t->info.result_count = n, t->info.results = infos;
  return true;
}

// --------------------------------------------------------------------------------------- targets

// Converts the defaults that need no memory once for all calls.
static void convert_defaults(lt_target *t) {
  lt_bound b;
  for (int i = 0; t->op && i < t->op->count; i++) t->defaults[i] = t->op->parameters[i].absent;
  for (int i = 0; i < t->count + t->hidden; i++) {
    lt_formal *f = t->formals + i;
    if (!f->has_default) continue;
    b.target = t, b.blocks = NULL, b.held_count = b.used = 0, b.number = b.converted = false;
    if (f->to < 0) continue;
    const bool fits = lt_convert(t, f, &f->absent, &b, NULL);
    f->needs_conversion = !fits || b.used || b.blocks || b.held_count;
    if (!f->needs_conversion) t->defaults[(int)f->to] = b.a[(int)f->to], t->number |= b.number;
    lt_release_bound(&b);
  }
}

// Completes a target with the description of its parameters and with their defaults.
static bool complete_target(lt_target *t) {
  tensor_parameter_info *infos = calloc((size_t)t->count + 1, sizeof *infos);
  if (!infos) return false;
  for (int i = 0; i < t->count; i++) {
    const lt_formal *f = t->formals + i;
    infos[i] = (tensor_parameter_info){f->name,   f->type,       f->by_name, f->has_default,
                                       f->absent, f->is_written, f->alias};
    if (!f->by_name) t->positional = i + 1;
  }
  t->info.name = t->name, t->info.schema = t->schema;
  t->info.parameter_count = t->count, t->info.parameters = infos;
  convert_defaults(t);
  return true;
}

static bool has_form(const lt_operator *op, int form) {
  return op->forms & (LT_HAS(form, 0) | LT_HAS(form, 1));
}

// Connects the parameters of a schema to those of the target's operator, or of its function.
static bool connect_all(lt_target *t, const char *map) {
  int outs = 0;
  t->inputs = t->op ? t->op->count : 0;
  if (!t->op)
    for (int i = 0; i < t->count; i++)
      t->inputs += !(t->form == LT_OUT && t->formals[i].is_written && t->formals[i].by_name);
  for (int i = 0; i < t->count; i++) {
    lt_formal *f = t->formals + i;
    if (t->form == LT_OUT && f->is_written && f->by_name)
      f->is_out = true, f->to = (signed char)(t->inputs + outs++);
    else if (!t->op)
      f->to = (signed char)i, f->called = f->name;
    else if (!connect_parameter(t->op, map, t->form, f))
      return false;
  }
  t->outs = outs;
  t->hidden =
      t->op ? add_constants(t->op, map, t->formals + t->count, LT_MOST_VALUES - t->count) : 0;
  return t->hidden >= 0;
}

// Returns the index of the operator's parameter dtype if its results are copied to `out`, whose
// overload lacks the parameter: they have the dtype of `out`. Returns -1 otherwise.
static int find_dtype(const lt_target *t) {
  if (t->form != LT_OUT || !t->emulated || !t->op) return -1;
  const int at = find_parameter(t->op, "dtype", strlen("dtype"));
  for (int i = 0; i < t->count + t->hidden; i++)
    if (t->formals[i].to == at) return -1;
  return at;
}

char *lt_qualify(unsigned name) {
  const char *own = lt_aten_text + name;
  char *made = NULL;
  return asprintf(&made, "%s%s", strstr(own, "::") ? "" : "aten::", own) < 0 ? NULL : made;
}

lt_target *lt_make_aten_target(int number) {
  const lt_aten_row *row = lt_aten_rows + number;
  char schema[SCHEMA_BYTES];
  text s = {schema, schema + sizeof schema - 1};
  lt_target *t = calloc(1, sizeof *t);
  lt_formal *formals = calloc(LT_MOST_VALUES, sizeof *formals);
  tensor_result_info *results = calloc(LT_MOST_RESULTS, sizeof *results);
  char *name = lt_qualify(row->name);
  if (!t || !formals || !results || !name) return NULL;
  add_text(&s, name);
  char *own = s.at;
  const char *map = write_schema(row, &s);
  t->name = name, t->schema = strdup(schema), t->form = row->form, t->formals = formals;
  if (row->target >= 0)
    t->op = lt_operators + row->target;
  else
    t->compute = lt_composites[-1 - row->target];
  t->count = parse_formals(own, formals, LT_MOST_VALUES);
  if (t->count < 0 || !t->schema || !connect_all(t, map)) return NULL;
  if (!parse_results(strstr(own, ") -> ") + strlen(") -> "), t, results)) return NULL;
  t->cloned = t->op && t->info.result_count && !*t->op->results &&
              (t->form == LT_OUT || (t->form == LT_FUNCTION && results[0].parameter < 0));
  t->emulated = t->form != LT_FUNCTION && (!t->op || !has_form(t->op, t->form));
  t->dtype_at = find_dtype(t);
  if (t->form == LT_INPLACE && t->op && !*t->op->results)
    t->form = LT_FUNCTION, t->emulated = false;
  // The results of functions without results, and of copies, are those of the schema.
  t->results = t->op && !t->cloned ? t->op->results : t->letters;
  return complete_target(t) ? t : NULL;
}

lt_target *lt_make_custom_target(const char *schema) {
  lt_target *t = calloc(1, sizeof *t);
  lt_formal *formals = calloc(LT_MOST_VALUES, sizeof *formals);
  tensor_result_info *results = calloc(LT_MOST_RESULTS + 1, sizeof *results);
  const char *own = strchr(schema, '(');
  if (!t || !formals || !results) return NULL;
  t->name = strndup(schema, (size_t)(own - schema)), t->schema = strdup(schema);
  t->formals = formals, t->is_custom = true;
  t->count = parse_formals(own, formals, LT_MOST_VALUES);
  if (t->count < 0 || !t->name || !t->schema) return NULL;
  for (int i = 0; i < t->count; i++)
    formals[i].to = (signed char)i, formals[i].called = formals[i].name;
  t->inputs = t->count;
  if (!parse_results(strstr(own, ") -> ") + strlen(") -> "), t, results)) return NULL;
  for (char *letter = t->letters; *letter; letter++) *letter = (char)toupper(*letter);
  t->results = t->letters;
  return complete_target(t) ? t : NULL;
}

// ----------------------------------------------------------------------- schemas of own operators

static const char *type_of(char kind) {
  static const char *const types[26] = {
      "Tensor[]", "bool",    "Device",  "ScalarType", "float[]",  "float",        "Generator",
      "bool[]",   "SymInt",  "Node",    "str[]",      "SymInt[]", "MemoryFormat", "Scalar[]",
      "Operand",  "Operand", "Address", "Tensor[]",   "Scalar",   "Tensor",       "str",
      "SymInt[]", "Storage", "Index",   "Layout",     "Tensor?[]"};
  static const char *const optional[26] = {
      "Tensor[]?",     "bool?",     "Device?",  "ScalarType?", "float[]?", "float?",
      "Generator?",    "bool[]?",   "SymInt?",  "Node?",       "str[]?",   "SymInt[]?",
      "MemoryFormat?", "Scalar[]?", "Operand?", "Operand?",    "Address?", "Tensor[]?",
      "Scalar?",       "Tensor?",   "str?",     "SymInt[]?",   "Storage?", "Index?",
      "Layout?",       "Tensor?[]"};
  return kind >= 'a' ? optional[kind - 'a'] : types[kind - 'A'];
}

static tensor_value scalar_value(const tensor_scalar *s) {
  tensor_value v = {.kind = TENSOR_VALUE_NONE};
  if (s->kind == TENSOR_SCALAR_BOOL)
    v.kind = TENSOR_VALUE_BOOL, v.as.b = s->value.i != 0;
  else if (s->kind == TENSOR_SCALAR_INT)
    v.kind = TENSOR_VALUE_INT, v.as.i = s->value.i;
  else if (s->kind == TENSOR_SCALAR_FLOAT)
    v.kind = TENSOR_VALUE_FLOAT, v.as.f = s->value.f.re;
  return v;
}

// The default of an operator's parameter.
static tensor_value absent_value(const lt_parameter *p) {
  const lt_value *a = &p->absent;
  tensor_value v = {.kind = TENSOR_VALUE_NONE};
  switch (p->kind) {
    case 'S':
    case 's':
    case 'O':
    case 'o':
    case 'P':
    case 'p':
      return scalar_value(&a->scalar);
    case 'I':
    case 'i':
      if (p->kind == 'I' || a->i != TENSOR_NONE) v.kind = TENSOR_VALUE_INT, v.as.i = a->i;
      break;
    case 'B':
    case 'b':
      if (a->i >= 0) v.kind = TENSOR_VALUE_BOOL, v.as.b = a->i != 0;
      break;
    case 'F':
      v.kind = TENSOR_VALUE_FLOAT, v.as.f = a->f;
      break;
    case 'f':
      if (a->pointer) v.kind = TENSOR_VALUE_FLOAT, v.as.f = *(const double *)a->pointer;
      break;
    case 'U':
    case 'u':
      if (a->text) v.kind = TENSOR_VALUE_STRING, v.as.string = a->text;
      break;
    case 'd':
    case 'D':
      if (a->i >= 0) v.kind = TENSOR_VALUE_DTYPE, v.as.dtype = (tensor_dtype)a->i;
      break;
    case 'y':
    case 'Y':
      if (a->i >= 0) v.kind = TENSOR_VALUE_LAYOUT, v.as.layout = (tensor_layout)a->i;
      break;
    case 'm':
    case 'M':
      if (a->i >= 0)
        v.kind = TENSOR_VALUE_MEMORY_FORMAT, v.as.memory_format = (tensor_memory_format)a->i;
      break;
    case 'L':
    case 'V':
      v.kind = TENSOR_VALUE_INTS, v.length = a->list.length, v.as.ints = a->list.data;
      break;
    case 'A':
    case 'R':
    case 'Z':
      v.kind = TENSOR_VALUE_TENSORS;
      break;
    case 'l':
    case 'v':
      if (a->list.data)
        v.kind = TENSOR_VALUE_INTS, v.length = a->list.length, v.as.ints = a->list.data;
  }
  return v;
}

static void write_default(const tensor_value *v, text *to) {
  char number[64];
  switch (v->kind) {
    case TENSOR_VALUE_INT:
      snprintf(number, sizeof number, "%" PRId64, v->as.i);
      break;
    case TENSOR_VALUE_FLOAT:
      snprintf(number, sizeof number, "%.17g%s", v->as.f,
               v->as.f == floor(v->as.f) && fabs(v->as.f) < 1e15 ? "." : "");
      break;
    case TENSOR_VALUE_BOOL:
      snprintf(number, sizeof number, "%s", v->as.b ? "True" : "False");
      break;
    case TENSOR_VALUE_STRING:
      snprintf(number, sizeof number, "\"%s\"", v->as.string);
      break;
    case TENSOR_VALUE_DTYPE:
      snprintf(number, sizeof number, "%s", tensor_dtype_name(v->as.dtype));
      break;
    case TENSOR_VALUE_LAYOUT:
      snprintf(number, sizeof number, "%d", (int)v->as.layout);
      break;
    case TENSOR_VALUE_MEMORY_FORMAT:
      snprintf(number, sizeof number, "%d", (int)v->as.memory_format);
      break;
    case TENSOR_VALUE_TENSORS:
      snprintf(number, sizeof number, "[]");
      break;
    case TENSOR_VALUE_INTS:
      add_text(to, "[");
      for (int64_t i = 0; i < v->length; i++) {
        snprintf(number, sizeof number, "%s%" PRId64, i ? ", " : "", v->as.ints[i]);
        add_text(to, number);
      }
      snprintf(number, sizeof number, "]");
      break;
    default:
      snprintf(number, sizeof number, "None");
  }
  add_text(to, number);
}

static void set_formal(const lt_operator *op, int i, int form, lt_formal *f) {
  const lt_parameter *p = op->parameters + i;
  *f = (lt_formal){.name = p->name,
                   .called = p->name,
                   .kind = p->kind,
                   .to = (signed char)i,
                   .alias = -1,
                   .nullable = p->kind >= 'a',
                   .by_name = p->flags & LT_BY_NAME,
                   .has_default = p->flags & LT_DEFAULT,
                   .is_written = p->flags & LT_MUTATED,
                   .flags = p->flags,
                   .absent = absent_value(p)};
  if (form == LT_INPLACE && i == 0) {
    f->is_written = true, f->alias = 0;
    if (f->kind == 'O' || f->kind == 'P') f->kind = 'T';
  } else if (f->is_written || (i == 0 && op->aliases && form == LT_FUNCTION)) {
    f->alias = 0;
  }
  f->type = type_of(f->kind);
}

static void write_formal(const lt_formal *f, text *to) {
  const size_t n = f->alias < 0 ? strlen(f->type) : strcspn(f->type, "[?");
  append_text(to, f->type, n);
  if (f->alias >= 0) {
    const char mark[] = {'(', (char)('a' + f->alias), f->is_written ? '!' : ')', ')', 0};
    append_text(to, mark, f->is_written ? 4 : 3);
    add_text(to, f->type + n);
  }
  if (!f->name) return;
  add_text(to, " ");
  add_text(to, f->name);
  if (!f->has_default) return;
  add_text(to, "=");
  write_default(&f->absent, to);
}

// Writes the schema of an own operator, and describes its results.
static void write_own_schema(lt_target *t, tensor_result_info *results, text *to) {
  bool star = false;
  add_text(to, "(");
  for (int i = 0; i < t->count; i++) {
    if (i) add_text(to, ", ");
    if (t->formals[i].by_name && !star) star = true, add_text(to, "*, ");
    write_formal(t->formals + i, to);
  }
  const int n = (int)strlen(t->op->results);
  add_text(to, n == 1 ? ") -> " : ") -> (");
  const char *name = t->op->out;
  for (int i = 0; i < n; i++, name += strlen(name) + 1) {
    const int alias = t->form == LT_INPLACE     ? 0
                      : t->form == LT_OUT       ? i
                      : t->op->aliases >> i & 1 ? 0
                                                : -1;
    const lt_formal f = {.name = n == 1 ? NULL : name,
                         .type = type_of(t->op->results[i]),
                         .alias = (signed char)alias,
                         .is_written = t->form != LT_FUNCTION};
    if (i) add_text(to, ", ");
    write_formal(&f, to);
    results[i] = (tensor_result_info){f.type,
                                      t->form == LT_INPLACE ? 0
                                      : t->form == LT_OUT   ? t->op->count + i
                                                            : -1,
                                      alias};
  }
  if (n != 1) add_text(to, ")");
  t->info.result_count = n, t->info.results = results;
}

lt_target *lt_make_target(const lt_operator *op, int form) {
  char schema[SCHEMA_BYTES];
  text s = {schema, schema + sizeof schema - 1};
  const int outs = form == LT_OUT ? (int)strlen(op->results) : 0;
  lt_target *t = calloc(1, sizeof *t);
  lt_formal *formals = calloc((size_t)op->count + (size_t)outs + 1, sizeof *formals);
  tensor_result_info *results = calloc(LT_MOST_RESULTS, sizeof *results);
  if (!t || !formals || !results) return NULL;
  for (int i = 0; i < op->count; i++) set_formal(op, i, form, formals + i);
  const char *out = op->out;
  for (int i = 0; i < outs; i++, out += strlen(out) + 1)
    formals[op->count + i] = (lt_formal){.name = out,
                                         .called = out,
                                         .type = "Tensor",
                                         .kind = 'T',
                                         .to = (signed char)(op->count + i),
                                         .alias = (signed char)i,
                                         .by_name = true,
                                         .is_written = true,
                                         .is_out = true};
  t->op = op, t->form = form, t->results = op->results, t->formals = formals;
  t->count = op->count + outs, t->inputs = op->count, t->outs = outs;
  add_text(&s, form == LT_INPLACE ? op->called_ : op->called);
  add_text(&s, op->name + strlen(op->called));
  t->name = strdup(schema);
  write_own_schema(t, results, &s);
  t->schema = strdup(schema);
  return t->name && t->schema && complete_target(t) ? t : NULL;
}
