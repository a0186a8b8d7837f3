// Conversion of tensor_values to the representation of an operator's parameters, and back.
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "gen_names.h"
#include "handle.h"
#include "observer.h"

void lt_explain(lt_problem *problem, tensor_status code, const char *argument, const char *format,
                ...) {
  if (!problem) return;
  problem->code = code;
  snprintf(problem->argument, sizeof problem->argument, "%s", argument ? argument : "");
  va_list values;
  va_start(values, format);
  vsnprintf(problem->text, sizeof problem->text, format, values);
  va_end(values);
}

// ------------------------------------------------------------------------------------------ values

static const char *const kind_names[] = {
    "None",    "Tensor", "int",           "float",  "bool",      "complex",  "str",
    "dtype",   "layout", "memory_format", "device", "Generator", "Tensor[]", "int[]",
    "float[]", "bool[]", "Scalar[]",      "int",    "str[]",     "Storage",  "index"};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

static bool is_list(const tensor_value *v) {
  return (v->kind >= TENSOR_VALUE_TENSORS && v->kind <= TENSOR_VALUE_SCALARS) ||
         v->kind == TENSOR_VALUE_STRINGS || v->kind == TENSOR_VALUE_INDICES;
}

// A bool of the caller may have any byte.
static bool read_bool(const bool *b) { return *(const unsigned char *)b != 0; }

static const char *name_of(int64_t i, const char *const *names, int64_t count) {
  return i >= 0 && i < count ? names[i] : "unknown";
}

static size_t show_items(const tensor_value *v, char *to, size_t room) {
  enum { SHOWN = 6 };
  size_t n = (size_t)snprintf(to, room, "[");
  for (int64_t i = 0; i < v->length && i < SHOWN && n < room; i++) {
    const char *comma = i ? ", " : "";
    if (v->kind == TENSOR_VALUE_INTS)
      n += (size_t)snprintf(to + n, room - n, "%s%" PRId64, comma, v->as.ints[i]);
    else
      n += (size_t)snprintf(to + n, room - n, "%s%.6g", comma, v->as.floats[i]);
  }
  if (n < room) n += (size_t)snprintf(to + n, room - n, v->length > SHOWN ? ", ...]" : "]");
  return n;
}

void lt_show_value(const tensor_value *v, char *to, size_t room) {
  static const char *const layouts[] = LT_LAYOUTS_BY_NUMBER, *const formats[] =
                                                                 LT_FORMATS_BY_NUMBER;
  if ((unsigned)v->kind >= KINDS) {
    snprintf(to, room, "a value of the unknown kind %d", (int)v->kind);
    return;
  }
  const char *name = kind_names[v->kind];
  switch (v->kind) {
    case TENSOR_VALUE_INT:
      snprintf(to, room, "the int %" PRId64, v->as.i);
      return;
    case TENSOR_VALUE_UINT:
      snprintf(to, room, "the int %" PRIu64, v->as.u);
      return;
    case TENSOR_VALUE_FLOAT:
      snprintf(to, room, "the float %.17g", v->as.f);
      return;
    case TENSOR_VALUE_BOOL:
      snprintf(to, room, "the bool %s", read_bool(&v->as.b) ? "True" : "False");
      return;
    case TENSOR_VALUE_COMPLEX:
      snprintf(to, room, "the complex number (%.6g, %.6g)", v->as.c[0], v->as.c[1]);
      return;
    case TENSOR_VALUE_STRING:
      snprintf(to, room, "the str \"%.60s\"", v->as.string ? v->as.string : "");
      return;
    case TENSOR_VALUE_DTYPE:
      snprintf(to, room, "the dtype %s", tensor_dtype_name(v->as.dtype));
      return;
    case TENSOR_VALUE_LAYOUT:
      snprintf(to, room, "the layout %s", name_of(v->as.layout, layouts, LT_LAYOUTS));
      return;
    case TENSOR_VALUE_MEMORY_FORMAT:
      snprintf(to, room, "the memory format %s", name_of(v->as.memory_format, formats, LT_FORMATS));
      return;
    case TENSOR_VALUE_INTS:
    case TENSOR_VALUE_FLOATS:
      if (v->length >= 0 && v->length <= LT_LONGEST && v->as.ints) {
        const size_t n = (size_t)snprintf(to, room, "the %s ", name);
        if (n < room) show_items(v, to + n, room - n);
        return;
      }
      // fall through
    default:
      if (is_list(v))
        snprintf(to, room, "a %s of length %" PRId64, name, v->length);
      else
        snprintf(to, room, "%s%s", v->kind == TENSOR_VALUE_NONE ? "" : "a ", name);
  }
}

