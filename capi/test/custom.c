// Custom operators: schemas, results, autograd, transforms, mutation, and functions that fail, free
// their arguments, re-enter the library or return something else than the schema says.
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static const int64_t SIZES[] = {2, 3};
static int deleted;

static void count_deleted(void *context) {
  (void)context;
  deleted++;
}

static tensor_value of_tensor(tensor_t *t) {
  return (tensor_value){.kind = TENSOR_VALUE_TENSOR, .as.tensor = t};
}
static tensor_value of_int(int64_t i) {
  return (tensor_value){.kind = TENSOR_VALUE_INT, .as.i = i};
}

static tensor_status call(const char *name, const tensor_value *a, int n, tensor_t **out) {
  tensor_value results[8];
  int32_t count = 8;
  const tensor_status status = tensor_call(name, a, NULL, n, results, &count, NULL);
  if (!status && count) *out = results[0].as.tensor;
  return status;
}

static tensor_t *call_one(const char *name, tensor_t *x) {
  tensor_t *made = NULL;
  OK(call(name, (tensor_value[]){of_tensor(x)}, 1, &made));
  return made;
}

static void expect(tensor_t *t, const float *values, int n) {
  tensor_t *c;
  OK(tensor_contiguous(t, TENSOR_CONTIGUOUS, &c));
  CHECK(tensor_numel(c) == n);
  for (int i = 0; i < n; i++) CHECK(data_of(c)[i] == values[i]);
  OK(tensor_free(c));
  OK(tensor_free(t));
}

static int64_t define(const char *schema, tensor_operator_function f,
                      const tensor_operator_options *options) {
  int64_t id = 0;
  OK(tensor_define_operator(schema, f, options, NULL, count_deleted, &id));
  return id;
}

// -------------------------------------------------------------------------------- x ** 3

typedef struct span {
  const float *from;
  float *to;
} span;

static tensor_status cube_range(void *context, int64_t begin, int64_t end) {
  const span *s = context;
  for (int64_t i = begin; i < end; i++) s->to[i] = s->from[i] * s->from[i] * s->from[i];
  return TENSOR_OK;
}

static tensor_status cube(void *context, const tensor_value *a, int32_t n, tensor_value *r,
                          int32_t m) {
  (void)context;
  tensor_t *x, *made;
  bool recorded;
  CHECK(n == 1 && m == 1 && r[0].kind == TENSOR_VALUE_NONE);
  OK(tensor_is_grad_enabled(&recorded));
  CHECK(!recorded);
  tensor_status status = tensor_contiguous(a[0].as.tensor, TENSOR_CONTIGUOUS, &x);
  if (status) return status;
  status = tensor_empty(tensor_sizes(x), tensor_dim(x), TENSOR_FLOAT32, TENSOR_STRIDED,
                        tensor_get_device(x), TENSOR_CONTIGUOUS, &made);
  void *from, *to;
  if (!status) status = tensor_data_ptr(x, &from);
  if (!status) status = tensor_data_ptr(made, &to);
  if (!status) status = tensor_parallel_for(tensor_numel(x), 2, cube_range, &(span){from, to});
  tensor_free(x);
  r[0] = of_tensor(made);
  return status;
}

static tensor_status cube_meta(void *context, const tensor_value *a, int32_t n, tensor_value *r,
                               int32_t m) {
  (void)context, (void)n, (void)m;
  r[0].kind = TENSOR_VALUE_TENSOR;
  return tensor_empty(tensor_sizes(a[0].as.tensor), tensor_dim(a[0].as.tensor), TENSOR_FLOAT32,
                      TENSOR_STRIDED, tensor_get_device(a[0].as.tensor), TENSOR_CONTIGUOUS,
                      &r[0].as.tensor);
}

// 3 * x * x * gradient, of differentiable operators.
static tensor_status cube_backward(void *context, const tensor_value *a, int32_t n,
                                   const tensor_value *r, const tensor_value *gradients, int32_t m,
                                   tensor_value *out) {
  (void)context, (void)r;
  CHECK(n == 1 && m == 1 && gradients[0].kind == TENSOR_VALUE_TENSOR);
  CHECK(r[0].kind == TENSOR_VALUE_NONE);  // not saved
  tensor_t *square, *times, *made;
  tensor_status status = tensor_mul(a[0].as.tensor, a[0].as.tensor, &square);
  if (status) return status;
  status = tensor_mul_scalar(square, tensor_float(3), &times);
  tensor_free(square);
  if (status) return status;
  status = tensor_mul(times, gradients[0].as.tensor, &made);
  tensor_free(times);
  if (!status) out[0] = of_tensor(made);
  return status;
}

static int rule_calls;

static tensor_status cube_vmap(void *context, int64_t size, const tensor_value *a, int32_t n,
                               const bool *batched, tensor_value *r, int32_t m, bool *batched_r) {
  (void)context, (void)m;
  rule_calls++;
  CHECK(n == 1 && batched[0] && batched_r[0]);
  CHECK(tensor_sizes(a[0].as.tensor)[0] == size);
  r[0] = of_tensor(call_one("test::cube", a[0].as.tensor));
  return TENSOR_OK;
}

