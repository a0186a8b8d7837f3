#include "lists.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"

static bool is_integral(tensor_dtype d) {
  return (d >= TENSOR_UINT8 && d <= TENSOR_INT64) || (d >= TENSOR_UINT16 && d <= TENSOR_UINT64);
}

void tensor_list_begin(lt_list *l, tensor_dtype dtype, tensor_dtype floats) {
  l->dtype = dtype, l->floats = floats, l->whole = is_integral(dtype), l->leaf = false;
  l->straight = LT_NONE_YET, l->held = LT_BOOLS;
  l->kinds = 0, l->dtypes = 0, *l->beyond = 0, l->depth = l->dims = 0;
  l->items = l->at = l->end = l->few, l->room = l->few + LT_FEW, l->own = false;
}

void tensor_list_lend(lt_list *l, void *memory, int64_t n) {
  l->items = l->at = l->end = memory, l->room = l->items + n;
}

// --------------------------------------------------------------------------------------- storage

static int64_t get_width(const lt_list *l) { return l->held == LT_COMPLEX ? 2 : 1; }

static int64_t count_slots(const lt_list *l) { return l->at - l->items; }

// Reserves space for n more numbers.
static tensor_status reserve_numbers(lt_list *l, int64_t n) {
  int64_t have = count_slots(l), size = l->room - l->items, need;
  if (__builtin_mul_overflow(n, get_width(l), &n) || __builtin_add_overflow(have, n, &need) ||
      need > INT64_MAX / 16)
    return lt_reject(TENSOR_ERROR_MEMORY, "tensor(): out of memory for %lld numbers", (long long)n);
  if (need <= size) return TENSOR_OK;
  size = need > size + size / 2 ? need : size + size / 2;
  int64_t *items = realloc(l->own ? l->items : NULL, (size_t)size * sizeof *items);
  if (items && !l->own) memcpy(items, l->items, (size_t)have * sizeof *items);
  if (!items)
    return lt_reject(TENSOR_ERROR_MEMORY, "tensor(): out of memory for %lld numbers",
                     (long long)need);
  l->items = items, l->at = items + have, l->room = items + size, l->own = true;
  return TENSOR_OK;
}

static double read_number(const int64_t *item) {
  double x;
  return memcpy(&x, item, sizeof x), x;
}

static void write_number(int64_t *item, double x) { memcpy(item, &x, sizeof x); }

// Converts the stored numbers to a wider kind.
static tensor_status widen_numbers(lt_list *l, lt_numbers kind) {
  int64_t n = count_slots(l) / get_width(l);
  if (kind <= l->held) return TENSOR_OK;
  if (kind >= LT_FLOATS && l->held < LT_FLOATS)
    for (int64_t i = 0; i < n; i++)
      write_number(l->items + i,
                   l->held == LT_UINTS ? (double)(uint64_t)l->items[i] : (double)l->items[i]);
  if (kind == LT_COMPLEX) {
    if (!l->own)
      l->room =
          l->at;  // in external memory they would overtake the numbers that are still to be read
    tensor_status status = reserve_numbers(l, n);
    if (status) return status;
    for (int64_t i = n - 1; i >= 0; i--) l->items[2 * i] = l->items[i], l->items[2 * i + 1] = 0;
    l->at = l->items + 2 * n;
  }
  l->held = kind;
  return TENSOR_OK;
}

// ----------------------------------------------------------------------------------------- shape

// Numbers written without a call count among those of the innermost list.
static void count_written(lt_list *l) {
  if (l->straight == LT_NONE_YET) return;
  l->left[l->depth - 1] = (l->end - l->at) / get_width(l);
  l->straight = LT_NONE_YET;
}

// The index of the next item in its list.
static int64_t get_position(lt_list *l) {
  count_written(l);
  while (l->depth && !l->left[l->depth - 1]) l->depth--;
  return l->depth ? l->sizes[l->depth - 1] - l->left[l->depth - 1] : 0;
}

static void take_item(lt_list *l) {
  if (l->depth) l->left[l->depth - 1]--;
}