// ---------------------------------------------------------------------------------------- memory

// Allocates n numbers of 8 bytes, which are freed with the bound call; NULL if there is no memory.
static void *allocate_numbers(lt_bound *b, int64_t n) {
  enum { ROOM = sizeof b->numbers / sizeof *b->numbers };
  if (n <= ROOM - b->used) {
    b->used += (int)n;
    return b->numbers + b->used - n;
  }
  void **block = malloc(sizeof *block + (size_t)n * sizeof *b->numbers);
  if (!block) return NULL;
  *block = b->blocks, b->blocks = block;
  return block + 1;
}

void lt_release_bound(lt_bound *b) {
  for (int i = 0; i < b->held_count; i++) tensor_free(b->held[i]);
  b->held_count = 0;
  while (b->blocks) {
    void *next = *(void **)b->blocks;
    free(b->blocks);
    b->blocks = next;
  }
}

// ------------------------------------------------------------------------------------ conversion

static bool read_scalar(const tensor_value *v, tensor_scalar *to) {
  switch (v->kind) {
    case TENSOR_VALUE_INT:
      *to = tensor_int(v->as.i);
      return true;
    case TENSOR_VALUE_UINT:
      *to = tensor_uint(v->as.u);
      return true;
    case TENSOR_VALUE_FLOAT:
      *to = tensor_float(v->as.f);
      return true;
    case TENSOR_VALUE_BOOL:
      *to = tensor_bool(read_bool(&v->as.b));
      return true;
    case TENSOR_VALUE_COMPLEX:
      *to = tensor_complex(v->as.c[0], v->as.c[1]);
      return true;
    default:
      return false;
  }
}

// Returns whether a value is a tensor with one element and no dimensions, which can be a number.
static bool is_zero_dim(const tensor_value *v) {
  return v->kind == TENSOR_VALUE_TENSOR && v->as.tensor && lt_find(v->as.tensor) &&
         tensor_dim(v->as.tensor) == 0;
}

// The number that a value represents; `converted` is set if it is a tensor.
static bool read_number(const tensor_value *v, tensor_scalar *to, bool *converted) {
  if (read_scalar(v, to)) return true;
  if (!is_zero_dim(v)) return false;
  const bool hidden = lt_hide_calls(true);
  const bool is_read = tensor_item(v->as.tensor, to) == TENSOR_OK;
  lt_hide_calls(hidden);
  return is_read && (*converted = true);
}

static bool read_int(const tensor_value *v, int64_t *to, bool *converted) {
  tensor_scalar s;
  if (v->kind == TENSOR_VALUE_INT) return *to = v->as.i, true;
  if (v->kind == TENSOR_VALUE_FLOAT || !read_number(v, &s, converted)) return false;
  if (s.kind != TENSOR_SCALAR_INT && s.kind != TENSOR_SCALAR_BOOL) return false;
  return *to = s.value.i, *converted = true;
}

static bool read_float(const tensor_value *v, double *to, bool *converted) {
  tensor_scalar s;
  if (v->kind == TENSOR_VALUE_FLOAT) return *to = v->as.f, true;
  if (!read_number(v, &s, converted) || s.kind == TENSOR_SCALAR_COMPLEX) return false;
  *to = s.kind == TENSOR_SCALAR_FLOAT  ? s.value.f.re
        : s.kind == TENSOR_SCALAR_UINT ? (double)s.value.u
                                       : (double)s.value.i;
  return *converted = true;
}

