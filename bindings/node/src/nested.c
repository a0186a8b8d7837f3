// Tensors of nested arrays, which lib/nested.js has written down.
#include "../../../capi/lists.h"

#include "addon.h"

// The parsed array: the tokens of the arrays, the numbers in them, and for other items their kinds,
// with the values that do not fit among the numbers.
typedef struct {
  const int32_t *tokens;
  const double *numbers;
  const uint8_t *kinds;  // NULL if all are numbers
  napi_value others;
  int64_t count, at, other;
  bool whole;  // plain numbers without a fraction are integers, rather than floats
} walk;

// As in lib/nested.js.
enum { RUN = INT32_MIN };
enum { PLAIN, BOOL, FLOAT, BIGINT, COMPLEX };

static napi_value next_other(napi_env env, walk *w) {
  napi_value value;
  return lt_ok(env, napi_get_element(env, w->others, (uint32_t)w->other++, &value)) ? value : NULL;
}

// A bigint, whose digits the library is told where neither int64 nor uint64 holds it.
static tensor_status tell_bigint(napi_env env, walk *w, lt_list *l, double nearest) {
  napi_value value = next_other(env, w), text;
  int64_t whole;
  uint64_t unsigned_whole;
  bool fits;
  char digits[80];
  if (!value || !lt_ok(env, napi_get_value_bigint_int64(env, value, &whole, &fits)))
    return TENSOR_ERROR_TYPE;
  if (fits) return tensor_list_number(l, tensor_int(whole), TENSOR_DTYPE_NONE);
  if (!lt_ok(env, napi_get_value_bigint_uint64(env, value, &unsigned_whole, &fits)))
    return TENSOR_ERROR_TYPE;
  if (fits) return tensor_list_number(l, tensor_uint(unsigned_whole), TENSOR_DTYPE_NONE);
  if (!lt_ok(env, napi_coerce_to_string(env, value, &text)) ||
      !lt_ok(env, napi_get_value_string_utf8(env, text, digits, sizeof digits, NULL)))
    return TENSOR_ERROR_TYPE;
  return tensor_list_beyond(l, digits, nearest);
}

static tensor_status tell_other(napi_env env, walk *w, lt_list *l, int kind, double x) {
  napi_value value;
  double imaginary;
  switch (kind) {
    case BOOL:
      return tensor_list_number(l, tensor_bool(x != 0), TENSOR_DTYPE_NONE);
    case FLOAT:
      return tensor_list_number(l, tensor_float(x), TENSOR_DTYPE_NONE);
    case BIGINT:
      return tell_bigint(env, w, l, x);
  }
  if (!(value = next_other(env, w)) || !lt_ok(env, napi_get_value_double(env, value, &imaginary)))
    return TENSOR_ERROR_TYPE;
  return tensor_list_number(l, tensor_complex(x, imaginary), TENSOR_DTYPE_NONE);
}

// n plain numbers.
static tensor_status tell_plain(const walk *w, lt_list *l, int64_t n) {
  const double *numbers = w->numbers + w->at;
  if (w->whole) return tensor_list_numbers(l, numbers, n);
  tensor_status status = TENSOR_OK;
  for (int64_t i = 0; i < n && !status; i++)
    if (!lt_list_float(l, numbers[i]))
      status = tensor_list_number(l, tensor_float(numbers[i]), TENSOR_DTYPE_NONE);
  return status;
}

// n numbers; fewer where not all were written down, because something before them is rejected.
static tensor_status tell_run(napi_env env, walk *w, lt_list *l, int64_t n) {
  tensor_status status = TENSOR_OK;
  if (n > w->count - w->at) n = w->count - w->at;
  while (n && !status) {
    int64_t plain = w->kinds ? 0 : n;
    while (plain < n && !w->kinds[w->at + plain]) plain++;
    status = tell_plain(w, l, plain);
    w->at += plain, n -= plain;
    if (!n || status) break;
    status = tell_other(env, w, l, w->kinds[w->at], w->numbers[w->at]);
    w->at++, n--;
    while (n && !status && w->kinds[w->at] == BOOL &&
           lt_list_whole(l, LT_BOOLS, w->numbers[w->at] != 0))
      w->at++, n--;
  }
  return status;
}

// A token: n for an array of n items that are all numbers, -1 - n for one of n items with separate
// tokens; RUN and n for n numbers.
static tensor_status tell(napi_env env, walk *w, lt_list *l, uint32_t count) {
  tensor_status status = TENSOR_OK;
  for (uint32_t i = 0; i < count && !status; i++) {
    int32_t token = w->tokens[i];
    if (token == RUN) {
      status = tell_run(env, w, l, w->tokens[++i]);
    } else {
      status = tensor_list_open(l, token < 0 ? -1 - (int64_t)token : token);
      if (!status && token > 0) status = tell_run(env, w, l, token);
    }
  }
  return status;
}

// fromNested(tokens as an Int32Array, their number, numbers as a Float64Array, kinds as a
// Uint8Array or undefined, other values as an array, dtype or undefined, whether numbers without a
// fraction are integers if there is no dtype)
static napi_value from_nested(napi_env env, napi_callback_info info) {
  size_t argc = 7, length;
  napi_value argv[7];
  bool whole;
  void *tokens, *numbers, *kinds = NULL;
  napi_valuetype kind;
  uint32_t count;
  char name[16] = "";
  tensor_dtype dtype = TENSOR_DTYPE_NONE;
  tensor_t *made;
  lt_env *e = lt_get_env(env);
  lt_make_room(env, e);
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL)) ||
      !lt_ok(env, napi_get_typedarray_info(env, argv[0], NULL, NULL, &tokens, NULL, NULL)) ||
      !lt_ok(env, napi_get_value_uint32(env, argv[1], &count)) ||
      !lt_ok(env, napi_get_typedarray_info(env, argv[2], NULL, &length, &numbers, NULL, NULL)) ||
      !lt_ok(env, napi_typeof(env, argv[3], &kind)))
    return NULL;
  if (kind == napi_object &&
      !lt_ok(env, napi_get_typedarray_info(env, argv[3], NULL, NULL, &kinds, NULL, NULL)))
    return NULL;
  if (!lt_ok(env, napi_typeof(env, argv[5], &kind)) ||
      !lt_ok(env, napi_get_value_bool(env, argv[6], &whole)))
    return NULL;
  if (kind == napi_string &&
      (!lt_short_text(env, argv[5], name, sizeof name) || !lt_read_dtype(name, &dtype))) {
    lt_throw_type(env, "tensor: dtype '%s' does not exist", name);
    return NULL;
  }
  walk w = {.count = (int64_t)length,
            .tokens = tokens,
            .numbers = numbers,
            .kinds = kinds,
            .others = argv[4],
            .whole = whole || dtype != TENSOR_DTYPE_NONE};
  lt_list l;
  tensor_list_begin(&l, dtype, e->default_dtype);
  tensor_list_lend(&l, numbers, (int64_t)length);
  tensor_status status = tell(env, &w, &l, count), ended;
  ended = tensor_list_end(&l, status ? NULL : &made);
  if (status || ended) return lt_throw_last(env, status ? status : ended, "tensor");
  return lt_wrap(env, LT_TENSOR, made, NULL);
}

bool lt_define_nested(napi_env env, napi_value exports) {
  const napi_property_descriptor function = {"fromNested", NULL, from_nested,  NULL,
                                             NULL,         NULL, napi_default, NULL};
  return lt_ok(env, napi_define_properties(env, exports, 1, &function));
}
