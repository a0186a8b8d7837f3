// Checks of the inputs of a run of an exported program, and of the results of its custom operators;
// selection of the tensors of its state.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "program_numbers.h"
#include "program_run.h"
#include "table.h"

// ---------------------------------------------------------------------------------------- inputs

void lt_show_shape(const int64_t *sizes, int64_t n, char *to, size_t room) {
  size_t at = (size_t)snprintf(to, room, "[");
  for (int64_t i = 0; i < n && at < room; i++)
    at += (size_t)snprintf(to + at, room - at, "%s%" PRId64, i ? ", " : "", sizes[i]);
  if (at < room) snprintf(to + at, room - at, "]");
}

// The sizes of a tensor as text.
static void show_sizes(const tensor_t *t, char *to, size_t room) {
  const int n = snprintf(to, room, "%s", tensor_dtype_name(tensor_get_dtype(t)));
  lt_show_shape(tensor_sizes(t), tensor_dim(t), to + n, room - (size_t)n);
}

static bool reject(run *r, int64_t i, const char *why) {
  const tensor_program_value *v = r->p->inputs + i;
  if (v->kind == TENSOR_VALUE_TENSOR)
    lt_explain(&r->problem, TENSOR_ERROR_RUNTIME, v->name,
               "program_run: input %" PRId64 " ('%s') is %s; the program expects %s%s", i, v->name,
               why, tensor_dtype_name(v->dtype), v->shape);
  else
    lt_explain(&r->problem, TENSOR_ERROR_RUNTIME, v->name,
               "program_run: input %" PRId64 " ('%s') is %s", i, v->name, why);
  return false;
}

// Evaluates the code of a dimension. Returns false if a symbol has no value yet.
static bool evaluate_dim(const run *r, const lt_dim *d, int64_t *to) {
  int64_t stack[32];
  int top = 0;
  for (int64_t i = 0; i < d->length; i += 2) {
    const int64_t operand = d->code[i + 1];
    if (d->code[i] == LT_DIM_OPERATOR) {
      tensor_value v;
      if (!lt_compute_ints(operand, stack[top - 2], stack[top - 1], &v)) return false;
      stack[--top - 1] = v.as.i;
      continue;
    }
    if (top == 32) return false;
    if (d->code[i] == LT_DIM_SYMBOL && !r->bound[operand]) return false;
    stack[top++] = d->code[i] == LT_DIM_SYMBOL ? r->symbols[operand] : operand;
  }
  return d->length && (*to = stack[0], true);
}

// A dimension that is a linear expression of one symbol without a value: offset + factor * symbol.
typedef struct {
  int64_t symbol, offset, factor;
} line;

// Returns whether a dimension is a linear expression of one symbol without a value.
static bool find_line(run *r, const lt_dim *d, line *to) {
  int64_t symbol = -1, values[3];
  for (int64_t i = 0; i < d->length; i += 2) {
    const int64_t operand = d->code[i + 1];
    if (d->code[i] != LT_DIM_SYMBOL || r->bound[operand] || operand == symbol) continue;
    if (symbol >= 0) return false;
    symbol = operand;
  }
  if (symbol < 0) return false;
  bool known = r->bound[symbol] = true;
  for (int64_t i = 0; known && i < 3; i++) {
    r->symbols[symbol] = i;
    known = evaluate_dim(r, d, values + i);
  }
  r->bound[symbol] = false;
  if (!known || values[1] - values[0] != values[2] - values[1]) return false;
  *to = (line){symbol, values[0], values[1] - values[0]};
  return to->factor != 0;
}

// Computes the value of a line at a bound of its symbol; `unbounded` if that is unknown or
// overflows.
static int64_t evaluate_line(const line *l, int64_t bound, int64_t unbounded) {
  int64_t value;
  if (bound == INT64_MIN || bound == INT64_MAX ||
      __builtin_mul_overflow(l->factor, bound, &value) ||
      __builtin_add_overflow(value, l->offset, &value))
    return unbounded;
  return value;
}

static bool reject_range(run *r, int64_t i, const char *shown, const char *name, int64_t low,
                         int64_t high) {
  char from[32] = "", to[32] = "", why[400];
  if (low > 0) snprintf(from, sizeof from, "%" PRId64 " <= ", low);
  if (high < INT64_MAX) snprintf(to, sizeof to, " <= %" PRId64, high);
  snprintf(why, sizeof why, "%s, where %s%s%s is required", shown, from, name, to);
  return reject(r, i, why);
}

