// Steps of exported programs that compute and check numbers.
#include <inttypes.h>

#include "functions.h"
#include "observer.h"
#include "program_numbers.h"
#include "program_run.h"

static const char *const symbolic_names[] = {"add",
                                             "sub",
                                             "mul",
                                             "floordiv",
                                             "mod",
                                             "truediv",
                                             "pow",
                                             "eq",
                                             "ne",
                                             "lt",
                                             "le",
                                             "gt",
                                             "ge",
                                             "and",
                                             "or",
                                             "xor",
                                             "lshift",
                                             "rshift",
                                             "max",
                                             "min",
                                             "sum",
                                             "neg",
                                             "pos",
                                             "not",
                                             "int",
                                             "float",
                                             "sqrt",
                                             "log2",
                                             "floor",
                                             "ceil",
                                             "trunc",
                                             "round",
                                             "round",
                                             "ite",
                                             "sym_size",
                                             "sym_stride",
                                             "sym_numel",
                                             "sym_storage_offset",
                                             "item",
                                             "assert",
                                             "constrain_range",
                                             "assert_tensor_metadata",
                                             "assert",
                                             "set_grad_enabled",
                                             "clone",
                                             "wrap_with_autocast",
                                             "wrap_with_autocast",
                                             "_vmap_increment_nesting",
                                             "_vmap_decrement_nesting",
                                             "_add_batch_dim",
                                             "_remove_batch_dim"};

bool lt_read_item(run *r, const char *step, const tensor_value *v, tensor_value *to) {
  if (lt_is_number(v)) return *to = *v, true;
  tensor_scalar s;
  if (v->kind != TENSOR_VALUE_TENSOR) return false;
  const tensor_status status = tensor_item(v->as.tensor, &s);
  if (status) return lt_fail_call(r, step, status), false;
  if (s.kind == TENSOR_SCALAR_BOOL)
    *to = lt_make_bool(s.value.i != 0);
  else if (s.kind == TENSOR_SCALAR_INT)
    *to = lt_make_int(s.value.i);
  else if (s.kind == TENSOR_SCALAR_FLOAT)
    *to = lt_make_float(s.value.f.re);
  else
    return false;
  return true;
}

static bool query_geometry(run *r, const char *step, int64_t code, const tensor_value *a,
                           tensor_value *to) {
  const tensor_t *t = a->as.tensor;
  if (a->kind != TENSOR_VALUE_TENSOR) return false;
  if (code == LT_SYM_NUMEL) return *to = lt_make_int(tensor_numel(t)), true;
  if (code == LT_SYM_OFFSET) return *to = lt_make_int(tensor_storage_offset(t)), true;
  const int64_t n = tensor_dim(t);
  if (a[1].kind != TENSOR_VALUE_INT) return false;
  const int64_t d = a[1].as.i < 0 ? a[1].as.i + n : a[1].as.i;
  if (d < 0 || d >= n) {
    lt_fail_step(r, step,
                 "dimension %" PRId64 " is out of range of a tensor of %" PRId64 " dimensions",
                 a[1].as.i, n);
    return false;
  }
  return *to = lt_make_int(code == LT_SYM_SIZE ? tensor_sizes(t)[d] : tensor_strides(t)[d]), true;
}

static bool check_range(run *r, const char *step, const tensor_value *a) {
  for (int i = 0; i < 3; i++)
    if (i == 0 ? a->kind != TENSOR_VALUE_INT && a->kind != TENSOR_VALUE_BOOL
               : a[i].kind != TENSOR_VALUE_NONE && a[i].kind != TENSOR_VALUE_INT)
      return false;
  const int64_t i = lt_number_to_int(a);
  const bool has_low = a[1].kind == TENSOR_VALUE_INT, has_high = a[2].kind == TENSOR_VALUE_INT;
  if ((!has_low || i >= a[1].as.i) && (!has_high || i <= a[2].as.i)) return true;
  if (has_low && has_high)
    lt_fail_step(r, step, "%" PRId64 " is outside the exported range %" PRId64 " to %" PRId64, i,
                 a[1].as.i, a[2].as.i);
  else
    lt_fail_step(r, step, "%" PRId64 " is outside the exported range: it must be at %s %" PRId64, i,
                 has_low ? "least" : "most", has_low ? a[1].as.i : a[2].as.i);
  return false;
}