// Finds a name among those of an enumeration.
static bool read_name(const char *text, const char *const *names, int count, int64_t *to) {
  for (*to = 0; text && *to < count; ++*to)
    if (strcmp(text, names[*to]) == 0) return true;
  return false;
}

static bool read_dtype(const tensor_value *v, int64_t *to) {
  if (v->kind == TENSOR_VALUE_DTYPE) return *to = v->as.dtype, true;
  if (v->kind != TENSOR_VALUE_STRING || !v->as.string) return false;
  for (*to = 0; *to < LT_DTYPES; ++*to)
    if (strcmp(v->as.string, tensor_dtype_name((tensor_dtype)*to)) == 0) return true;
  return false;
}

static bool read_device(const tensor_value *v, tensor_device *to) {
  static const char *const names[] = LT_DEVICES_BY_NUMBER;
  if (v->kind == TENSOR_VALUE_DEVICE) return *to = v->as.device, true;
  if (v->kind != TENSOR_VALUE_STRING || !v->as.string) return false;
  const size_t length = strcspn(v->as.string, ":");
  const char *index = v->as.string + length;
  to->index = -1;
  if (*index) {
    char *end;
    const long number = isdigit((unsigned char)index[1]) ? strtol(index + 1, &end, 10) : -1;
    if (number < 0 || number > INT16_MAX || *end) return false;
    to->index = (int32_t)number;
  }
  for (to->type = 0; to->type < LT_DEVICES; to->type++)
    if (strlen(names[to->type]) == length && strncmp(names[to->type], v->as.string, length) == 0)
      return true;
  return false;
}

static bool set_list(lt_value *to, const void *data, int64_t length) {
  static const int64_t empty;
  to->list.data = data ? data : &empty, to->list.length = length;
  return true;
}

// Reads item i of a list of numbers, as a value.
static tensor_value item_of(const tensor_value *v, int64_t i) {
  tensor_value item = {.kind = TENSOR_VALUE_NONE};
  switch (v->kind) {
    case TENSOR_VALUE_INTS:
      item.kind = TENSOR_VALUE_INT, item.as.i = v->as.ints[i];
      break;
    case TENSOR_VALUE_FLOATS:
      item.kind = TENSOR_VALUE_FLOAT, item.as.f = v->as.floats[i];
      break;
    case TENSOR_VALUE_BOOLS:
      item.kind = TENSOR_VALUE_BOOL, item.as.b = read_bool(v->as.bools + i);
      break;
    case TENSOR_VALUE_TENSORS:
      item.kind = TENSOR_VALUE_TENSOR, item.as.tensor = v->as.tensors[i];
      break;
    case TENSOR_VALUE_SCALARS:
      switch (v->as.scalars[i].kind) {
        case TENSOR_SCALAR_BOOL:
          item.kind = TENSOR_VALUE_BOOL, item.as.b = v->as.scalars[i].value.i != 0;
          break;
        case TENSOR_SCALAR_INT:
          item.kind = TENSOR_VALUE_INT, item.as.i = v->as.scalars[i].value.i;
          break;
        case TENSOR_SCALAR_UINT:
          item.kind = TENSOR_VALUE_UINT, item.as.u = v->as.scalars[i].value.u;
          break;
        case TENSOR_SCALAR_FLOAT:
          item.kind = TENSOR_VALUE_FLOAT, item.as.f = v->as.scalars[i].value.f.re;
          break;
        case TENSOR_SCALAR_COMPLEX:
          item.kind = TENSOR_VALUE_COMPLEX, item.as.c[0] = v->as.scalars[i].value.f.re;
          item.as.c[1] = v->as.scalars[i].value.f.im;
      }
      break;
    default:
      break;
  }
  return item;
}