static bool reject_size(run *r, int64_t i, const char *shown, int64_t d, int64_t expected) {
  char why[400];
  snprintf(why, sizeof why, "%s, where size %" PRId64 " of dimension %" PRId64 " is required",
           shown, expected, d);
  return reject(r, i, why);
}

// Checks the sizes of an input. The first size that determines a symbol sets its value: that of the
// symbol itself, or of a linear expression that has the size for an integer.
static bool check_sizes(run *r, int64_t i, const tensor_t *t) {
  const lt_input *c = r->p->checks + i;
  const int64_t *sizes = tensor_sizes(t);
  char shown[300], name[40];
  line l;
  show_sizes(t, shown, sizeof shown);
  if (tensor_dim(t) != c->dim_count) return reject(r, i, shown);
  for (int64_t d = 0; d < c->dim_count; d++) {
    const lt_dim *dim = c->dims + d;
    int64_t expected;
    if (dim->length == 2 && dim->code[0] == LT_DIM_SYMBOL && !r->bound[dim->code[1]]) {
      const int64_t *symbol = r->p->symbols + 3 * dim->code[1];
      if (sizes[d] < symbol[1] || sizes[d] > symbol[2])
        return reject_range(r, i, shown, r->p->text + symbol[0], symbol[1], symbol[2]);
      r->symbols[dim->code[1]] = sizes[d], r->bound[dim->code[1]] = true;
    } else if (evaluate_dim(r, dim, &expected)) {
      if (sizes[d] != expected) return reject_size(r, i, shown, d, expected);
    } else if (find_line(r, dim, &l)) {
      const int64_t *bounds = r->p->symbols + 3 * l.symbol;
      const bool rises = l.factor > 0;
      const int64_t low = evaluate_line(&l, bounds[rises ? 1 : 2], INT64_MIN),
                    high = evaluate_line(&l, bounds[rises ? 2 : 1], INT64_MAX);
      snprintf(name, sizeof name, "size(%" PRId64 ")", d);
      if (sizes[d] < low || sizes[d] > high) return reject_range(r, i, shown, name, low, high);
      if ((sizes[d] - l.offset) % l.factor) continue;
      r->symbols[l.symbol] = (sizes[d] - l.offset) / l.factor, r->bound[l.symbol] = true;
    }
  }
  return true;
}

bool lt_check_expressions(run *r, int64_t i, const tensor_value *v) {
  const lt_input *c = r->p->checks + i;
  if (c->constant || v->kind != TENSOR_VALUE_TENSOR) return true;
  const tensor_t *t = v->as.tensor;
  for (int64_t d = 0; d < c->dim_count; d++) {
    int64_t expected;
    char shown[300];
    if (c->dims[d].length <= 2 || !evaluate_dim(r, c->dims + d, &expected)) continue;
    if (tensor_sizes(t)[d] == expected) continue;
    show_sizes(t, shown, sizeof shown);
    return reject_size(r, i, shown, d, expected);
  }
  return true;
}

// Checks an input that was constant in the export: numbers of all kinds are compared by value.
static bool check_constant(run *r, int64_t i, const tensor_value *v) {
  const tensor_value expected = r->p->inputs[i].constant;
  char shown[120], wanted[120], why[300];
  bool same = expected.kind == v->kind;
  if (lt_is_number(&expected) && lt_is_number(v)) {
    same = lt_equal_numbers(&expected, v) ||
           (isnan(lt_number_to_float(&expected)) && isnan(lt_number_to_float(v)));
  } else if (same && v->kind == TENSOR_VALUE_STRING) {
    same = v->as.string && strcmp(v->as.string, expected.as.string) == 0;
  }
  if (same) return true;
  lt_show_value(v, shown, sizeof shown);
  lt_show_value(&expected, wanted, sizeof wanted);
  snprintf(why, sizeof why, "%s; the program was exported for %s", shown, wanted);
  return reject(r, i, why);
}