static bool check_metadata(run *r, const char *step, const tensor_value *a) {
  if (a->kind != TENSOR_VALUE_TENSOR) return false;
  const tensor_t *t = a->as.tensor;
  const int64_t n = tensor_dim(t);
  if (a[1].kind == TENSOR_VALUE_INTS) {
    bool same = a[1].length == n;
    for (int64_t i = 0; same && i < n; i++) same = tensor_sizes(t)[i] == a[1].as.ints[i];
    if (!same) {
      char found[100], expected[100];
      lt_show_shape(tensor_sizes(t), n, found, sizeof found);
      lt_show_shape(a[1].as.ints, a[1].length, expected, sizeof expected);
      lt_fail_step(r, step, "a tensor has shape %s; the program expects %s", found, expected);
      return false;
    }
  }
  if (a[3].kind == TENSOR_VALUE_DTYPE && tensor_get_dtype(t) != a[3].as.dtype) {
    lt_fail_step(r, step, "a tensor has dtype %s; the program expects %s",
                 tensor_dtype_name(tensor_get_dtype(t)), tensor_dtype_name(a[3].as.dtype));
    return false;
  }
  return true;
}

// Sets autocast of a type of device. The result is the former state.
static bool enter_autocast(run *r, const char *step, const tensor_value *a, tensor_value *to) {
  const char *device = a->as.string;
  bool enabled, caches;
  int64_t nesting;
  tensor_dtype dtype;
  if (a->kind != TENSOR_VALUE_STRING || a[2].kind != TENSOR_VALUE_BOOL) return false;
  tensor_status status = tensor_is_autocast_enabled(device, &enabled);
  if (!status) status = tensor_get_autocast_dtype(device, &dtype);
  if (!status) status = tensor_is_autocast_cache_enabled(&caches);
  if (!status && a[1].kind == TENSOR_VALUE_DTYPE)
    status = tensor_set_autocast_dtype(device, a[1].as.dtype);
  if (!status && a[3].kind == TENSOR_VALUE_BOOL)
    status = tensor_set_autocast_cache_enabled(a[3].as.b);
  if (!status) status = tensor_autocast_increment_nesting(&nesting);
  if (!status) status = tensor_set_autocast_enabled(device, a[2].as.b);
  if (status) return lt_fail_call(r, step, status), false;
  return *to = lt_make_int((int64_t)dtype * 4 + caches * 2 + enabled), true;
}

static bool leave_autocast(run *r, const char *step, const tensor_value *a) {
  if (a->kind != TENSOR_VALUE_STRING || a[1].kind != TENSOR_VALUE_INT) return false;
  const int64_t state = a[1].as.i;
  int64_t nesting = 1;
  tensor_status status = tensor_set_autocast_dtype(a->as.string, (tensor_dtype)(state / 4));
  if (!status) status = tensor_set_autocast_enabled(a->as.string, state & 1);
  if (!status) status = tensor_set_autocast_cache_enabled(state & 2);
  if (!status) status = tensor_autocast_decrement_nesting(&nesting);
  if (!status && !nesting) status = tensor_clear_autocast_cache();
  if (status) return lt_fail_call(r, step, status), false;
  return true;
}

// Begins or ends a level of vmap, or converts a tensor to it or from it.
static bool run_vmap(run *r, const char *step, int64_t code, const tensor_value *a,
                     tensor_value *to) {
  tensor_status status;
  if (code == LT_SYM_VMAP_BEGIN) {
    if (!lt_is_number(a) || a[1].kind != TENSOR_VALUE_STRING) return false;
    *to = lt_make_int(0);
    status = tensor_vmap_begin(lt_number_to_int(a), a[1].as.string, &to->as.i);
  } else if (code == LT_SYM_VMAP_END) {
    if (a->kind != TENSOR_VALUE_INT) return false;
    status = tensor_vmap_end(a->as.i);
  } else {
    if (a->kind != TENSOR_VALUE_TENSOR || a[1].kind != TENSOR_VALUE_INT ||
        a[2].kind != TENSOR_VALUE_INT)
      return false;
    status = (code == LT_SYM_VMAP_WRAP ? tensor_vmap_wrap : tensor_vmap_unwrap)(
        a->as.tensor, a[1].as.i, a[2].as.i, &to->as.tensor);
    if (!status) to->kind = TENSOR_VALUE_TENSOR;
  }
  if (status) return lt_fail_call(r, step, status), false;
  return true;
}