// Converts a list of numbers to one of a kind: L ints, E floats, H bools, N scalars.
static bool convert_list(char kind, const tensor_value *v, lt_bound *b, lt_value *to) {
  const bool one = !is_list(v);
  const int64_t n = one ? 1 : v->length;
  const size_t width = kind == 'N' ? sizeof(tensor_scalar) / 8 : 1;
  if (!one && (v->kind == TENSOR_VALUE_STRINGS || v->kind == TENSOR_VALUE_INDICES)) return n == 0;
  void *data = allocate_numbers(b, n * (int64_t)width);
  if (!data) return false;
  for (int64_t i = 0; i < n; i++) {
    const tensor_value item = one ? *v : item_of(v, i);
    bool ignored = false;
    switch (kind) {
      case 'L':
        if (!read_int(&item, (int64_t *)data + i, &ignored)) return false;
        break;
      case 'E':
        if (!read_float(&item, (double *)data + i, &ignored)) return false;
        break;
      case 'H':
        if (item.kind != TENSOR_VALUE_BOOL) return false;
        ((bool *)data)[i] = read_bool(&item.as.b);
        break;
      case 'N':
        if (!read_number(&item, (tensor_scalar *)data + i, &ignored)) return false;
    }
  }
  b->converted = true;
  return set_list(to, data, n);
}

// Converts a number to a tensor that is promoted like a number.
static bool make_tensor(const tensor_value *v, lt_bound *b, lt_value *to) {
  enum { ROOM = sizeof b->held / sizeof *b->held };
  tensor_scalar s;
  tensor_t *made;
  if (b->held_count == ROOM || !read_scalar(v, &s)) return false;
  const bool hidden = lt_hide_calls(true);
  const tensor_status status = tensor_scalar_operand(s, &made);
  lt_hide_calls(hidden);
  if (status) return false;
  b->converted = true;
  return to->pointer = b->held[b->held_count++] = made, true;
}

// The representation of None.
static void set_none(char kind, lt_value *to) {
  switch (kind) {
    case 's':
    case 'o':
      to->scalar = tensor_none();
      break;
    case 'i':
      to->i = TENSOR_NONE;
      break;
    case 'b':
    case 'd':
    case 'y':
    case 'm':
      to->i = -1;
      break;
    case 'c':
      to->device = tensor_device_default();
      break;
    default:
      to->list.data = NULL, to->list.length = 0;
  }
}

// The strings that operators take where ATen has numbers.
static const char *read_word(const char *parameter, int64_t number) {
  static const struct {
    const char *parameter, *words[4];
  } known[] = {{"reduction", {"none", "mean", "sum"}},
               {"mode", {"sum", "mean", "max"}},
               {"compute_mode",
                {"use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist",
                 "donot_use_mm_for_euclid_dist"}}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].parameter, parameter) == 0)
      return number >= 0 && number < 4 ? known[i].words[number] : NULL;
  return NULL;
}

// An operand: a tensor or a number.
static bool convert_operand(const lt_target *target, const lt_formal *f, const tensor_value *v,
                            lt_bound *b, lt_value *to) {
  if (f->is_scalar) return read_number(v, &to->scalar, &b->converted) && (b->number = true);
  if (v->kind == TENSOR_VALUE_TENSOR) return b->number = false, to->pointer = v->as.tensor, true;
  if (!target->emulated && !(target->op->forms & LT_HAS(target->form, 1)))
    return make_tensor(v, b, to);
  return read_scalar(v, &to->scalar) && (b->number = true);
}

// Returns whether a parameter accepts numbers as tensors, unless it is written to.
static bool is_operand(char kind) { return kind == 'O' || kind == 'P' || kind == 'T'; }