// Allows the next numbers of a known kind to be written without a call.
static void go_straight(lt_list *l, lt_numbers kind) {
  if (!l->depth || !(l->kinds >> kind & 1) || (kind >= LT_FLOATS && kind != l->held)) return;
  int64_t left = l->left[l->depth - 1];
  if (reserve_numbers(l, left)) return;
  l->straight = kind, l->end = l->at + left * get_width(l);
}

// Begins the next of many innermost lists, whose numbers go on as those of the last one.
static bool goes_on(lt_list *l, int64_t n) {
  int d = l->depth - 1;
  if (l->straight == LT_NONE_YET || l->at != l->end || d < 1 || !l->left[d - 1]) return false;
  if (n != l->sizes[d] || l->room - l->at < n * get_width(l)) return false;
  l->left[d - 1]--;
  l->end = l->at + n * get_width(l);
  return true;
}

tensor_status tensor_list_open(lt_list *l, int64_t n) {
  if (goes_on(l, n)) return TENSOR_OK;
  int64_t at = get_position(l);
  int d = l->depth;
  if (l->leaf && d >= l->dims)
    return lt_reject(TENSOR_ERROR_TYPE,
                     "expected a number at dim %d, not a list of length %lld (at position %lld)", d,
                     (long long)n, (long long)at);
  if (d == LT_DEEPEST)
    return lt_reject(TENSOR_ERROR_VALUE,
                     "tensor(): the sequence has more than %d dimensions; does it contain itself?",
                     LT_DEEPEST);
  if (d < l->dims && l->sizes[d] != n)
    return lt_reject(TENSOR_ERROR_VALUE,
                     "expected sequence of length %lld at dim %d (got %lld at position %lld)",
                     (long long)l->sizes[d], d, (long long)n, (long long)at);
  take_item(l);
  l->sizes[d] = l->left[d] = n;
  if (d == l->dims) l->dims = d + 1;
  l->depth = d + 1;
  if (l->leaf && l->depth == l->dims) go_straight(l, l->held);
  return TENSOR_OK;
}

static tensor_status expect_number(lt_list *l, const char *what) {
  int64_t at = get_position(l);
  if (l->depth < l->dims)
    return lt_reject(TENSOR_ERROR_TYPE,
                     "not a sequence: expected one at dim %d (got %s at position %lld)", l->depth,
                     what, (long long)at);
  l->leaf = true;
  return take_item(l), TENSOR_OK;
}

// --------------------------------------------------------------------------------------- numbers

// The range of an integer dtype.
static void find_limits(tensor_dtype d, int64_t *low, uint64_t *high) {
  bool has_sign = d >= TENSOR_INT8 && d <= TENSOR_INT64;
  int64_t bits = 8 * tensor_dtype_size(d) - has_sign;
  *high = UINT64_MAX >> (64 - bits);
  *low = has_sign ? -(int64_t)*high - 1 : 0;
}

// The shortest text that reads as the number.
static const char *text_of(double x, char *to, size_t size) {
  if (isnan(x)) return "nan";
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(to, size, "%.*g", digits, x);
    if (strtod(to, NULL) == x) break;
  }
  return to;
}

static tensor_status reject_wide_integer(const char *digits) {
  errno = 0;
  strtoull(digits, NULL, 10);
  return lt_reject(TENSOR_ERROR_VALUE,
                   "Overflow when unpacking long long: %.80s does not fit into 64 bits%s", digits,
                   *digits != '-' && !errno ? " with a sign; use dtype uint64" : "");
}

static tensor_status reject_overflow(tensor_dtype d, const char *number) {
  return lt_reject(TENSOR_ERROR_RUNTIME,
                   "value cannot be converted to type %s without overflow: %s",
                   tensor_dtype_name(d), number);
}

// A float for a tensor of integers, cut off.
static tensor_status truncate_float(const lt_list *l, double x, lt_numbers *kind, int64_t *to) {
  char text[40];
  int64_t low;
  uint64_t high;
  find_limits(l->dtype, &low, &high);
  // Beyond 2^53 the end is a power of 2 as a float, and 1 more is the same.
  if (!(x >= (double)low && x < (double)high + 1))
    return reject_overflow(l->dtype, text_of(x, text, sizeof text));
  *kind = x < 0x1p63 ? LT_INTS : LT_UINTS;
  *to = x < 0x1p63 ? (int64_t)x : (int64_t)(uint64_t)x;
  return TENSOR_OK;
}

