// Reading of the schemas of custom operators.
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "custom.h"
#include "gen_names.h"

typedef struct reader {
  const char *schema, *at;
  char *to, *end;
  // The last type: its name of `type_length` characters, and what follows it.
  const char *type;
  size_t type_length;
  bool is_tensor, is_list, is_optional;
  lt_problem *problem;
} reader;

static bool reject(reader *r, const char *expected) {
  if (!r->problem->code)
    lt_explain(r->problem, TENSOR_ERROR_VALUE, "schema",
               "define_operator: the schema \"%.300s\" is invalid at position %d: expected %s",
               r->schema, (int)(r->at - r->schema), expected);
  return false;
}

static void put(reader *r, const char *text, size_t n) {
  if (n > (size_t)(r->end - r->to)) n = (size_t)(r->end - r->to);
  memcpy(r->to, text, n);
  r->to += n, *r->to = 0;
}
static void put_text(reader *r, const char *text) { put(r, text, strlen(text)); }

static void skip(reader *r) {
  while (isspace((unsigned char)*r->at)) r->at++;
}

static bool accept(reader *r, const char *text) {
  const size_t n = strlen(text);
  skip(r);
  if (strncmp(r->at, text, n) != 0) return false;
  r->at += n;
  return true;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool word(reader *r, const char *expected) {
  size_t n = 0;
  if (isdigit((unsigned char)*r->at)) return reject(r, expected);
  while (is_word(r->at[n])) n++;
  if (!n || n > 100) return reject(r, expected);
  put(r, r->at, n);
  r->at += n;
  return true;
}

static bool is_text(const char *text, const char *s, size_t n) {
  return strlen(text) == n && strncmp(text, s, n) == 0;
}

static bool is_type(const char *at, size_t n, bool is_result) {
  static const char *const types[] = {"Tensor", "int",          "SymInt",     "float",
                                      "bool",   "Scalar",       "ScalarType", "Layout",
                                      "Device", "MemoryFormat", "str",        "Generator"};
  enum { RESULTS = 6 };
  for (size_t i = 0; i < (is_result ? RESULTS : sizeof types / sizeof *types); i++)
    if (is_text(types[i], at, n)) return true;
  return false;
}

// The marks behind a type: an alias set such as (a!), [] or [2], and ?.
static bool suffix(reader *r, bool is_tensor, bool is_result) {
  if (*r->at == '(') {
    const size_t n = strcspn(r->at, ")");
    if (!is_tensor || r->at[n] != ')' || n < 2 || !islower((unsigned char)r->at[1]))
      return reject(r, "an alias set of a tensor, such as (a!)");
    put(r, r->at, n + 1);
    r->at += n + 1;
  }
  if (is_tensor && strncmp(r->at, "?[]", 3) == 0 && !is_result) {
    put_text(r, "?[]");
    r->at += 3;
    return true;
  }
  if (*r->at == '[') {
    const size_t n = 1 + strspn(r->at + 1, "0123456789");
    if (is_result && !is_tensor)
      return reject(r, "a result that is no list: Tensor[] is the only list that operators return");
    if (r->at[n] != ']' || n > 6) return reject(r, "a list such as []");
    put(r, r->at, n + 1);
    r->at += n + 1;
  }
  if (*r->at == '?') {
    if (is_result) return reject(r, "the name of a result, a comma or the end");
    put_text(r, "?");
    r->at++;
  }
  return true;
}

static bool type(reader *r, bool is_result) {
  skip(r);
  size_t n = 0;
  while (is_word(r->at[n])) n++;
  if (!is_type(r->at, n, is_result))
    return reject(r, is_result
                         ? "the type of a result: Tensor, Tensor[], int, float, bool or Scalar"
                         : "the type of a parameter: Tensor, int, float, bool, Scalar, str, "
                           "ScalarType, Layout, Device, MemoryFormat or Generator");
  r->type = r->at, r->type_length = n, r->is_tensor = is_text("Tensor", r->at, n);
  put(r, r->at, n);
  r->at += n;
  if (!suffix(r, r->is_tensor, is_result)) return false;
  r->is_list = r->type[n] == '[', r->is_optional = r->at[-1] == '?';
  return true;
}

// Whether the n characters at s are an integer or a float of the form of Python.
static bool is_decimal(const char *s, size_t n, bool can_be_float) {
  char item[64], *end;
  const size_t sign = n && (*s == '-' || *s == '+');
  const char *digits = s + sign;
  if (can_be_float && (is_text("inf", digits, n - sign) || is_text("nan", digits, n - sign)))
    return true;
  if (n == sign || n >= sizeof item || !(isdigit((unsigned char)*digits) || *digits == '.'))
    return false;
  if (strspn(digits, can_be_float ? "0123456789.eE+-" : "0123456789") < n - sign) return false;
  memcpy(item, s, n), item[n] = 0;
  errno = 0;
  if (can_be_float)
    strtod(item, &end);
  else
    strtoll(item, &end, 10);
  return !*end && (can_be_float || !errno);
}

// Whether the n characters at s are the number of an enumerator below `limit`.
static bool is_enumerator(const char *s, size_t n, int limit) {
  return n && n < 3 && strspn(s, "0123456789") >= n && atoi(s) < limit;
}

static bool is_dtype_name(const char *s, size_t n) {
  for (int i = 0; i < LT_DTYPES; i++)
    if (is_text(tensor_dtype_name((tensor_dtype)i), s, n)) return true;
  return false;
}

// Returns the name of the value that the last type requires in place of the n characters at s, an
// item of a default; NULL if they fit. Defaults of devices and generators are converted later.
static const char *check_item(const reader *r, const char *s, size_t n) {
  const char *type = r->type;
  const size_t length = r->type_length;
  const bool is_bool = is_text("True", s, n) || is_text("False", s, n);
  if (is_text("int", type, length) || is_text("SymInt", type, length))
    return is_decimal(s, n, false) ? NULL : "an int";
  if (is_text("float", type, length)) return is_decimal(s, n, true) ? NULL : "a float";
  if (is_text("bool", type, length)) return is_bool ? NULL : "a bool: True or False";
  if (is_text("Scalar", type, length) && r->is_list)
    return is_decimal(s, n, false) ? NULL : "an int";  // lists have items of one type
  if (is_text("str", type, length) && r->is_list) return "None, the only default of str[]";
  if (is_text("Scalar", type, length))
    return is_bool || is_decimal(s, n, true) ? NULL : "a Scalar: an int, a float, True or False";
  if (is_text("str", type, length))
    return n && (*s == '"' || *s == '\'') ? NULL : "a str, in quotes";
  if (is_text("ScalarType", type, length))
    return is_dtype_name(s, n) || is_enumerator(s, n, 12) ? NULL : "a dtype, such as float32";
  if (is_text("Layout", type, length))
    return is_text("strided", s, n) || is_enumerator(s, n, TENSOR_SPARSE_BSC + 1)
               ? NULL
               : "a layout, such as strided";
  if (is_text("MemoryFormat", type, length))
    return is_text("contiguous_format", s, n) || is_enumerator(s, n, TENSOR_CHANNELS_LAST_3D + 1)
               ? NULL
               : "a memory format, such as contiguous_format";
  return NULL;
}

// Checks the default of n characters at s against the last type.
static bool check_default(reader *r, const char *s, size_t n) {
  if (r->is_optional && is_text("None", s, n)) return true;
  if (!r->is_list || *s != '[') {
    const char *expected = check_item(r, s, n);
    return !expected || (r->at = s, reject(r, expected));
  }
  const char *at = s + 1;
  while (isspace((unsigned char)*at)) at++;
  if (at == s + n - 1) return true;
  for (int count = 0;; count++) {
    while (isspace((unsigned char)*at)) at++;
    const size_t length = strcspn(at, ",]");
    size_t used = length;
    while (used && isspace((unsigned char)at[used - 1])) used--;
    const bool is_full = count == LT_MOST_DEFAULT_ITEMS;
    const char *expected = is_full ? "at most 8 items" : check_item(r, at, used);
    if (expected) return r->at = at, reject(r, expected);
    if (at[length] == ']') break;
    at += length + 1;
  }
  return at + strcspn(at, "]") == s + n - 1 || (r->at = s, reject(r, "one list"));
}

static bool read_default(reader *r) {
  int depth = 0;
  char quote = 0;
  skip(r);
  const char *start = r->at;
  for (; *r->at; r->at++) {
    const char c = *r->at;
    if (quote)
      quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '[')
      depth++;
    else if (c == ']')
      depth--;
    else if (depth == 0 && (c == ',' || c == ')'))
      break;
  }
  const char *end = r->at;
  while (end > start && isspace((unsigned char)end[-1])) end--;
  const size_t n = (size_t)(end - start);
  const bool opened = n && (*start == '"' || *start == '\'');
  if (quote || depth || !n || n > 300 || (opened && (n < 2 || end[-1] != *start)))
    return r->at = start, reject(r, "a default value");
  if (r->is_tensor && (n != 4 || strncmp(start, "None", 4) != 0))
    return r->at = start, reject(r, "None, the only default of a tensor");
  if (!r->is_tensor && !check_default(r, start, n)) return false;
  put(r, start, n);
  return true;
}