// Converts a value that is not None, of the type of a kind in capitals.
static bool convert_one(const lt_target *target, const lt_formal *f, char kind,
                        const tensor_value *v, lt_bound *b, lt_value *to) {
  static const char *const layouts[] = LT_LAYOUTS_BY_NUMBER, *const formats[] =
                                                                 LT_FORMATS_BY_NUMBER;
  const bool empty = is_list(v) && v->length == 0;
  if (f->is_written && is_operand(kind) && v->kind != TENSOR_VALUE_TENSOR) return false;
  switch (kind) {
    case 'O':
      return convert_operand(target, f, v, b, to);
    case 'P':
    case 'T':
      if (v->kind == TENSOR_VALUE_TENSOR) return to->pointer = v->as.tensor, true;
      return make_tensor(v, b, to);
    case 'S':
      return read_number(v, &to->scalar, &b->converted);
    case 'I':
      if (v->kind == TENSOR_VALUE_FLOAT && strncmp(f->type, "Scalar", 6) == 0 &&
          v->as.f == floor(v->as.f) && fabs(v->as.f) < 0x1p63)
        return to->i = (int64_t)v->as.f, b->converted = true;
      return read_int(v, &to->i, &b->converted);
    case 'F':
      if (f->kind == 'F') return read_float(v, &to->f, &b->converted);
      to->pointer = allocate_numbers(b, 1);
      return to->pointer && read_float(v, to->pointer, &b->converted);
    case 'B':
      return v->kind == TENSOR_VALUE_BOOL && (to->i = read_bool(&v->as.b), true);
    case 'U':
      if (v->kind == TENSOR_VALUE_INT && f->called)
        return (to->text = read_word(f->called, v->as.i)) != NULL;
      return v->kind == TENSOR_VALUE_STRING && (to->text = v->as.string);
    case 'D':
      return read_dtype(v, &to->i);
    case 'Y':
      if (v->kind == TENSOR_VALUE_STRING)
        return read_name(v->as.string, layouts, LT_LAYOUTS, &to->i);
      return v->kind == TENSOR_VALUE_LAYOUT && (to->i = v->as.layout, true);
    case 'M':
      if (v->kind == TENSOR_VALUE_STRING)
        return read_name(v->as.string, formats, LT_FORMATS, &to->i);
      return v->kind == TENSOR_VALUE_MEMORY_FORMAT && (to->i = v->as.memory_format, true);
    case 'C':
      return read_device(v, &to->device);
    case 'G':
      return v->kind == TENSOR_VALUE_GENERATOR && (to->pointer = v->as.generator);
    case 'W':
      return v->kind == TENSOR_VALUE_STORAGE && (to->pointer = v->as.storage);
    case 'A':
    case 'R':
    case 'Z':
      return (v->kind == TENSOR_VALUE_TENSORS || empty) && set_list(to, v->as.tensors, v->length);
    case 'X':
      return (v->kind == TENSOR_VALUE_INDICES || empty) && set_list(to, v->as.indices, v->length);
    case 'K':
      return (v->kind == TENSOR_VALUE_STRINGS || empty) && set_list(to, v->as.strings, v->length);
    case 'L':
    case 'V':
      if (v->kind == TENSOR_VALUE_INTS || empty) return set_list(to, v->as.ints, v->length);
      return convert_list('L', v, b, to);
    case 'E':
      if (v->kind == TENSOR_VALUE_FLOATS || empty) return set_list(to, v->as.floats, v->length);
      return convert_list('E', v, b, to);
    case 'H':
      if (v->kind == TENSOR_VALUE_BOOLS || empty) return set_list(to, v->as.bools, v->length);
      return is_list(v) && convert_list('H', v, b, to);
    case 'N':
      if (v->kind == TENSOR_VALUE_SCALARS || empty) return set_list(to, v->as.scalars, v->length);
      return is_list(v) && convert_list('N', v, b, to);
  }
  return false;
}