static tensor_status reject_integer(tensor_dtype d, int64_t x) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)x);
  return reject_overflow(d, text);
}

// The kind to store integers as after one more, if some are beyond int64: with negative ones they
// become floats, or an error for an integer tensor.
static tensor_status join_integer_kinds(const lt_list *l, int64_t whole, lt_numbers *kind) {
  int64_t least = l->held == LT_UINTS && *kind == LT_INTS ? whole : 0;
  if (l->held == LT_INTS && *kind == LT_UINTS)
    for (const int64_t *i = l->items; i < l->at && least >= 0; i++) least = *i;
  if (least >= 0) return TENSOR_OK;
  return l->whole ? reject_integer(l->dtype, least) : (*kind = LT_FLOATS, TENSOR_OK);
}

// Puts a number down, a bool or an integer as `whole`, by its bits beyond int64.
static tensor_status add_number(lt_list *l, lt_numbers kind, int64_t whole, double re, double im) {
  tensor_status status;
  if (kind == LT_COMPLEX && l->dtype != TENSOR_DTYPE_NONE && !lt_is_complex(l->dtype) &&
      l->dtype != TENSOR_BOOL)
    return lt_reject(TENSOR_ERROR_TYPE, "can't convert complex to %s", tensor_dtype_name(l->dtype));
  if (kind == LT_FLOATS && l->whole && (status = truncate_float(l, re, &kind, &whole)))
    return status;
  if (kind < LT_FLOATS) {
    re = kind == LT_UINTS ? (double)(uint64_t)whole : (double)whole;
    if ((status = join_integer_kinds(l, whole, &kind))) return status;
  }
  if ((status = widen_numbers(l, kind)) || (status = reserve_numbers(l, 1))) return status;
  if (l->held < LT_FLOATS)
    *l->at++ = whole;
  else
    write_number(l->at++, re);
  if (l->held == LT_COMPLEX) write_number(l->at++, im);
  return TENSOR_OK;
}

// An integer that its tensor cannot hold, unless that turns out to be of floats.
static tensor_status put_beyond(lt_list *l, const char *digits, double nearest) {
  if (l->whole) return reject_wide_integer(digits);
  if (!*l->beyond) snprintf(l->beyond, sizeof l->beyond, "%s", digits);
  return add_number(l, LT_FLOATS, 0, nearest, 0);
}

// An integer beyond int64. It is stored exactly for uint64.
static tensor_status put_uint(lt_list *l, uint64_t u, tensor_dtype dtype) {
  char digits[32];
  tensor_dtype d = l->dtype == TENSOR_DTYPE_NONE ? dtype : l->dtype;
  if (d == TENSOR_UINT64) return add_number(l, LT_UINTS, (int64_t)u, 0, 0);
  snprintf(digits, sizeof digits, "%llu", (unsigned long long)u);
  return put_beyond(l, digits, (double)u);
}

tensor_status tensor_list_number(lt_list *l, tensor_scalar n, tensor_dtype dtype) {
  static const struct {
    const char *name;
    lt_numbers kind;
  } all[] = {[TENSOR_SCALAR_BOOL] = {"bool", LT_BOOLS},
             [TENSOR_SCALAR_INT] = {"int", LT_INTS},
             [TENSOR_SCALAR_FLOAT] = {"float", LT_FLOATS},
             [TENSOR_SCALAR_COMPLEX] = {"complex", LT_COMPLEX},
             [TENSOR_SCALAR_UINT] = {"int", LT_INTS}};
  lt_numbers kind = all[n.kind].kind;
  bool whole = kind < LT_FLOATS, known = dtype != TENSOR_DTYPE_NONE;
  tensor_status status = expect_number(l, all[n.kind].name);
  if (!status && n.kind == TENSOR_SCALAR_UINT && n.value.u > INT64_MAX)
    status = put_uint(l, n.value.u, dtype);
  else if (!status)
    status = add_number(l, kind, whole ? n.value.i : 0, whole ? 0 : n.value.f.re,
                        kind == LT_COMPLEX ? n.value.f.im : 0);
  if (status) return status;
  l->dtypes |= known ? (uint64_t)1 << dtype : 0;
  l->kinds |= known ? 0 : 1U << kind;
  go_straight(l, l->held < LT_UINTS ? kind : l->held);
  return TENSOR_OK;
}

