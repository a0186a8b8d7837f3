// uint16, uint32 and uint64 from C: elements beyond the integers with a sign, conversions,
// promotion, order and numbers.
#include "check.h"

static const int64_t two[] = {2};

static tensor_t *made(const void *values, tensor_dtype dtype) {
  tensor_t *t = NULL;
  OK(tensor_from_data(values, two, 1, dtype, &t));
  CHECK(tensor_get_dtype(t) == dtype);
  return t;
}

// Checks the result of a call, two elements of a dtype, and frees it.
static void expect(tensor_t *t, tensor_dtype dtype, const void *values) {
  void *data = NULL;
  CHECK(tensor_get_dtype(t) == dtype && tensor_numel(t) == 2);
  OK(tensor_data_ptr(t, &data));
  CHECK(memcmp(data, values, 2 * (size_t)tensor_dtype_size(dtype)) == 0);
  OK(tensor_free(t));
}

static tensor_t *cast(const tensor_t *t, tensor_dtype dtype) {
  tensor_t *to = NULL;
  OK(tensor_to_options(t, dtype, TENSOR_LAYOUT_NONE, tensor_device_default(), false, false,
                       TENSOR_FORMAT_NONE, &to));
  return to;
}

static void names(void) {
  static const struct {
    tensor_dtype dtype;
    int64_t size;
    const char *name;
  } all[] = {
      {TENSOR_UINT16, 2, "uint16"}, {TENSOR_UINT32, 4, "uint32"}, {TENSOR_UINT64, 8, "uint64"}};
  for (int i = 0; i < 3; i++) {
    CHECK(tensor_dtype_size(all[i].dtype) == all[i].size);
    CHECK(strcmp(tensor_dtype_name(all[i].dtype), all[i].name) == 0);
  }
}

static void promotion(void) {
  static const tensor_dtype rows[][3] = {
      {TENSOR_UINT16, TENSOR_BOOL, TENSOR_UINT16},
      {TENSOR_UINT16, TENSOR_UINT8, TENSOR_UINT16},
      {TENSOR_UINT32, TENSOR_UINT16, TENSOR_UINT32},
      {TENSOR_UINT64, TENSOR_UINT32, TENSOR_UINT64},
      {TENSOR_UINT16, TENSOR_INT8, TENSOR_INT32},
      {TENSOR_UINT16, TENSOR_INT16, TENSOR_INT32},
      {TENSOR_UINT16, TENSOR_INT32, TENSOR_INT32},
      {TENSOR_UINT32, TENSOR_INT32, TENSOR_INT64},
      {TENSOR_UINT32, TENSOR_INT64, TENSOR_INT64},
      {TENSOR_UINT64, TENSOR_INT8, TENSOR_FLOAT64},
      {TENSOR_UINT64, TENSOR_FLOAT16, TENSOR_FLOAT16},
      {TENSOR_UINT32, TENSOR_COMPLEX64, TENSOR_COMPLEX64},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tensor_dtype d;
    OK(tensor_promote_types(rows[i][0], rows[i][1], &d));
    CHECK(d == rows[i][2]);
    OK(tensor_promote_types(rows[i][1], rows[i][0], &d));
    CHECK(d == rows[i][2]);
  }
}

static void conversions(void) {
  tensor_t *u16 = made((uint16_t[]){65535, 40000}, TENSOR_UINT16);
  tensor_t *u32 = made((uint32_t[]){4294967295, 3000000000}, TENSOR_UINT32);
  tensor_t *u64 = made((uint64_t[]){UINT64_MAX, (uint64_t)1 << 63}, TENSOR_UINT64);
  expect(cast(u16, TENSOR_INT32), TENSOR_INT32, (int32_t[]){65535, 40000});
  expect(cast(u16, TENSOR_INT16), TENSOR_INT16, (int16_t[]){-1, -25536});
  expect(cast(u16, TENSOR_UINT64), TENSOR_UINT64, (uint64_t[]){65535, 40000});
  expect(cast(u16, TENSOR_FLOAT32), TENSOR_FLOAT32, (float[]){65535, 40000});
  expect(cast(u32, TENSOR_INT64), TENSOR_INT64, (int64_t[]){4294967295, 3000000000});
  expect(cast(u32, TENSOR_FLOAT64), TENSOR_FLOAT64, (double[]){4294967295.0, 3e9});
  expect(cast(u32, TENSOR_UINT16), TENSOR_UINT16, (uint16_t[]){65535, 24064});
  expect(cast(u64, TENSOR_FLOAT64), TENSOR_FLOAT64, (double[]){0x1p64, 0x1p63});
  expect(cast(u64, TENSOR_COMPLEX64), TENSOR_COMPLEX64, (float[]){0x1p64f, 0, 0x1p63f, 0});
  expect(cast(u64, TENSOR_INT64), TENSOR_INT64, (int64_t[]){-1, INT64_MIN});
  expect(cast(u64, TENSOR_BOOL), TENSOR_BOOL, (uint8_t[]){1, 1});
  tensor_t *floats = made((double[]){-1, 3e9}, TENSOR_FLOAT64);
  expect(cast(floats, TENSOR_UINT32), TENSOR_UINT32, (uint32_t[]){4294967295, 3000000000});
  expect(cast(floats, TENSOR_UINT64), TENSOR_UINT64, (uint64_t[]){UINT64_MAX, 3000000000});
  tensor_t *large = made((double[]){0x1p63, 0x1.8p63}, TENSOR_FLOAT64);
  expect(cast(large, TENSOR_UINT64), TENSOR_UINT64,
         (uint64_t[]){(uint64_t)1 << 63, (uint64_t)3 << 62});
  tensor_t *bytes = made((int8_t[]){-1, 5}, TENSOR_INT8);
  expect(cast(bytes, TENSOR_UINT32), TENSOR_UINT32, (uint32_t[]){4294967295, 5});
  tensor_t *all[] = {u16, u32, u64, floats, large, bytes};
  for (int i = 0; i < 6; i++) OK(tensor_free(all[i]));
}

