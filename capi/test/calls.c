// Calls by name: overloads, conversions, defaults, results, errors and reflection.
#include <stdint.h>

#include "check.h"

static tensor_value of_tensor(tensor_t *t) {
  return (tensor_value){.kind = TENSOR_VALUE_TENSOR, .as.tensor = t};
}
static tensor_value of_int(int64_t i) {
  return (tensor_value){.kind = TENSOR_VALUE_INT, .as.i = i};
}
static tensor_value of_float(double f) {
  return (tensor_value){.kind = TENSOR_VALUE_FLOAT, .as.f = f};
}
static tensor_value of_bool(bool b) { return (tensor_value){.kind = TENSOR_VALUE_BOOL, .as.b = b}; }
static tensor_value of_text(const char *s) {
  return (tensor_value){.kind = TENSOR_VALUE_STRING, .as.string = s};
}
static tensor_value of_ints(const int64_t *items, int64_t n) {
  return (tensor_value){.kind = TENSOR_VALUE_INTS, .length = n, .as.ints = items};
}

// Calls an operator that returns one tensor.
static tensor_t *call(const char *name, const tensor_value *a, const char *const *keywords, int n) {
  tensor_value r[1];
  int32_t count = 1;
  OK(tensor_call(name, a, keywords, n, r, &count, NULL));
  CHECK(count == 1 && r[0].kind == TENSOR_VALUE_TENSOR);
  return r[0].as.tensor;
}

static void expect(tensor_t *t, const float *values, int n) {
  CHECK(tensor_numel(t) == n && tensor_get_dtype(t) == TENSOR_FLOAT32);
  for (int i = 0; i < n; i++) CHECK(data_of(t)[i] == values[i]);
  OK(tensor_free(t));
}

// The call must fail, change no results, and report the status, the argument and the message.
static void fails(const char *name, const tensor_value *a, const char *const *keywords, int n,
                  tensor_status status, const char *argument, const char *text) {
  tensor_value r[8] = {{.kind = TENSOR_VALUE_NONE}};
  int32_t count = 8;
  tensor_error_info *error = NULL;
  CHECK(tensor_call(name, a, keywords, n, r, &count, &error) == status);
  CHECK(error && error->code == status && strcmp(error->message, tensor_last_error()) == 0);
  CHECK(strcmp(error->operator_name, name ? name : "") == 0);
  if (!strstr(error->message, text)) fprintf(stderr, "%s\n  lacks: %s\n", error->message, text);
  CHECK(strstr(error->message, text));
  if (argument) CHECK(error->argument && strcmp(error->argument, argument) == 0);
  CHECK(r[0].kind == TENSOR_VALUE_NONE && count == 8);
  tensor_error_free(error);
  CHECK(tensor_call(name, a, keywords, n, r, &count, NULL) == status);
}

static void test_overloads(tensor_t *x, tensor_t *y) {
  const char *const alpha[] = {NULL, NULL, "alpha"};
  expect(call("aten::add.Tensor", (tensor_value[]){of_tensor(x), of_tensor(y)}, NULL, 2),
         (float[]){11, 22, 33}, 3);
  expect(
      call("aten::add.Tensor", (tensor_value[]){of_tensor(x), of_tensor(y), of_int(2)}, alpha, 3),
      (float[]){21, 42, 63}, 3);
  expect(call("aten::add.Scalar", (tensor_value[]){of_tensor(x), of_float(0.5)}, NULL, 2),
         (float[]){1.5, 2.5, 3.5}, 3);
  expect(call("aten::add", (tensor_value[]){of_tensor(x), of_int(1)}, NULL, 2), (float[]){2, 3, 4},
         3);
  expect(call("add", (tensor_value[]){of_tensor(x), of_bool(true)}, NULL, 2), (float[]){2, 3, 4},
         3);
  expect(call("aten::relu.default", (tensor_value[]){of_tensor(x)}, NULL, 1), (float[]){1, 2, 3},
         3);
  expect(call("aten::relu", (tensor_value[]){of_tensor(x)}, NULL, 1), (float[]){1, 2, 3}, 3);
  expect(call("aten::flip", (tensor_value[]){of_tensor(x), of_int(0)}, NULL, 2), (float[]){3, 2, 1},
         3);

  tensor_value r[2];
  int32_t count = 2;
  OK(tensor_call("aten::max", (tensor_value[]){of_tensor(x), of_int(0)}, NULL, 2, r, &count, NULL));
  CHECK(count == 2 && tensor_get_dtype(r[1].as.tensor) == TENSOR_INT64);
  OK(tensor_value_free(r));
  OK(tensor_value_free(r + 1));
  CHECK(r[0].kind == TENSOR_VALUE_NONE);
  count = 2;
  OK(tensor_call("aten::max", (tensor_value[]){of_tensor(x)}, NULL, 1, r, &count, NULL));
  CHECK(count == 1);
  OK(tensor_value_free(r));
}