static tensor_operator_options cube_options(void) {
  return (tensor_operator_options){.size = sizeof(tensor_operator_options),
                                   .meta = cube_meta,
                                   .backward = cube_backward,
                                   .unsaved_results = 1};
}

static tensor_t *grad(tensor_t *y, tensor_t *x, bool create) {
  tensor_t **grads, *sum;
  int64_t n;
  OK(tensor_sum(y, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  OK(tensor_autograd_grad((const tensor_t *[]){sum}, 1, (const tensor_t *[]){x}, 1, NULL, 0, create,
                          create, false, false, &grads, &n));
  tensor_t *made = grads[0];
  grads[0] = NULL;
  OK(tensor_list_free(grads, n));
  OK(tensor_free(sum));
  return made;
}

static void derivatives(void) {
  tensor_t *x = floats((float[]){1, 2, 3, 4, 5, 6}, SIZES, 2), *turned;
  OK(tensor_set_requires_grad(x, true));
  OK(tensor_transpose(x, 0, 1, &turned));
  tensor_t *y = call_one("test::cube", turned);
  bool requires;
  OK(tensor_requires_grad(y, &requires));
  CHECK(requires);
  tensor_t *first = grad(y, x, true);
  tensor_t *second = grad(first, x, true);
  tensor_t *third = grad(second, x, false);
  tensor_t *plain;
  OK(tensor_detach(y, &plain));
  expect(plain, (float[]){1, 64, 8, 125, 27, 216}, 6);
  OK(tensor_detach(first, &plain));
  expect(plain, (float[]){3, 12, 27, 48, 75, 108}, 6);
  OK(tensor_detach(second, &plain));
  expect(plain, (float[]){6, 12, 18, 24, 30, 36}, 6);
  expect(third, (float[]){6, 6, 6, 6, 6, 6}, 6);
  tensor_free(first), tensor_free(second), tensor_free(turned), tensor_free(x), tensor_free(y);
}

static void views_and_meta(void) {
  tensor_t *x = floats((float[]){1, 2, 3, 4, 5, 6}, SIZES, 2), *column, *wide, *meta;
  OK(tensor_select(x, 1, 1, &column));
  expect(call_one("test::cube", column), (float[]){8, 125}, 2);
  OK(tensor_expand(column, (int64_t[]){2, 2}, 2, false, &wide));
  expect(call_one("test::cube", wide), (float[]){8, 125, 8, 125}, 4);
  OK(tensor_empty((int64_t[]){4, 5}, 2, TENSOR_FLOAT32, TENSOR_STRIDED,
                  (tensor_device){TENSOR_META, -1}, TENSOR_CONTIGUOUS, &meta));
  tensor_t *shape = call_one("test::cube", meta);
  CHECK(tensor_get_device(shape).type == TENSOR_META && tensor_sizes(shape)[1] == 5);
  tensor_free(shape), tensor_free(meta), tensor_free(wide), tensor_free(column), tensor_free(x);
}

static void in_vmap(void) {
  tensor_t *x = floats((float[]){1, 2, 3, 4, 5, 6}, SIZES, 2), *one, *all;
  int64_t level;
  OK(tensor_set_requires_grad(x, true));
  OK(tensor_vmap_begin(3, "error", &level));
  OK(tensor_vmap_wrap(x, 1, level, &one));
  tensor_t *y = call_one("test::cube", one);
  CHECK(tensor_dim(y) == 1);
  OK(tensor_vmap_unwrap(y, 1, level, &all));
  OK(tensor_vmap_end(level));
  tensor_t *slope = grad(all, x, false), *plain;
  OK(tensor_detach(all, &plain));
  expect(plain, (float[]){1, 8, 27, 64, 125, 216}, 6);
  expect(slope, (float[]){3, 12, 27, 48, 75, 108}, 6);
  tensor_free(all), tensor_free(y), tensor_free(one), tensor_free(x);
}

static void in_jvp(void) {
  tensor_t *x = floats((float[]){1, 2}, SIZES, 1), *v = floats((float[]){1, 10}, SIZES, 1), *dual;
  tensor_t *tangent;
  int64_t level;
  OK(tensor_jvp_begin(&level));
  OK(tensor_jvp_wrap(x, v, level, &dual));
  tensor_t *y = call_one("test::cube", dual);
  OK(tensor_jvp_tangent(y, level, &tangent));
  OK(tensor_jvp_end(level));
  expect(tangent, (float[]){3, 120}, 2);
  tensor_free(y), tensor_free(dual), tensor_free(x), tensor_free(v);
}

// -------------------------------------------------------------------------------- schemas

static void schemas(void) {
  int64_t id = 0;
  const struct {
    const char *schema, *text;
  } wrong[] = {
      {"scale(Tensor x) -> Tensor", "::, as in ns::name"},
      {"aten::scale(Tensor x) -> Tensor", "another namespace than aten"},
      {"test::f(Tensr x) -> Tensor", "the type of a parameter"},
      {"test::f(Tensor x -> Tensor", "a comma or )"},
      {"test::f(Tensor x) -> str", "the type of a result"},
      {"test::f(Tensor x) -> int[]", "Tensor[] is the only list that operators return"},
      {"test::f(Tensor x) -> (Tensor, float[2])", "Tensor[] is the only list"},
      {"test::f(int[x] k) -> Tensor", "a list such as []"},
      {"test::f(Tensor x)", "-> and the results"},
      {"test::f(Tensor x) -> Tensor extra extra", "the end of the schema"},
      {"test::f(Tensor x, Tensor x) -> Tensor", "two parameters are named 'x'"},
      {"test::f(int k=None) -> Tensor", "invalid at position 14: expected an int"},
      {"test::f(int k=z) -> Tensor", "invalid at position 14: expected an int"},
      {"test::f(int k=1.5) -> Tensor", "invalid at position 14: expected an int"},
      {"test::f(int k=9223372036854775808) -> Tensor", "position 14: expected an int"},
      {"test::f(int? k=[1]) -> Tensor", "invalid at position 15: expected an int"},
      {"test::f(int[] k=[1, z]) -> Tensor", "invalid at position 20: expected an int"},
      {"test::f(int[] k=[1,]) -> Tensor", "invalid at position 19: expected an int"},
      {"test::f(int[] k=[1,2,3,4,5,6,7,8,9]) -> Tensor", "expected at most 8 items"},
      {"test::f(float k=x) -> Tensor", "invalid at position 16: expected a float"},
      {"test::f(float k=1e) -> Tensor", "invalid at position 16: expected a float"},
      {"test::f(float[] k=[nan, 0x1]) -> Tensor", "position 24: expected a float"},
      {"test::f(bool k=1) -> Tensor", "invalid at position 15: expected a bool"},
      {"test::f(bool[2] k=[True, no]) -> Tensor", "position 25: expected a bool"},
      {"test::f(Scalar k=z) -> Tensor", "invalid at position 17: expected a Scalar"},
      {"test::f(str k=z) -> Tensor", "invalid at position 14: expected a str, in quotes"},
      {"test::f(str[] k=['z']) -> Tensor", "position 17: expected None"},
      {"test::f(ScalarType k=flat) -> Tensor", "position 21: expected a dtype"},
      {"test::f(ScalarType k=12) -> Tensor", "position 21: expected a dtype"},
      {"test::f(Layout k=77) -> Tensor", "position 17: expected a layout"},
      {"test::f(MemoryFormat k=4) -> Tensor", "position 23: expected a memory format"},
      {"test::f(Layout k=z) -> Tensor", "position 17: expected a layout"},
      {"test::f(MemoryFormat k=z) -> Tensor", "position 23: expected a memory format"},
      {"test::f(Device k=1) -> Tensor", "the default of parameter 'k' does not have the type"},
      {"test::f(Generator? k=1) -> Tensor", "'k' does not have the type Generator"},
      {"test::f(Tensor x=1) -> Tensor", "None, the only default of a tensor"},
      {"test::f(Layout[] x) -> Tensor", "which no argument can have"},
      {"test::f(Tensor(a) x) -> Tensor(a)", "only composite operators"},
      {"", "the name of the operator"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    FAILS(tensor_define_operator(wrong[i].schema, cube, NULL, NULL, count_deleted, &id),
          TENSOR_ERROR_VALUE, wrong[i].text);
  tensor_operator_options options = cube_options();
  FAILS(tensor_define_operator("test::g(Tensor(a!) x) -> ()", cube, &options, NULL, NULL, &id),
        TENSOR_ERROR_VALUE, "cannot have a backward function");
  FAILS(tensor_define_operator("test::cube(Tensor x, int k=1) -> Tensor", cube, NULL, NULL, NULL,
                               &id),
        TENSOR_ERROR_VALUE, "test::cube is already defined");
  FAILS(tensor_define_operator(NULL, cube, NULL, NULL, NULL, &id), TENSOR_ERROR_VALUE, "'schema'");
  options.size = 4096;
  FAILS(tensor_define_operator("test::h(Tensor x) -> Tensor", cube, &options, NULL, NULL, &id),
        TENSOR_ERROR_VALUE, "options.size is 4096");
  CHECK(!id && !deleted);

  const tensor_operator_info *infos[2];
  CHECK(tensor_describe_operator("test::cube", infos, 2) == 1);
  CHECK(!strcmp(infos[0]->schema, "test::cube(Tensor x) -> Tensor"));
  char **names;
  int64_t count;
  OK(tensor_custom_operator_names(&names, &count));
  CHECK(count == 1 && !strcmp(names[0], "test::cube"));
  tensor_string_list_free(names, count);
}

// Defaults of all types, which description and calls accept.
static void defaults(void) {
  static const char *const valid[] = {"int k=-1",
                                      "int? k=None",
                                      "int[] k=[]",
                                      "int[2] k=1",
                                      "int[] k=[1, -2]",
                                      "float k=1",
                                      "float k=-1.5E-3",
                                      "float k=inf",
                                      "float[] k=[.5, 2.]",
                                      "bool k=False",
                                      "bool[] k=[True]",
                                      "Scalar k=2.5",
                                      "Scalar k=True",
                                      "Scalar[] k=[1, 2]",
                                      "str k=\"a, b\"",
                                      "str? k='z'",
                                      "ScalarType k=int8",
                                      "ScalarType? k=None",
                                      "Layout k=strided",
                                      "Tensor? k=None",
                                      "Device k='cpu'",
                                      "Generator? k=None",
                                      "MemoryFormat k=contiguous_format"};
  for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
    char schema[100];
    snprintf(schema, sizeof schema, "test::valid(%s) -> Tensor", valid[i]);
    OK(tensor_remove_operator(define(schema, cube, NULL)));
  }
  deleted = 0;
}

// The values that a function receives for defaults and conversions.
static tensor_status look(void *context, const tensor_value *a, int32_t n, tensor_value *r,
                          int32_t m) {
  (void)context;
  CHECK(n == 8 && m == 4);
  CHECK(a[0].kind == TENSOR_VALUE_TENSORS && a[0].length == 2);
  CHECK(a[1].kind == TENSOR_VALUE_INT && a[1].as.i == 7);
  CHECK(a[2].kind == TENSOR_VALUE_FLOAT && a[2].as.f == 2);
  CHECK(a[3].kind == TENSOR_VALUE_INTS && a[3].length == 2 && a[3].as.ints[1] == 4);
  CHECK(a[4].kind == TENSOR_VALUE_NONE);
  CHECK(a[5].kind == TENSOR_VALUE_STRING && !strcmp(a[5].as.string, "mean"));
  CHECK(a[6].kind == TENSOR_VALUE_DTYPE && a[6].as.dtype == TENSOR_INT32);
  CHECK(a[7].kind == TENSOR_VALUE_NONE);
  tensor_t **list = malloc(2 * sizeof *list);
  for (int i = 0; i < 2; i++) OK(tensor_clone(a[0].as.tensors[i], TENSOR_PRESERVE, list + i));
  r[0] = (tensor_value){.kind = TENSOR_VALUE_TENSORS, .length = 2, .as.tensors = list};
  r[1] = of_int(5);
  r[2] = (tensor_value){.kind = TENSOR_VALUE_FLOAT, .as.f = 0.5};
  r[3] = (tensor_value){.kind = TENSOR_VALUE_BOOL, .as.b = true};
  return TENSOR_OK;
}

static void values(void) {
  const int64_t id = define(
      "test::look(Tensor[] x,int k, float f=2, *, int[2] sizes=[3, 4], Tensor? bias=None, "
      "str mode='mean', ScalarType dtype=int32, float? eps=None)->(Tensor[], int, float, bool)",
      look, NULL);
  tensor_t *x[] = {floats((float[]){1}, SIZES, 0), floats((float[]){2}, SIZES, 0)};
  const tensor_value a[] = {{.kind = TENSOR_VALUE_TENSORS, .length = 2, .as.tensors = x},
                            of_int(7)};
  tensor_value r[4];
  int32_t count = 4;
  OK(tensor_call("test::look", a, NULL, 2, r, &count, NULL));
  CHECK(count == 4 && r[0].kind == TENSOR_VALUE_TENSORS && r[0].length == 2);
  CHECK(data_of(r[0].as.tensors[1])[0] == 2 && r[1].as.i == 5 && r[2].as.f == 0.5 && r[3].as.b);
  for (int i = 0; i < 4; i++) OK(tensor_value_free(r + i));
  FAILS(tensor_call("test::look", a, NULL, 1, r, &count, NULL), TENSOR_ERROR_TYPE,
        "argument 'k' of type int is missing");
  tensor_free(x[0]);
  FAILS(tensor_call("test::look", a, NULL, 2, r, &count, NULL), TENSOR_ERROR_HANDLE,
        "test::look: argument 'x'");
  tensor_free(x[1]);
  OK(tensor_remove_operator(id));
}

// -------------------------------------------------------------------------------- mutation

static tensor_status add_one(void *context, const tensor_value *a, int32_t n, tensor_value *r,
                             int32_t m) {
  (void)context, (void)n, (void)r, (void)m;
  void *data;
  const tensor_status status = tensor_data_ptr(a[0].as.tensor, &data);
  const int64_t stride = status ? 0 : tensor_strides(a[0].as.tensor)[0];
  for (int64_t i = 0; !status && i < tensor_numel(a[0].as.tensor); i++)
    ((float *)data)[i * stride] += 1;
  return status;
}

static void mutation(void) {
  const int64_t id = define("test::add_one_(Tensor(a!) x) -> ()", add_one, NULL);
  tensor_t *x = floats((float[]){1, 2, 3, 4, 5, 6}, SIZES, 2), *column, *one, *leaf, *y;
  int64_t before, after, level;
  OK(tensor_select(x, 1, 0, &column));
  OK(tensor_get_version(x, &before));
  OK(call("test::add_one_", (tensor_value[]){of_tensor(column)}, 1, &y));
  OK(tensor_get_version(x, &after));
  CHECK(after == before + 1 && data_of(x)[0] == 2 && data_of(x)[1] == 2 && data_of(x)[3] == 5);

  // A tensor that is saved for a backward pass.
  tensor_t *saved = floats((float[]){1, 2}, SIZES, 1);
  leaf = floats((float[]){1, 2}, SIZES, 1);
  OK(tensor_set_requires_grad(leaf, true));
  OK(tensor_mul(leaf, saved, &y));
  OK(call("test::add_one_", (tensor_value[]){of_tensor(saved)}, 1, NULL));
  tensor_t *sum;
  OK(tensor_sum(y, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  FAILS(tensor_backward((const tensor_t *[]){sum}, 1, NULL, 0, 1, false, NULL, 0),
        TENSOR_ERROR_RUNTIME, "modified by an inplace operation");
  FAILS(call("test::add_one_", (tensor_value[]){of_tensor(leaf)}, 1, NULL),
        TENSOR_ERROR_NOT_IMPLEMENTED, "requires grad");

  OK(tensor_vmap_begin(2, "error", &level));
  OK(tensor_vmap_wrap(x, 0, level, &one));
  OK(call("test::add_one_", (tensor_value[]){of_tensor(one)}, 1, NULL));
  OK(tensor_vmap_end(level));
  CHECK(data_of(x)[0] == 3 && data_of(x)[5] == 7);
  tensor_t *const made[] = {x, column, leaf, y, saved, sum, one};
  for (int i = 0; i < 7; i++) OK(tensor_free(made[i]));
  OK(tensor_remove_operator(id));
}

// ------------------------------------------------------------------- functions that misbehave

static enum {
  FAIL,
  FAIL_WITH_RESULT,
  FREE,
  NOTHING,
  NUMBER,
  DEAD,
  ARGUMENT,
  VIEW,
  STATUS,
  RECURSE,
  REMOVE,
  DEFINE
} misdeed;
static int64_t self_id;

static tensor_status misbehave(void *context, const tensor_value *a, int32_t n, tensor_value *r,
                               int32_t m) {
  (void)context, (void)n, (void)m;
  tensor_t *x = a[0].as.tensor;
  int64_t other;
  switch (misdeed) {
    case FAIL_WITH_RESULT:
      r[0].kind = TENSOR_VALUE_TENSOR;
      OK(tensor_clone(x, TENSOR_PRESERVE, &r[0].as.tensor));
      // fall through
    case FAIL:
      tensor_set_last_error("the fuse is blown");
      return TENSOR_ERROR_LINALG;
    case FREE:
      OK(tensor_free(x));
      r[0].kind = TENSOR_VALUE_TENSOR;
      return tensor_zeros(NULL, 0, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(),
                          &r[0].as.tensor);
    case NUMBER:
      r[0] = of_int(3);
      return TENSOR_OK;
    case DEAD:
      OK(tensor_clone(x, TENSOR_PRESERVE, &x));
      OK(tensor_free(x));
      r[0] = of_tensor(x);
      return TENSOR_OK;
    case ARGUMENT:
      r[0] = of_tensor(x);
      return TENSOR_OK;
    case VIEW:
      r[0].kind = TENSOR_VALUE_TENSOR;
      return tensor_detach(x, &r[0].as.tensor);
    case STATUS:
      return (tensor_status)99;
    case RECURSE:
      r[0].kind = TENSOR_VALUE_TENSOR;
      return call("test::misbehave", a, 1, &r[0].as.tensor);
    case REMOVE:
      OK(tensor_remove_operator(self_id));
      r[0].kind = TENSOR_VALUE_TENSOR;
      return tensor_clone(x, TENSOR_PRESERVE, &r[0].as.tensor);
    case DEFINE:
      OK(tensor_define_operator("test::inner(Tensor x) -> Tensor", cube, NULL, NULL, NULL, &other));
      r[0] = of_tensor(call_one("test::inner", x));
      return tensor_remove_operator(other);
    default:
      return TENSOR_OK;
  }
}

static void misdeeds(void) {
  self_id = define("test::misbehave(Tensor x) -> Tensor", misbehave, NULL);
  tensor_t *x = floats((float[]){1, 2, 3}, SIZES + 1, 1), *y = NULL;
  const struct {
    int deed;
    tensor_status status;
    const char *text;
  } all[] = {
      {FAIL, TENSOR_ERROR_LINALG, "the fuse is blown"},
      {FAIL_WITH_RESULT, TENSOR_ERROR_LINALG, "the fuse is blown"},
      {FREE, TENSOR_ERROR_CALLBACK, "test::misbehave: the function freed argument 'x'"},
      {NOTHING, TENSOR_ERROR_CALLBACK, "result 0 is None; a tensor is required"},
      {NUMBER, TENSOR_ERROR_CALLBACK, "result 0 is the int 3; a tensor is required"},
      {DEAD, TENSOR_ERROR_CALLBACK, "result 0 is not a live tensor"},
      {ARGUMENT, TENSOR_ERROR_CALLBACK, "result 0 is the handle of an argument"},
      {VIEW, TENSOR_ERROR_RUNTIME, "result 0 shares memory with an argument"},
      {STATUS, TENSOR_ERROR_RUNTIME, "99, which is not a tensor_status"},
      {RECURSE, TENSOR_ERROR_RUNTIME, "nested too deeply"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const int64_t handles = tensor_live_handles();
    misdeed = all[i].deed;
    FAILS(call("test::misbehave", (tensor_value[]){of_tensor(x)}, 1, &y), all[i].status,
          all[i].text);
    CHECK(!y && tensor_live_handles() == handles && data_of(x)[2] == 3);
  }
  misdeed = DEFINE;
  expect(call_one("test::misbehave", x), (float[]){1, 8, 27}, 3);
  const int before = deleted;
  misdeed = REMOVE;
  expect(call_one("test::misbehave", x), (float[]){1, 2, 3}, 3);
  CHECK(deleted == before + 1);
  FAILS(call("test::misbehave", (tensor_value[]){of_tensor(x)}, 1, &y),
        TENSOR_ERROR_NOT_IMPLEMENTED, "no operator 'test::misbehave'");
  tensor_free(x);
}

// What a function stores as results of two kinds, whatever its schema says.
static tensor_value stored[2];
static tensor_t *copied;  // a live tensor for them

static tensor_status store(void *context, const tensor_value *a, int32_t n, tensor_value *r,
                           int32_t m) {
  (void)context, (void)n;
  for (int32_t i = 0; i < m; i++) {
    r[i] = stored[i];
    if (r[i].kind != TENSOR_VALUE_TENSORS) continue;
    tensor_t **list = calloc(3, sizeof *list);
    for (int64_t k = 0; k < r[i].length && k < 2; k++)
      if (!stored[i].as.tensors) OK(tensor_clone(a[0].as.tensor, TENSOR_PRESERVE, list + k));
    r[i].as.tensors = list;
  }
  if (m && r[0].kind == TENSOR_VALUE_TENSOR && r[0].as.tensor == copied) {
    OK(tensor_clone(copied, TENSOR_PRESERVE, &r[0].as.tensor));
    if (m == 2 && r[1].kind == TENSOR_VALUE_TENSOR) r[1] = r[0];
  }
  return TENSOR_OK;
}

static tensor_status store_batch(void *context, int64_t size, const tensor_value *a, int32_t n,
                                 const bool *batched, tensor_value *r, int32_t m, bool *batched_r) {
  (void)size, (void)batched, (void)batched_r;
  return store(context, a, n, r, m);
}

// Results of another kind than the schema's, from the function, the function for meta tensors and
// the rule of vmap: errors that name the operator and what was returned, without leaks.
static void wrong_results(void) {
  tensor_t *x = floats((float[]){1, 2, 3, 4, 5, 6}, SIZES, 2), *meta, *leaf, *one, *y = NULL;
  tensor_generator_t *generator;
  OK(tensor_default_generator(&generator));
  OK(tensor_empty(SIZES, 2, TENSOR_FLOAT32, TENSOR_STRIDED, (tensor_device){TENSOR_META, -1},
                  TENSOR_CONTIGUOUS, &meta));
  leaf = floats((float[]){1, 2}, SIZES, 1);
  OK(tensor_set_requires_grad(leaf, true));
  copied = x;
  const tensor_value none = {.kind = TENSOR_VALUE_NONE}, live = of_tensor(x);
  const tensor_value half = {.kind = TENSOR_VALUE_FLOAT, .as.f = 0.5};
  const tensor_value yes = {.kind = TENSOR_VALUE_BOOL, .as.b = true};
  const tensor_value list = {.kind = TENSOR_VALUE_TENSORS, .length = 2};
  tensor_value gaps = list;
  gaps.as.tensors = &copied;  // items that are NULL
  tensor_value negative = gaps, huge = gaps;
  negative.length = -1, huge.length = INT64_MAX;
  const struct {
    const char *schema;
    tensor_value results[2];
    const char *text;
  } all[] = {
      {"-> Tensor", {none}, "result 0 is None; a tensor is required"},
      {"-> Tensor", {of_tensor(NULL)}, "result 0 is not a live tensor"},
      {"-> Tensor", {of_tensor((tensor_t *)generator)}, "result 0 is not a live tensor"},
      {"-> Tensor", {half}, "result 0 is the float 0.5; a tensor is required"},
      {"-> Tensor", {list}, "result 0 is a Tensor[] of length 2; a tensor is required"},
      {"-> Tensor",
       {{.kind = (tensor_value_kind)99}},
       "result 0 is a value of the unknown kind 99"},
      {"-> (Tensor, Tensor)", {live, none}, "result 1 is None; a tensor is required"},
      {"-> (Tensor, Tensor)", {live, live}, "result 1 is a handle that was returned already"},
      {"-> (Tensor, int)", {live, yes}, "result 1 is the bool True; int is required"},
      {"-> Tensor[]", {live}, "result 0 is a Tensor; a list of tensors is required"},
      {"-> Tensor[]", {gaps}, "result 0 is not a live tensor"},
      {"-> Tensor[]", {negative}, "result 0 is a list of invalid length"},
      {"-> Tensor[]", {huge}, "result 0 is a list of invalid length"},
      {"-> int", {half}, "result 0 is the float 0.5; int is required"},
      {"-> bool", {of_int(1)}, "result 0 is the int 1; bool is required"},
      {"-> float", {yes}, "result 0 is the bool True; float is required"},
      {"-> Scalar", {live}, "result 0 is a Tensor; Scalar is required"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char schema[80];
    snprintf(schema, sizeof schema, "test::store(Tensor x) %s", all[i].schema);
    memcpy(stored, all[i].results, sizeof stored);
    const bool plain = !strstr(schema, "int") && !strstr(schema, "bool") &&
                       !strstr(schema, "float") && !strstr(schema, "Scalar");
    for (int rule = 0; rule < 2; rule++) {
      const tensor_operator_options options = {.size = sizeof options,
                                               .meta = store,
                                               .vmap = rule ? store_batch : NULL,
                                               .backward = cube_backward};
      const int64_t id = define(schema, store, &options), handles = tensor_live_handles();
      tensor_t *const given[] = {x, meta, leaf};
      for (int k = 0; k < 3; k++) {
        const tensor_value a = of_tensor(given[k]);
        FAILS(call("test::store", &a, 1, &y), TENSOR_ERROR_CALLBACK, all[i].text);
        CHECK(strstr(tensor_last_error(), "test::store: ") == tensor_last_error());
        CHECK(!y && tensor_live_handles() == handles);
      }
      int64_t level;
      OK(tensor_vmap_begin(2, "error", &level));
      OK(tensor_vmap_wrap(x, 0, level, &one));
      const tensor_value a = of_tensor(one);
      if (plain)
        FAILS(call("test::store", &a, 1, &y), TENSOR_ERROR_CALLBACK, all[i].text);
      else
        FAILS(call("test::store", &a, 1, &y), TENSOR_ERROR_NOT_IMPLEMENTED,
              "test::store: inside vmap: results that are not tensors");
      OK(tensor_vmap_end(level));
      OK(tensor_free(one));
      CHECK(!y && tensor_live_handles() == handles);
      OK(tensor_remove_operator(id));
    }
  }
  OK(tensor_generator_free(generator));
  tensor_free(x), tensor_free(meta), tensor_free(leaf);
}

// A backward function that fails, and one that returns a gradient for a number.
static int backward_deed;

static tensor_status bad_backward(void *context, const tensor_value *a, int32_t n,
                                  const tensor_value *r, const tensor_value *gradients, int32_t m,
                                  tensor_value *out) {
  (void)context, (void)n, (void)r, (void)gradients, (void)m;
  switch (backward_deed) {
    case 0:
      tensor_set_last_error("no derivative today");
      return TENSOR_ERROR_CALLBACK;
    case 1:
      out[1].kind = TENSOR_VALUE_TENSOR;
      return tensor_clone(a[0].as.tensor, TENSOR_PRESERVE, &out[1].as.tensor);
    case 2:
      out[0] = of_int(3);
      return TENSOR_OK;
    case 3:
      out[0].kind = TENSOR_VALUE_TENSOR;
      return tensor_zeros((int64_t[]){7}, 1, TENSOR_FLOAT32, TENSOR_STRIDED,
                          tensor_device_default(), &out[0].as.tensor);
    default:
      OK(tensor_free(a[0].as.tensor));
      return TENSOR_OK;
  }
}

static tensor_status copy(void *context, const tensor_value *a, int32_t n, tensor_value *r,
                          int32_t m) {
  (void)context, (void)n, (void)m;
  r[0].kind = TENSOR_VALUE_TENSOR;
  return tensor_clone(a[0].as.tensor, TENSOR_PRESERVE, &r[0].as.tensor);
}

static void backward_misdeeds(void) {
  tensor_operator_options options = {.size = sizeof options, .backward = bad_backward};
  const int64_t id = define("test::bad(Tensor x, int k=1) -> Tensor", copy, &options);
  const int64_t none = define("test::none(Tensor x) -> Tensor", copy, NULL);
  const char *texts[] = {"no derivative today", "the gradient of argument 'k' must be none",
                         "the gradient of argument 'x' is the int 3", "[7]", "freed argument 'x'"};
  for (backward_deed = 0; backward_deed < 5; backward_deed++) {
    const int64_t handles = tensor_live_handles();
    tensor_t *x = floats((float[]){1, 2, 3}, SIZES + 1, 1), *sum;
    OK(tensor_set_requires_grad(x, true));
    tensor_t *y = call_one("test::bad", x);
    OK(tensor_sum(y, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
    const tensor_status status =
        tensor_backward((const tensor_t *[]){sum}, 1, NULL, 0, 1, false, NULL, 0);
    CHECK(status && strstr(tensor_last_error(), texts[backward_deed]));
    tensor_free(x), tensor_free(y), tensor_free(sum);
    CHECK(tensor_live_handles() == handles);
  }
  tensor_t *x = floats((float[]){1, 2, 3}, SIZES + 1, 1), *sum;
  OK(tensor_set_requires_grad(x, true));
  tensor_t *y = call_one("test::none", x);
  OK(tensor_sum(y, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  FAILS(tensor_backward((const tensor_t *[]){sum}, 1, NULL, 0, 1, false, NULL, 0),
        TENSOR_ERROR_NOT_IMPLEMENTED, "test::none: the operator has no backward function");
  // A removed operator stays as long as a graph uses it.
  const int before = deleted;
  OK(tensor_remove_operator(none));
  CHECK(deleted == before);
  tensor_free(x), tensor_free(y), tensor_free(sum);
  CHECK(deleted == before + 1);
  OK(tensor_remove_operator(id));
  OK(tensor_remove_operator(id));
}

// ------------------------------------------------------------------------------- composite

static tensor_status both(void *context, const tensor_value *a, int32_t n, tensor_value *r,
                          int32_t m) {
  (void)context, (void)n, (void)m;
  tensor_t *square;
  tensor_status status = tensor_mul(a[0].as.tensor, a[0].as.tensor, &square);
  if (status) return status;
  r[0].kind = TENSOR_VALUE_TENSOR;
  status = tensor_mul(square, a[0].as.tensor, &r[0].as.tensor);
  tensor_free(square);
  return status;
}

// ------------------------------------------------------------------------------- threads

static atomic_bool stop;

static void *call_often(void *argument) {
  tensor_t *x = floats((float[]){2}, SIZES, 0), *y;
  int *made = argument;
  while (!stop) {
    const tensor_status status = call("test::threaded", (tensor_value[]){of_tensor(x)}, 1, &y);
    if (status)
      CHECK(status == TENSOR_ERROR_NOT_IMPLEMENTED);
    else
      ++*made, expect(y, (float[]){8}, 1);
  }
  tensor_free(x);
  return NULL;
}

static void threads(void) {
  pthread_t all[3];
  int made[3] = {0};
  for (int i = 0; i < 3; i++) CHECK(!pthread_create(all + i, NULL, call_often, made + i));
  const int before = deleted;
  for (int i = 0; i < 300; i++)
    OK(tensor_remove_operator(define("test::threaded(Tensor x) -> Tensor", cube, NULL)));
  const int64_t id = define("test::threaded(Tensor x) -> Tensor", cube, NULL);
  while (!made[0] || !made[1]) {
    tensor_t *x = floats((float[]){2}, SIZES, 0);
    expect(call_one("test::threaded", x), (float[]){8}, 1);
    tensor_free(x);
  }
  stop = true;
  for (int i = 0; i < 3; i++) pthread_join(all[i], NULL);
  OK(tensor_remove_operator(id));
  CHECK(deleted == before + 301);
}

int main(void) {
  tensor_t *warm = floats((float[]){1}, SIZES, 0);
  tensor_free(warm);
  const int64_t handles = tensor_live_handles();
  const tensor_operator_options options = cube_options();
  int64_t id = define("test::cube(Tensor x) -> Tensor", cube, &options);
  schemas();
  defaults();
  views_and_meta();
  derivatives();
  in_vmap();
  in_jvp();
  OK(tensor_remove_operator(id));
  CHECK(deleted == 1);
  tensor_operator_options with_rule = cube_options();
  with_rule.vmap = cube_vmap;
  id = define("test::cube(Tensor x) -> Tensor", cube, &with_rule);
  in_vmap();
  CHECK(rule_calls == 1);
  OK(tensor_remove_operator(id));
  id = define("test::cube(Tensor x) -> Tensor", both,
              &(tensor_operator_options){.size = sizeof options, .composite = true});
  derivatives();
  in_vmap();
  in_jvp();
  OK(tensor_remove_operator(id));
  values();
  mutation();
  misdeeds();
  wrong_results();
  backward_misdeeds();
  threads();
  CHECK(tensor_live_handles() == handles);
  return 0;
}
