// Eight-bit floats from C: names, conversion, equality, and the errors of operators and promotion.
#include "check.h"

static const int64_t four[] = {4};

static tensor_t *made(const void *values, tensor_dtype dtype) {
  tensor_t *t = NULL;
  OK(tensor_from_data(values, four, 1, dtype, &t));
  CHECK(tensor_get_dtype(t) == dtype);
  return t;
}

// The result of a call: four elements of a dtype. It is freed.
static void expect(tensor_t *t, tensor_dtype dtype, const void *values) {
  void *data = NULL;
  CHECK(tensor_get_dtype(t) == dtype && tensor_numel(t) == 4);
  OK(tensor_data_ptr(t, &data));
  CHECK(memcmp(data, values, 4 * (size_t)tensor_dtype_size(dtype)) == 0);
  OK(tensor_free(t));
}

static tensor_t *cast(const tensor_t *t, tensor_dtype dtype) {
  tensor_t *to = NULL;
  OK(tensor_to_options(t, dtype, TENSOR_LAYOUT_NONE, tensor_device_default(), false, false,
                       TENSOR_FORMAT_NONE, &to));
  return to;
}

// The formats, and the codes of 1, 1.5, -1e9 and 0 in each.
static const struct {
  tensor_dtype dtype;
  const char *name;
  uint8_t codes[4];
} formats[] = {
    {TENSOR_FLOAT8_E4M3FN, "float8_e4m3fn", {0x38, 0x3c, 0xfe, 0}},
    {TENSOR_FLOAT8_E5M2, "float8_e5m2", {0x3c, 0x3e, 0xfc, 0}},
    {TENSOR_FLOAT8_E4M3FNUZ, "float8_e4m3fnuz", {0x40, 0x44, 0x80, 0}},
    {TENSOR_FLOAT8_E5M2FNUZ, "float8_e5m2fnuz", {0x40, 0x42, 0x80, 0}},
    {TENSOR_FLOAT8_E8M0FNU, "float8_e8m0fnu", {0x7f, 0x80, 0x9d, 0}},
};

static void conversions(void) {
  tensor_t *floats = made((float[]){1, 1.5f, -1e9f, 0}, TENSOR_FLOAT32);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    tensor_dtype d = formats[i].dtype;
    CHECK(tensor_dtype_size(d) == 1 && strcmp(tensor_dtype_name(d), formats[i].name) == 0);
    expect(cast(floats, d), d, formats[i].codes);
    const bool power = d == TENSOR_FLOAT8_E8M0FNU;
    tensor_t *t = made((uint8_t[]){formats[i].codes[0], formats[i].codes[0], formats[i].codes[1],
                                   formats[i].codes[1]},
                       d);
    const double second = power ? 2 : 1.5;
    expect(cast(t, TENSOR_FLOAT64), TENSOR_FLOAT64, (double[]){1, 1, second, second});
    tensor_scalar s;
    tensor_t *one = NULL, *same = NULL;
    OK(tensor_select(t, 0, 2, &one));
    OK(tensor_item(one, &s));
    CHECK(s.kind == TENSOR_SCALAR_FLOAT && s.value.f.re == second);
    OK(tensor_eq(t, one, &same));
    expect(same, TENSOR_BOOL, (uint8_t[]){0, 0, 1, 1});
    OK(tensor_free(one));
    OK(tensor_free(t));
  }
  OK(tensor_free(floats));
}

static void errors(void) {
  tensor_t *t = made((uint8_t[]){1, 2, 3, 4}, TENSOR_FLOAT8_E4M3FN), *none = NULL;
  tensor_t *floats = made((float[]){1, 2, 3, 4}, TENSOR_FLOAT32);
  FAILS(tensor_add(t, t, tensor_int(1), &none), TENSOR_ERROR_NOT_IMPLEMENTED,
        "not implemented for dtype float8_e4m3fn");
  FAILS(tensor_add(t, floats, tensor_int(1), &none), TENSOR_ERROR_RUNTIME,
        "attempted to promote Float8_e4m3fn and Float");
  FAILS(tensor_uniform_(t, 0, 1, NULL), TENSOR_ERROR_NOT_IMPLEMENTED, "float8_e4m3fn");
  tensor_dtype d;
  FAILS(tensor_promote_types(TENSOR_INT32, TENSOR_FLOAT8_E5M2, &d), TENSOR_ERROR_RUNTIME,
        "attempted to promote Int and Float8_e5m2");
  expect(t, TENSOR_FLOAT8_E4M3FN, (uint8_t[]){1, 2, 3, 4});
  OK(tensor_free(floats));
}

int main(void) {
  conversions();
  errors();
  CHECK(tensor_live_handles() == 0);
  return 0;
}