static void test_forms(tensor_t *x, tensor_t *y) {
  const char *const keywords[] = {NULL, NULL, "out"};
  tensor_t *out = floats((float[]){0}, (int64_t[]){1}, 1), *z = NULL;
  int32_t count = 0;
  const tensor_value a[] = {of_tensor(x), of_tensor(y), of_tensor(out)};
  OK(tensor_call("aten::add.out", a, keywords, 3, NULL, NULL, NULL));
  CHECK(tensor_numel(out) == 3 && data_of(out)[2] == 33);
  OK(tensor_call("aten::add", a, keywords, 3, NULL, &count, NULL));
  CHECK(count == 0);
  // An operator without an out form.
  OK(tensor_clone(x, TENSOR_PRESERVE, &z));
  const char *const softmax[] = {NULL, NULL, NULL, "out"};
  OK(tensor_call("aten::_softmax.out",
                 (tensor_value[]){of_tensor(z), of_int(0), of_bool(false), of_tensor(out)}, softmax,
                 4, NULL, NULL, NULL));
  CHECK(tensor_numel(out) == 3 && data_of(out)[2] > 0.6 && data_of(out)[2] < 0.7);
  OK(tensor_call("aten::add_.Scalar", (tensor_value[]){of_tensor(z), of_int(1)}, NULL, 2, NULL,
                 NULL, NULL));
  OK(tensor_call("nn.relu6_", (tensor_value[]){of_tensor(z)}, NULL, 1, NULL, NULL, NULL));
  OK(tensor_call("mul_", (tensor_value[]){of_tensor(z), of_int(1)}, NULL, 2, NULL, NULL, NULL));
  expect(z, (float[]){2, 3, 4}, 3);
  // A function of an operator that works in place.
  expect(call("aten::zero", (tensor_value[]){of_tensor(x)}, NULL, 1), (float[]){0, 0, 0}, 3);
  CHECK(data_of(x)[0] == 1);
  OK(tensor_free(out));
}

static void test_values(tensor_t *x) {
  const char *const dtype[] = {NULL, "dtype"};
  tensor_t *t =
      call("aten::_to_copy",
           (tensor_value[]){of_tensor(x), {.kind = TENSOR_VALUE_DTYPE, .as.dtype = TENSOR_INT64}},
           dtype, 2);
  CHECK(tensor_get_dtype(t) == TENSOR_INT64);
  OK(tensor_free(t));
  t = call("aten::zeros", (tensor_value[]){of_ints((int64_t[]){2, 3}, 2), of_text("bool")}, dtype,
           2);
  CHECK(tensor_numel(t) == 6 && tensor_get_dtype(t) == TENSOR_BOOL);
  OK(tensor_free(t));

  tensor_value r[1];
  int32_t count = 1;
  OK(tensor_call(
      "aten::_local_scalar_dense",
      (tensor_value[]){of_tensor(call("aten::sum", (tensor_value[]){of_tensor(x)}, NULL, 1))}, NULL,
      1, r, &count, NULL));
  CHECK(r[0].kind == TENSOR_VALUE_FLOAT && r[0].as.f == 6);
  count = 1;
  OK(tensor_call("aten::sym_size", (tensor_value[]){of_tensor(x)}, NULL, 1, r, &count, NULL));
  CHECK(r[0].kind == TENSOR_VALUE_INTS && r[0].length == 1 && r[0].as.ints[0] == 3);
  OK(tensor_value_free(r));
  count = 1;
  OK(tensor_call("aten::split.Tensor", (tensor_value[]){of_tensor(x), of_int(2)}, NULL, 2, r,
                 &count, NULL));
  CHECK(r[0].kind == TENSOR_VALUE_TENSORS && r[0].length == 2 &&
        tensor_numel(r[0].as.tensors[1]) == 1);
  OK(tensor_value_free(r));
  // A list with None.
  tensor_t *at = NULL, *parts[2] = {NULL, NULL};
  OK(tensor_from_data((int64_t[]){2, 0}, (int64_t[]){2}, 1, TENSOR_INT64, &at));
  tensor_t *matrix = call("aten::unsqueeze", (tensor_value[]){of_tensor(x), of_int(0)}, NULL, 2);
  parts[1] = at;
  const tensor_value index = {.kind = TENSOR_VALUE_TENSORS, .length = 2, .as.tensors = parts};
  expect(call("aten::index.Tensor", (tensor_value[]){of_tensor(matrix), index}, NULL, 2),
         (float[]){3, 1}, 2);
  OK(tensor_free(at));
  OK(tensor_free(matrix));
}

