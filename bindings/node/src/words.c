// The library's messages in JavaScript's words: its names are in snake case, and some of its words
// are Python's.
#include <ctype.h>

#include "addon.h"
#include "gen_names.h"

// Words of Python's, and those that JavaScript has instead.
static const char *const others[][2] = {
    {"None", "null"},
    {"True", "true"},
    {"False", "false"},
    {"list", "array"},
    {"lists", "arrays"},
    {"tuple", "array"},
    {"tuples", "arrays"},
    {"dict", "object"},
    {"tensor_define_operator", "defineOperator"},
    {"tensor_remove_operator", "operator.remove"},
};

// Values that are strings in JavaScript, too.
static bool is_value(const char *word, size_t length) {
  static const char *const layouts[] = LT_LAYOUTS_BY_NUMBER, *const formats[] =
                                                                 LT_FORMATS_BY_NUMBER;
  static const char *const begins[] = {"per_tensor_", "per_channel_", "float8_", "use_mm_for_",
                                       "donot_use_mm_"};
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
    if (strlen(layouts[i]) == length && strncmp(word, layouts[i], length) == 0) return true;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (strlen(formats[i]) == length && strncmp(word, formats[i], length) == 0) return true;
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (strncmp(word, begins[i], strlen(begins[i])) == 0) return word[length] != '(';
  return false;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

// Copies a name of the library's in camel case; an underscore at its end stays.
static char *copy_camel(char *to, const char *word, size_t length) {
  for (size_t i = 0; i < length; i++) {
    bool joins =
        word[i] == '_' && i > 0 && i + 1 < length && word[i + 1] != '_' && word[i - 1] != '_';
    *to++ = joins ? (char)toupper((unsigned char)word[++i]) : word[i];
  }
  return to;
}

static char *copy_word(char *to, const char *text, const char *word, size_t length) {
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (strlen(others[i][0]) != length || strncmp(word, others[i][0], length) != 0) continue;
    bool article =
        to - text >= 2 && to[-1] == ' ' && to[-2] == 'a' && (to - text == 2 || to[-3] == ' ');
    if (article && strchr("ao", others[i][1][0])) to = stpcpy(to - 1, "n ");
    return stpcpy(to, others[i][1]);
  }
  for (size_t i = 0; i < length; i++)
    if (isupper((unsigned char)word[i])) return mempcpy(to, word, length);
  return is_value(word, length) ? mempcpy(to, word, length) : copy_camel(to, word, length);
}

// The end of a quoted string, which the application passed; names of arguments and options are the
// library's.
static const char *end_of_quoted(const char *start, const char *at) {
  static const char *const before[] = {"argument ", "option "};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    size_t length = strlen(before[i]);
    if ((size_t)(at - start) >= length && strncmp(at - length, before[i], length) == 0)
      return at + 1;
  }
  if (at > start && is_word(at[-1])) return at + 1;  // an apostrophe
  const char *end = strchr(at + 1, *at);
  return end ? end + 1 : at + 1;
}

static bool is_path(const char *start, const char *at, size_t length) {
  return (at > start && at[-1] == '/') || at[length] == '/';
}

char *lt_in_javascript(const char *message) {
  char *text = malloc(2 * strlen(message) + 1), *to = text;
  if (!text) return NULL;
  for (const char *at = message; *at;) {
    size_t length = 0;
    while (is_word(at[length])) length++;
    if (*at == '\'' || *at == '"')
      length = (size_t)(end_of_quoted(message, at) - at);
    else if (length && !is_path(message, at, length)) {
      to = copy_word(to, text, at, length);
      at += length;
      // name=value
      if (*at == '=' && (is_word(at[1]) || at[1] == '-')) {
        to = stpcpy(to, ": ");
        at++;
      }
      continue;
    }
    if (!length) length = 1;
    to = mempcpy(to, at, length);
    at += length;
  }
  *to = 0;
  return text;
}

// How long a name of the library's is that a message begins with, with its parentheses.
static size_t name_length(const char *message) {
  static const char *const after[] = {": ", " is not implemented", " expected "};
  size_t length = 0;
  while (isalnum((unsigned char)message[length]) || message[length] == '_' ||
         message[length] == '.')
    length++;
  if (length && strncmp(message + length, "(): ", 4) == 0) return length + 2;
  for (size_t i = 0; length && i < sizeof after / sizeof *after; i++)
    if (strncmp(message + length, after[i], strlen(after[i])) == 0) return length;
  return 0;
}

char *lt_in_name_of(const char *name, const char *message) {
  size_t skipped = name_length(message);
  char *rest = lt_in_javascript(message + skipped);
  if (!rest) return NULL;
  char *whole = malloc(strlen(name) + strlen(rest) + sizeof ": ");
  if (whole) strcat(strcat(strcpy(whole, name), skipped ? "" : ": "), rest);
  free(rest);
  return whole;
}