static bool parameters(reader *r) {
  bool star = false;
  if (!accept(r, "(")) return reject(r, "( and the parameters");
  put_text(r, "(");
  if (accept(r, ")")) return put_text(r, ")"), true;
  for (int count = 0;;) {
    skip(r);
    if (!star && *r->at == '*') {
      star = true, r->at++;
      put_text(r, "*");
    } else {
      if (++count > LT_MOST_PARAMETERS) return reject(r, "at most 25 parameters");
      if (!type(r, false)) return false;
      put_text(r, " ");
      skip(r);
      if (!word(r, "the name of a parameter")) return false;
      if (accept(r, "=")) {
        put_text(r, "=");
        if (!read_default(r)) return false;
      }
    }
    if (accept(r, ")")) return put_text(r, ")"), true;
    if (!accept(r, ",")) return reject(r, "a comma or )");
    put_text(r, ", ");
  }
}

static bool result(reader *r) {
  if (!type(r, true)) return false;
  skip(r);
  if (!is_word(*r->at)) return true;
  put_text(r, " ");
  return word(r, "the name of a result");
}

static bool results(reader *r) {
  if (!accept(r, "->")) return reject(r, "-> and the results");
  put_text(r, " -> ");
  if (!accept(r, "(")) return result(r);
  put_text(r, "(");
  if (accept(r, ")")) return put_text(r, ")"), true;
  for (int count = 1;; count++) {
    if (count > LT_MOST_RESULTS) return reject(r, "at most 8 results");
    if (!result(r)) return false;
    if (accept(r, ")")) return put_text(r, ")"), true;
    if (!accept(r, ",")) return reject(r, "a comma or )");
    put_text(r, ", ");
  }
}