tensor_status tensor_list_beyond(lt_list *l, const char *digits, double nearest) {
  tensor_status status = expect_number(l, "int");
  l->kinds |= 1U << LT_INTS;
  return status ? status : put_beyond(l, digits, nearest);
}

static bool is_whole(double x) {
  return x >= -0x1p63 && x < 0x1p63 && x == (double)(int64_t)x && (x != 0 || !signbit(x));
}

tensor_status tensor_list_numbers(lt_list *l, const double *numbers, int64_t n) {
  tensor_status status = TENSOR_OK;
  for (int64_t i = 0; i < n && !status; i++) {
    if (l->straight == LT_FLOATS) {
      int64_t some = n - i < l->end - l->at ? n - i : l->end - l->at;
      if ((const void *)l->at != numbers + i)
        memmove(l->at, numbers + i, (size_t)some * sizeof *numbers);
      l->at += some, i += some;
    } else if (l->straight == LT_INTS) {
      int64_t *at = l->at;
      while (i < n && at < l->end && is_whole(numbers[i])) *at++ = (int64_t)numbers[i++];
      l->at = at;
    }
    if (i == n) break;
    bool whole = is_whole(numbers[i]);
    status = tensor_list_number(
        l, whole ? tensor_int((int64_t)numbers[i]) : tensor_float(numbers[i]), TENSOR_DTYPE_NONE);
  }
  return status;
}

// --------------------------------------------------------------------------------------- the end

// The dtype that numbers have together.
static tensor_status infer_dtype(const lt_list *l, tensor_dtype *to) {
  static const tensor_dtype wholes[] = {TENSOR_BOOL, TENSOR_INT64};
  tensor_status status = TENSOR_OK;
  bool none = true;
  *to = TENSOR_BOOL;
  for (uint64_t left = l->dtypes; left && !status; left &= left - 1) {
    tensor_dtype d = (tensor_dtype)__builtin_ctzll(left);
    status = none ? TENSOR_OK : tensor_promote_types(*to, d, to);
    if (none) *to = d;
    none = false;
  }
  // Of several kinds the last one counts.
  lt_numbers kind = l->kinds >> LT_COMPLEX  ? LT_COMPLEX
                    : l->kinds >> LT_FLOATS ? LT_FLOATS
                    : l->kinds >> LT_INTS   ? LT_INTS
                                            : LT_BOOLS;
  if (status || (!l->kinds && !none)) return status;
  tensor_dtype d = wholes[kind == LT_INTS];
  if (!l->kinds || kind >= LT_FLOATS) d = l->floats;
  if (d == TENSOR_DTYPE_NONE) status = tensor_get_default_dtype(&d);
  if (!status && kind == LT_COMPLEX) status = tensor_promote_types(d, TENSOR_COMPLEX32, &d);
  if (!status && !none) status = tensor_promote_types(*to, d, &d);
  return *to = d, status;
}

// The dtype in which numbers for `d` are passed on: one that the loops below support.
static tensor_dtype choose_stored_dtype(const lt_list *l, tensor_dtype d) {
  if (d == TENSOR_FLOAT32 || d == TENSOR_FLOAT64 || d == TENSOR_BOOL || is_integral(d)) return d;
  if (d == TENSOR_COMPLEX64 || d == TENSOR_COMPLEX128) return d;
  return l->held == LT_COMPLEX  ? TENSOR_COMPLEX128
         : l->held == LT_FLOATS ? TENSOR_FLOAT64
                                : TENSOR_INT64;
}