static bool compute_symbol(run *r, const char *step, int64_t code, const tensor_value *a, int64_t n,
                           tensor_value *to) {
  tensor_value v;
  switch (code) {
    case LT_SYM_ITE:
      if (!lt_is_number(a)) return false;
      return *to = a[lt_number_to_bool(a) ? 1 : 2], lt_is_number(to);
    case LT_SYM_SIZE:
    case LT_SYM_STRIDE:
    case LT_SYM_NUMEL:
    case LT_SYM_OFFSET:
      return query_geometry(r, step, code, a, to);
    case LT_SYM_ITEM: {  // an operator of the program
      lt_hide_calls(r->hidden);
      const bool is_read = lt_read_item(r, step, a, to);
      lt_hide_calls(true);
      return is_read;
    }
    case LT_SYM_ASSERT:
    case LT_SYM_ASSERT_TENSOR:
      if (!lt_read_item(r, step, a, &v)) return false;
      if (lt_number_to_bool(&v)) return true;
      lt_fail_step(r, step, "%s",
                   n > 1 && a[1].kind == TENSOR_VALUE_STRING
                       ? a[1].as.string
                       : "an assertion failed: its condition is 0");
      return false;
    case LT_SYM_CONSTRAIN:
      return check_range(r, step, a);
    case LT_SYM_ASSERT_META:
      return check_metadata(r, step, a);
    case LT_SYM_CLONE: {
      if (a->kind != TENSOR_VALUE_TENSOR) return false;
      const tensor_status status = lt_clone_storage(a->as.tensor, &to->as.tensor);
      if (status) return lt_fail_call(r, step, status), false;
      return to->kind = TENSOR_VALUE_TENSOR, true;
    }
    case LT_SYM_SET_GRAD:
      if (r->gradients) tensor_exchange_grad_enabled(a->as.b);
      return true;
    case LT_SYM_ENTER_AUTOCAST:
      return enter_autocast(r, step, a, to);
    case LT_SYM_LEAVE_AUTOCAST:
      return leave_autocast(r, step, a);
    case LT_SYM_VMAP_BEGIN:
    case LT_SYM_VMAP_END:
    case LT_SYM_VMAP_WRAP:
    case LT_SYM_VMAP_UNWRAP:
      return run_vmap(r, step, code, a, to);
    case LT_SYM_SUM: {
      if (a->kind != TENSOR_VALUE_INTS) return false;
      int64_t sum = 0;
      for (int64_t i = 0; i < a->length; i++)
        if (__builtin_add_overflow(sum, a->as.ints[i], &sum)) return false;
      return *to = lt_make_int(sum), true;
    }
  }
  return n == 1 ? lt_compute_one(code, a, to) : lt_compute_pair(code, a, a + 1, to);
}

// Why an operator has no result for numbers.
static const char *explain_failure(int64_t code, const tensor_value *a, const tensor_value *b) {
  const bool floats = a->kind == TENSOR_VALUE_FLOAT || b->kind == TENSOR_VALUE_FLOAT;
  switch (code) {
    case LT_SYM_FLOORDIV:
    case LT_SYM_MOD:
    case LT_SYM_TRUEDIV:
      if (!lt_number_to_bool(b)) return ": the divisor is 0";
      break;
    case LT_SYM_POW:
      if (!lt_number_to_bool(a)) return ": the divisor is 0";
      if (floats) return ": the result is not a finite real number";
      break;
    case LT_SYM_SQRT:
      return ": the operand is negative";
    case LT_SYM_LOG2:
      return ": the operand is not positive";
    case LT_SYM_AND:
    case LT_SYM_OR:
    case LT_SYM_XOR:
    case LT_SYM_LSHIFT:
    case LT_SYM_RSHIFT:
      if (floats) return ": the operands must be integers";
      if (lt_number_to_int(b) < 0) return ": the shift is negative";
  }
  return ": the result overflows int64";
}

const int64_t *lt_run_numbers(run *r, const int64_t *w, const char *step) {
  tensor_value a[8], to = {.kind = TENSOR_VALUE_NONE};
  char *scratch = r->scratch;
  const int64_t code = *w++, n = *w++;
  for (int64_t i = 0; i < n; i++) w = lt_evaluate(r, w, a + i, &scratch);
  if (!compute_symbol(r, step, code, a, n, &to)) {
    char first[100], second[100] = "";
    lt_show_value(a, first, sizeof first);
    if (n > 1) lt_show_value(a + 1, second, sizeof second);
    const bool has_numbers = lt_is_number(a) && (n < 2 || lt_is_number(a + 1));
    return lt_fail_step(r, step, "cannot compute %s(%s%s%s)%s", symbolic_names[code], first,
                        n > 1 ? ", " : "", second,
                        has_numbers ? explain_failure(code, a, n > 1 ? a + 1 : a) : "");
  }
  if (*w >= 0) lt_store(r, *w, to);
  return w + 1;
}