bool lt_check_input(run *r, int64_t i, const tensor_value *v) {
  const lt_input *c = r->p->checks + i;
  char shown[300];
  if (c->constant) return check_constant(r, i, v);
  if (r->p->inputs[i].kind == TENSOR_VALUE_INT) {
    if (lt_is_number(v)) return r->values[c->value] = *v, true;
  } else if (v->kind == TENSOR_VALUE_TENSOR) {
    if (tensor_dim(v->as.tensor) < 0) {
      lt_explain(&r->problem, TENSOR_ERROR_HANDLE, r->p->inputs[i].name,
                 "program_run: input %" PRId64 " ('%s') (%p) is not a live tensor", i,
                 r->p->inputs[i].name, (const void *)v->as.tensor);
      return false;
    }
    show_sizes(v->as.tensor, shown, sizeof shown);
    if (tensor_get_dtype(v->as.tensor) != r->p->inputs[i].dtype) return reject(r, i, shown);
    r->values[c->value] = *v;
    return check_sizes(r, i, v->as.tensor);
  }
  lt_show_value(v, shown, sizeof shown);
  return reject(r, i, shown);
}

// --------------------------------------------------------------------------------------- results

const int64_t *lt_skip_check(const int64_t *w) {
  int64_t dims = w[4];
  for (w += 5; dims--;) w += 1 + *w;
  return w;
}

static bool is_float(tensor_dtype d) { return d >= TENSOR_FLOAT16 && d <= TENSOR_FLOAT64; }

// Returns whether a result has the expected dtype. Under autocast, which converts arguments, it can
// have another floating-point dtype than in the export.
static bool has_dtype(const tensor_t *t, tensor_dtype expected) {
  const tensor_dtype found = tensor_get_dtype(t);
  if (found == expected || !is_float(found) || !is_float(expected) || !lt_me)
    return found == expected;
  const lt_modes *modes = &lt_me->modes;
  return modes->autocast_nesting || modes->autocast_enabled[0] || modes->autocast_enabled[1];
}

const int64_t *lt_check_result(run *r, const int64_t *w, const char *step) {
  const tensor_value *v = r->values + w[0];
  const char *name = r->p->text + w[1], *expected = tensor_dtype_name((tensor_dtype)w[2]);
  const int64_t dims = w[4], *end = lt_skip_check(w), *code = w + 5;
  char shown[300];
  bool same = v->kind == TENSOR_VALUE_TENSOR;
  if (same) {
    const tensor_t *t = v->as.tensor;
    same = has_dtype(t, (tensor_dtype)w[2]) && tensor_dim(t) == dims;
    for (int64_t d = 0; same && d < dims; d++, code += 1 + *code) {
      const lt_dim dim = {.code = code + 1, .length = *code};
      int64_t size;
      same = !evaluate_dim(r, &dim, &size) || tensor_sizes(t)[d] == size;
    }
    show_sizes(t, shown, sizeof shown);
  } else {
    lt_show_value(v, shown, sizeof shown);
  }
  if (same) return end;
  return lt_fail_step(r, step, "%s returned %s; the program expects %s%s", name, shown, expected,
                      r->p->text + w[3]);
}

// ----------------------------------------------------------------------------------------- state

bool lt_take_state(run *r, const tensor_program_options *options) {
  const lt_program *p = r->p;
  for (int64_t i = 0; i < p->state_count; i++) {
    tensor_t *given = options->state ? (tensor_t *)options->state[i] : NULL;
    const tensor_t *own = p->tensors[i];
    if (given) {
      const int64_t dims = tensor_dim(own);
      if (tensor_dim(given) == dims &&
          !memcmp(tensor_sizes(given), tensor_sizes(own), (size_t)dims * sizeof(int64_t))) {
        r->state[i] = given;
        continue;
      }
      char shown[300], wanted[300];
      show_sizes(given, shown, sizeof shown), show_sizes(own, wanted, sizeof wanted);
      if (tensor_dim(given) < 0) snprintf(shown, sizeof shown, "%p, no live tensor", (void *)given);
      lt_explain(&r->problem, TENSOR_ERROR_VALUE, p->state[i].name,
                 "program_run: the tensor for %s '%s' is %s; the program has %s", p->state[i].role,
                 p->state[i].name, shown, wanted);
      return false;
    }
    if (!r->gradients || !p->state[i].is_written) {
      r->state[i] = p->tensors[i];
      continue;
    }
    const tensor_status status = tensor_detach(own, &r->state[i]);
    if (status) return lt_fail_call(r, p->state[i].name, status), false;
  }
  return true;
}

void lt_free_state(run *r, const tensor_program_options *options) {
  for (int64_t i = 0; r->gradients && i < r->p->state_count; i++)
    if (r->p->state[i].is_written && !(options->state && options->state[i]))
      tensor_free(r->state[i]);
}