static tensor_status check_range(const lt_list *l, tensor_dtype d) {
  int64_t low;
  uint64_t high;
  find_limits(d, &low, &high);
  if (!low && high <= INT64_MAX) low = -(int64_t)high;  // negative ones wrap around, as in PyTorch
  for (const int64_t *i = l->items; i < l->at && l->held < LT_UINTS; i++) {
    if (*i >= low && (*i < 0 || (uint64_t)*i <= high)) continue;
    return reject_integer(d, *i);
  }
  return TENSOR_OK;
}

// Converts the numbers in place to elements of a dtype, none of which is wider than the stored
// numbers.
static void narrow_numbers(lt_list *l, tensor_dtype d) {
  int64_t n = count_slots(l), parts = get_width(l);
  char *to = (char *)l->items;
#define EACH(CODE, T, VALUE)                           \
  case CODE:                                           \
    for (int64_t i = 0; i < n; i++, to += sizeof(T)) { \
      T x = (T)(VALUE);                                \
      memcpy(to, &x, sizeof x);                        \
    }                                                  \
    break;
  if (l->held >= LT_FLOATS) {
    switch (d) {
      case TENSOR_BOOL:
        for (int64_t i = 0; i < n; i += parts)
          *to++ = read_number(l->items + i) != 0 || read_number(l->items + i + parts - 1) != 0;
        break;
        EACH(TENSOR_FLOAT32, float, read_number(l->items + i))
        EACH(TENSOR_COMPLEX64, float, read_number(l->items + i))
      default:
        break;
    }
    return;
  }
  switch (d) {
    EACH(TENSOR_BOOL, uint8_t, l->items[i] != 0)
    EACH(TENSOR_UINT8, uint8_t, l->items[i])
    EACH(TENSOR_INT8, int8_t, l->items[i])
    EACH(TENSOR_INT16, int16_t, l->items[i])
    EACH(TENSOR_INT32, int32_t, l->items[i])
    EACH(TENSOR_UINT16, uint16_t, l->items[i])
    EACH(TENSOR_UINT32, uint32_t, l->items[i])
    EACH(TENSOR_FLOAT32, float, l->items[i])
    EACH(TENSOR_FLOAT64, double, l->items[i])
    default:
      break;
  }
#undef EACH
}

static tensor_status make_tensor(lt_list *l, tensor_t **out) {
  tensor_dtype d = l->dtype, in;
  tensor_status status = TENSOR_OK;
  if (get_position(l), l->depth)
    return lt_reject(TENSOR_ERROR_VALUE, "tensor(): a list was modified during the call");
  if (d == TENSOR_DTYPE_NONE) status = infer_dtype(l, &d);
  if (!status && is_integral(d))
    status = *l->beyond ? reject_wide_integer(l->beyond) : check_range(l, d);
  if (!status && l->held == LT_UINTS && d != TENSOR_UINT64) status = widen_numbers(l, LT_FLOATS);
  in = choose_stored_dtype(l, d);
  if (!status && lt_is_complex(in)) status = widen_numbers(l, LT_COMPLEX);
  if (status) return status;
  narrow_numbers(l, in);
  status = tensor_from_data(l->items, l->sizes, l->dims, in, out);
  if (status || in == d) return status;
  tensor_t *made = *out;
  status = tensor_to_options(made, d, TENSOR_LAYOUT_NONE, tensor_device_default(), false, false,
                             TENSOR_FORMAT_NONE, out);
  tensor_free(made);
  return status;
}

tensor_status tensor_list_end(lt_list *l, tensor_t **out) {
  tensor_status status = out ? make_tensor(l, out) : TENSOR_OK;
  if (l->own) free(l->items);
  return status;
}

// --------------------------------------------------------------------------------------- reading

tensor_status tensor_hold(const tensor_t *self, void **data, int64_t *held) {
  if (!lt_resolve(self, LT_TENSOR, "hold", "self")) return TENSOR_ERROR_HANDLE;
  *held = lt_begin();
  tensor_status status = tensor_data_ptr(self, data);
  if (status) lt_end(*held);
  return status;
}

void tensor_let_go(int64_t held) { lt_end(held); }