static void test_errors(tensor_t *x) {
  const char *const misspelt[] = {NULL, NULL, "alpa"};
  const tensor_value two[] = {of_tensor(x), of_tensor(x), of_int(1)};
  fails(NULL, two, NULL, 1, TENSOR_ERROR_VALUE, "name", "'name' is NULL");
  fails("aten::ad.Tensor", two, NULL, 2, TENSOR_ERROR_NOT_IMPLEMENTED, "name",
        "did you mean 'aten::add.Tensor'");
  fails("aten::add.Tenor", two, NULL, 2, TENSOR_ERROR_NOT_IMPLEMENTED, "name",
        "its overloads are Tensor, Scalar, out");
  fails("", two, NULL, 2, TENSOR_ERROR_NOT_IMPLEMENTED, "name", "there is no operator ''");
  fails("aten::add.Tensor", two, misspelt, 3, TENSOR_ERROR_TYPE, "alpa", "did you mean 'alpha'?");
  fails("aten::add.Tensor", two, NULL, 3, TENSOR_ERROR_TYPE, NULL,
        "takes 2 positional arguments, but 3 were given");
  fails("aten::add.Tensor", two, NULL, 1, TENSOR_ERROR_TYPE, "other",
        "argument 'other' of type Tensor is missing");
  fails("aten::add.Tensor", two, (const char *const[]){NULL, "self"}, 2, TENSOR_ERROR_TYPE, "self",
        "given more than once");
  fails("aten::sum.dim_IntList", (tensor_value[]){of_tensor(x), of_text("0")}, NULL, 2,
        TENSOR_ERROR_TYPE, "dim",
        "aten::sum.dim_IntList: argument 'dim' is the str \"0\"; it must be an int or a list of "
        "ints, or None");
  fails("aten::add.Tensor", (tensor_value[]){of_tensor(x), {.kind = TENSOR_VALUE_NONE}}, NULL, 2,
        TENSOR_ERROR_TYPE, "other", "is None");
  fails("aten::add", (tensor_value[]){of_tensor(x), of_text("a")}, NULL, 2, TENSOR_ERROR_TYPE, NULL,
        "no overload accepts (a Tensor, the str \"a\"); the overloads are aten::add.Tensor(Tensor "
        "self");
  fails("aten::unsqueeze", (tensor_value[]){of_tensor(x), of_int(7)}, NULL, 2, TENSOR_ERROR_INDEX,
        NULL, "aten::unsqueeze");
  fails("aten::mse_loss", (tensor_value[]){of_tensor(x), of_tensor(x), of_int(7)}, NULL, 3,
        TENSOR_ERROR_TYPE, "reduction", "the int 7");
  fails("aten::add.Tensor", two, NULL, -1, TENSOR_ERROR_VALUE, "count", "'count' is -1");
  fails("aten::add.Tensor", two, NULL, 1000, TENSOR_ERROR_VALUE, "count", "'count' is 1000");
  fails("aten::add.Tensor", NULL, NULL, 2, TENSOR_ERROR_VALUE, "arguments", "'arguments' is NULL");
  fails("aten::_assert_scalar", (tensor_value[]){of_bool(false), of_text("sizes differ")}, NULL, 2,
        TENSOR_ERROR_RUNTIME, NULL, "sizes differ");

  // Values that cannot be read.
  fails("aten::add", (tensor_value[]){of_tensor(x), {.kind = (tensor_value_kind)99}}, NULL, 2,
        TENSOR_ERROR_TYPE, NULL, "unknown kind 99");
  fails("aten::relu.default", (tensor_value[]){{.kind = (tensor_value_kind)99}}, NULL, 1,
        TENSOR_ERROR_VALUE, "self", "has the kind 99");
  fails("aten::relu.default", (tensor_value[]){of_tensor(NULL)}, NULL, 1, TENSOR_ERROR_HANDLE,
        "self", "at address NULL");
  fails("aten::zeros.default", (tensor_value[]){of_ints(NULL, 3)}, NULL, 1, TENSOR_ERROR_VALUE,
        "size", "3 items at address NULL");
  fails("aten::zeros.default", (tensor_value[]){of_ints((int64_t[]){1}, -1)}, NULL, 1,
        TENSOR_ERROR_VALUE, "size", "a list of -1 items");
  fails("aten::zeros.default", (tensor_value[]){of_ints((int64_t[]){1}, INT64_MAX)}, NULL, 1,
        TENSOR_ERROR_VALUE, "size", "items; a length is between");
  fails("aten::einsum.default", (tensor_value[]){of_text(NULL), of_tensor(x)}, NULL, 2,
        TENSOR_ERROR_HANDLE, "equation", "a str at address NULL");
  tensor_value results[1];
  int32_t count = 0;
  CHECK(tensor_call("aten::relu.default", two, NULL, 1, results, &count, NULL) ==
        TENSOR_ERROR_VALUE);
  CHECK(strstr(tensor_last_error(), "returns 1 result, but 'results' holds 0"));
  CHECK(tensor_call("aten::relu.default", two, NULL, 1, NULL, &count, NULL) == TENSOR_ERROR_VALUE);
  CHECK(strstr(tensor_last_error(), "'results' is NULL, but the operator returns 1 result"));
  CHECK(tensor_call("aten::relu.default", two, NULL, 1, results, NULL, NULL) == TENSOR_ERROR_VALUE);
  CHECK(strstr(tensor_last_error(), "'result_count' is NULL, but the operator returns 1 result"));
  const char *const with_out[] = {NULL, NULL, "out"};
  fails("aten::add.out", (tensor_value[]){of_tensor(x), of_tensor(x), of_int(3)}, with_out, 3,
        TENSOR_ERROR_TYPE, "out", "argument 'out' is the int 3; it must be a tensor");
  fails("aten::add.out", (tensor_value[]){of_tensor(x), of_tensor(x), {0}}, with_out, 3,
        TENSOR_ERROR_TYPE, "out", "argument 'out' is None; it must be a tensor");
  fails("aten::add_.Tensor", (tensor_value[]){of_int(3), of_tensor(x)}, NULL, 2, TENSOR_ERROR_TYPE,
        "self", "argument 'self' is the int 3; it must be a tensor");
  CHECK(!strstr(tensor_last_error(), "number"));
  static const char *const unknown[][2] = {{"aten:add", "'aten::add'"},
                                           {"aten::Add", "'aten::add'"},
                                           {"aten::ADD.tensor", "'aten::add.Tensor'"},
                                           {"aten::softmx", "'aten::softmax'"},
                                           {"aten::x", "none with a similar name"},
                                           {"aten::no_such_operator", "none with a similar name"}};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    fails(unknown[i][0], two, NULL, 1, TENSOR_ERROR_NOT_IMPLEMENTED, "name", unknown[i][1]);

  tensor_t *freed = floats((float[]){1}, (int64_t[]){1}, 1);
  OK(tensor_free(freed));
  fails("aten::add.Tensor", (tensor_value[]){of_tensor(x), of_tensor(freed)}, NULL, 2,
        TENSOR_ERROR_HANDLE, "other", "aten::add.Tensor: argument 'other'");
  fails("aten::convolution.default",
        (tensor_value[]){of_tensor(freed),
                         of_tensor(freed),
                         {.kind = TENSOR_VALUE_NONE},
                         of_int(1),
                         of_int(0),
                         of_int(1),
                         of_bool(false),
                         of_int(0),
                         of_int(1)},
        NULL, 9, TENSOR_ERROR_HANDLE, NULL, "aten::convolution");
  fails("aten::sym_size.int", (tensor_value[]){of_tensor(freed), of_int(0)}, NULL, 2,
        TENSOR_ERROR_HANDLE, NULL, "not a live tensor");
  OK(tensor_value_free(NULL));
  tensor_error_free(NULL);
}