// Rejects values that cannot be read: unknown kinds, NULL, and invalid lengths.
static bool check_value(const lt_target *target, const lt_formal *f, const tensor_value *v,
                        lt_problem *problem) {
  if ((unsigned)v->kind >= KINDS) {
    lt_explain(problem, TENSOR_ERROR_VALUE, f->name,
               "%s: argument '%s' has the kind %d, which is not a tensor_value_kind", target->name,
               f->name, (int)v->kind);
    return false;
  }
  if (is_list(v)) {
    if (v->length >= 0 && v->length <= LT_LONGEST && (v->as.ints || !v->length)) return true;
    if (v->length >= 0 && v->length <= LT_LONGEST)
      lt_explain(problem, TENSOR_ERROR_VALUE, f->name,
                 "%s: argument '%s' is a list of %" PRId64 " items at address NULL", target->name,
                 f->name, v->length);
    else
      lt_explain(problem, TENSOR_ERROR_VALUE, f->name,
                 "%s: argument '%s' is a list of %" PRId64
                 " items; a length is between 0 and 2147483647",
                 target->name, f->name, v->length);
    return false;
  }
  const bool pointer = v->kind == TENSOR_VALUE_TENSOR || v->kind == TENSOR_VALUE_STRING ||
                       v->kind == TENSOR_VALUE_GENERATOR || v->kind == TENSOR_VALUE_STORAGE;
  if (!pointer || v->as.tensor) return true;
  lt_explain(problem, TENSOR_ERROR_HANDLE, f->name,
             "%s: argument '%s' is a %s at address NULL; TENSOR_VALUE_NONE represents None",
             target->name, f->name, kind_names[v->kind]);
  return false;
}

// The values that a parameter of a kind accepts, for error messages.
static const char *describe_type(char kind) {
  static const char *const types[] = {
      ['A' - 'A'] = "a list of tensors",
      ['B' - 'A'] = "a bool",
      ['C' - 'A'] = "a device or its name, such as 'cpu'",
      ['D' - 'A'] = "a dtype or its name, such as 'float32'",
      ['E' - 'A'] = "a list of floats",
      ['F' - 'A'] = "a float or an int",
      ['G' - 'A'] = "a generator",
      ['H' - 'A'] = "a list of bools",
      ['I' - 'A'] = "an int or a bool",
      ['J' - 'A'] = "a node, which no tensor_value holds",
      ['K' - 'A'] = "a list of strings",
      ['L' - 'A'] = "an int or a list of ints",
      ['M' - 'A'] = "a memory format or its name, such as 'channels_last'",
      ['N' - 'A'] = "a list of numbers",
      ['O' - 'A'] = "a tensor or a number",
      ['P' - 'A'] = "a tensor or a number",
      ['Q' - 'A'] = "an address, which no tensor_value holds",
      ['R' - 'A'] = "a list of tensors",
      ['S' - 'A'] = "an int, float, bool or complex number",
      ['T' - 'A'] = "a tensor or a number",
      ['U' - 'A'] = "a string",
      ['V' - 'A'] = "an int or a list of ints",
      ['W' - 'A'] = "a storage",
      ['X' - 'A'] = "a list of index items",
      ['Y' - 'A'] = "a layout or its name, such as 'strided'",
      ['Z' - 'A'] = "a list of tensors or None"};
  return types[kind >= 'a' ? kind - 'a' : kind - 'A'];
}

bool lt_convert(const lt_target *target, const lt_formal *f, const tensor_value *v, lt_bound *b,
                lt_problem *problem) {
  lt_value unused, *to = f->to < 0 ? &unused : b->a + f->to;
  const bool small = f->kind >= 'a';
  const char kind = (char)(small ? f->kind - 'a' + 'A' : f->kind);
  if (!check_value(target, f, v, problem)) return false;
  if (v->kind == TENSOR_VALUE_NONE) {
    if (f->nullable && small) return set_none(f->kind, to), true;
    if (f->nullable && f->to < 0) return true;
    if (f->flags & LT_NONE_IS_DEFAULT) return *to = target->op->parameters[(int)f->to].absent, true;
  } else if (convert_one(target, f, kind, v, b, to)) {
    return true;
  }
  char shown[256];
  lt_show_value(v, shown, sizeof shown);
  lt_explain(
      problem, TENSOR_ERROR_TYPE, f->name, "%s: argument '%s' is %s; it must be %s%s", target->name,
      f->name, shown,
      f->is_written && is_operand(kind) ? "a tensor" : describe_type(f->is_scalar ? 'S' : f->kind),
      f->nullable ? ", or None" : "");
  return false;
}