static void arithmetic(void) {
  tensor_t *a = made((uint64_t[]){UINT64_MAX, 7}, TENSOR_UINT64);
  tensor_t *b = made((uint64_t[]){2, 5}, TENSOR_UINT64), *c = NULL, *indices = NULL;
  OK(tensor_add(a, b, tensor_int(1), &c));
  expect(c, TENSOR_UINT64, (uint64_t[]){1, 12});
  OK(tensor_sub(a, b, tensor_uint(UINT64_MAX), &c));  // a + b, modulo 2^64
  expect(c, TENSOR_UINT64, (uint64_t[]){1, 12});
  OK(tensor_floor_divide(a, b, &c));
  expect(c, TENSOR_UINT64, (uint64_t[]){INT64_MAX, 1});
  OK(tensor_bitwise_right_shift(a, b, &c));
  expect(c, TENSOR_UINT64, (uint64_t[]){UINT64_MAX >> 2, 0});
  OK(tensor_maximum(a, b, &c));
  expect(c, TENSOR_UINT64, (uint64_t[]){UINT64_MAX, 7});
  OK(tensor_lt_scalar(a, tensor_uint(UINT64_MAX), &c));
  expect(c, TENSOR_BOOL, (uint8_t[]){0, 1});
  OK(tensor_eq(a, b, &c));
  expect(c, TENSOR_BOOL, (uint8_t[]){0, 0});
  OK(tensor_sort(a, 0, false, &c, &indices));
  expect(c, TENSOR_UINT64, (uint64_t[]){7, UINT64_MAX});
  expect(indices, TENSOR_INT64, (int64_t[]){1, 0});
  OK(tensor_mul_scalar(b, tensor_float(0.5), &c));
  expect(c, TENSOR_FLOAT32, (float[]){1, 2.5});
  tensor_t *signs = made((int64_t[]){-1, 1}, TENSOR_INT64);
  OK(tensor_add(a, signs, tensor_int(1), &c));
  expect(c, TENSOR_FLOAT64, (double[]){0x1p64, 8});
  tensor_scalar s;
  OK(tensor_max(a, &c));
  OK(tensor_item(c, &s));
  CHECK(s.kind == TENSOR_SCALAR_UINT && s.value.u == UINT64_MAX);
  OK(tensor_free(c));
  OK(tensor_sum(a, NULL, 0, false, TENSOR_UINT64, &c));
  OK(tensor_item(c, &s));
  CHECK(s.kind == TENSOR_SCALAR_INT && s.value.i == 6);
  OK(tensor_free(c));
  OK(tensor_free(a));
  OK(tensor_free(b));
  OK(tensor_free(signs));
}

static void numbers(void) {
  tensor_t *t = made((uint16_t[]){1, 2}, TENSOR_UINT16), *c = NULL;
  OK(tensor_add_scalar(t, tensor_int(-3), tensor_int(1), &c));
  expect(c, TENSOR_UINT16, (uint16_t[]){65534, 65535});
  OK(tensor_fill_scalar_(t, tensor_int(-1)));  // wraps around, as for uint8
  FAILS(tensor_fill_scalar_(t, tensor_int(65536)), TENSOR_ERROR_RUNTIME,
        "value 65536 cannot be converted to type uint16 without overflow");
  FAILS(tensor_fill_scalar_(t, tensor_uint(UINT64_MAX)), TENSOR_ERROR_RUNTIME,
        "value 18446744073709551615 cannot be converted to type uint16 without overflow");
  expect(t, TENSOR_UINT16, (uint16_t[]){65535, 65535});
  OK(tensor_full(two, 1, tensor_uint(UINT64_MAX), TENSOR_UINT64, TENSOR_LAYOUT_NONE,
                 tensor_device_default(), &c));
  expect(c, TENSOR_UINT64, (uint64_t[]){UINT64_MAX, UINT64_MAX});
  OK(tensor_arange_start(tensor_uint(UINT64_MAX - 2), tensor_uint(UINT64_MAX), TENSOR_UINT64,
                         TENSOR_LAYOUT_NONE, tensor_device_default(), &c));
  expect(c, TENSOR_UINT64, (uint64_t[]){UINT64_MAX - 2, UINT64_MAX - 1});
}

int main(void) {
  names();
  promotion();
  conversions();
  arithmetic();
  numbers();
  CHECK(tensor_live_handles() == 0);
  return 0;
}