// Every operator can be described and called with values of each kind, without a crash.
static void test_all(tensor_t *x) {
  int32_t count = 0;
  const char *const *names = tensor_operator_names(&count);
  CHECK(count > 3000);
  for (int32_t i = 0; i < count; i++) {
    char name[160];
    const bool plain = strncmp(names[i], "aten::", 6) == 0 && !strchr(names[i], '.');
    snprintf(name, sizeof name, "%s%s", names[i], plain ? ".default" : "");
    if (i) CHECK(strcmp(names[i - 1], names[i]) <= 0);
    const tensor_operator_info *info = NULL;
    CHECK(tensor_describe_operator(name, &info, 1) >= 1);
    CHECK(strncmp(info->schema, names[i], strlen(names[i])) == 0);
    CHECK(strstr(info->schema, ") -> "));
    for (int k = 0; k < info->parameter_count; k++)
      CHECK(strstr(info->schema, info->parameters[k].name));
    for (int k = 0; k < info->result_count; k++)
      CHECK(info->results[k].parameter < info->parameter_count);
    // Names of ATen alone: the own operators include those that change the state of the process.
    if (strncmp(name, "aten::", 6) != 0 || strstr(name, "record_stream")) continue;
    for (int kind = 0; kind <= TENSOR_VALUE_STRINGS; kind++) {
      const tensor_value none = {.kind = (tensor_value_kind)kind};
      tensor_value a[32], r[8];
      int32_t results = 8;
      for (int k = 0; k < 32; k++) a[k] = k ? none : of_tensor(x);
      if (!tensor_call(name, a, NULL, info->parameter_count > 3 ? 3 : info->parameter_count, r,
                       &results, NULL))
        for (int k = 0; k < results; k++) OK(tensor_value_free(r + k));
    }
  }
  CHECK(tensor_describe_operator(NULL, NULL, 0) == 0 &&
        tensor_describe_operator("aten::ad", NULL, 0) == 0);
  CHECK(strstr(tensor_last_error(), "did you mean"));
}