static bool name(reader *r) {
  static const char *const reserved[] = {"aten", "prim", "prims"};
  const char *const expected = "the name of the operator, such as ns::name";
  skip(r);
  const char *start = r->at;
  if (!word(r, expected)) return false;
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (strlen(reserved[i]) == (size_t)(r->at - start) &&
        strncmp(start, reserved[i], strlen(reserved[i])) == 0)
      return r->at = start, reject(r, "another namespace than aten, prim and prims");
  if (strncmp(r->at, "::", 2) != 0) return reject(r, "::, as in ns::name");
  put_text(r, "::");
  r->at += 2;
  if (!word(r, expected)) return false;
  if (*r->at != '.') return true;
  r->at++;
  if (strncmp(r->at, "default", 7) == 0 && !is_word(r->at[7])) return r->at += 7, true;
  put_text(r, ".");
  return word(r, "the name of an overload");
}

bool lt_normalize_schema(const char *schema, char *to, size_t room, lt_problem *problem) {
  reader r = {.schema = schema, .at = schema, .to = to, .end = to + room - 1, .problem = problem};
  problem->code = TENSOR_OK;
  *to = 0;
  if (!name(&r) || !parameters(&r) || !results(&r)) return false;
  skip(&r);
  if (*r.at) return reject(&r, "the end of the schema");
  if (r.to == r.end) return reject(&r, "a shorter schema");
  return true;
}