static void test_reflection(void) {
  const tensor_operator_info *infos[8];
  CHECK(tensor_describe_operator("aten::add_.Tensor", infos, 8) == 1);
  CHECK(
      strcmp(infos[0]->schema,
             "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)") ==
      0);
  CHECK(infos[0]->parameter_count == 3 && infos[0]->parameters[0].is_written &&
        !infos[0]->parameters[1].is_written);
  CHECK(infos[0]->parameters[2].is_keyword_only && infos[0]->parameters[2].default_value.as.i == 1);
  CHECK(infos[0]->result_count == 1 && infos[0]->results[0].parameter == 0);
  CHECK(tensor_describe_operator("aten::max.dim_max", infos, 8) == 1);
  CHECK(infos[0]->result_count == 2 && infos[0]->results[1].parameter == 4);
  CHECK(tensor_describe_operator("aten::view", infos, 8) >= 1);
  CHECK(infos[0]->parameters[0].alias_set == 0 && infos[0]->results[0].alias_set == 0 &&
        infos[0]->results[0].parameter == -1);
}

int main(void) {
  tensor_t *x = floats((float[]){1, 2, 3}, (int64_t[]){3}, 1);
  tensor_t *y = floats((float[]){10, 20, 30}, (int64_t[]){3}, 1);
  test_overloads(x, y);
  test_forms(x, y);
  test_values(x);
  test_errors(x);
  test_reflection();
  OK(tensor_free(y));
  tensor_t *z = NULL;
  OK(tensor_clone(x, TENSOR_PRESERVE, &z));
  OK(tensor_free(x));
  const int64_t before = tensor_live_handles();
  test_all(z);
  CHECK(tensor_live_handles() == before);
  OK(tensor_free(z));
  return 0;
}
