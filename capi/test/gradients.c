// Gradients from C: leaves, backward passes, graphs that are freed with their last handle, errors.
#include "check.h"

static const int64_t SIZE[] = {3};

static bool near(float a, float b) { return a > b * 0.99999f && a < b * 1.00001f; }

static int64_t in_use(void) {
  int64_t used, other[5];
  OK(tensor_memory_stats(&used, other, other + 1, other + 2, other + 3, other + 4));
  return used;
}

static tensor_t *leaf(void) {
  tensor_t *x = floats((const float[]){1, 2, 3}, SIZE, 1);
  OK(tensor_set_requires_grad(x, true));
  return x;
}

// sum(exp(x * x))
static tensor_t *loss(const tensor_t *x) {
  tensor_t *square, *power, *sum;
  OK(tensor_mul(x, x, &square));
  OK(tensor_exp(square, &power));
  OK(tensor_sum(power, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  tensor_free(square), tensor_free(power);
  return sum;
}

static void run(const tensor_t *y, bool retain) {
  OK(tensor_backward(&y, 1, NULL, 0, retain, false, NULL, 0));
}

static void values(void) {
  tensor_t *x = leaf(), *y = loss(x), *grad = NULL;
  bool is;
  char *name;
  OK(tensor_grad(x, &grad));
  CHECK(grad == NULL);
  OK(tensor_is_leaf(x, &is));
  CHECK(is);
  OK(tensor_requires_grad(y, &is));
  CHECK(is);
  OK(tensor_grad_fn_name(y, &name));
  CHECK(strcmp(name, "SumBackward0") == 0);
  tensor_string_free(name);
  run(y, true);
  run(y, false);
  OK(tensor_grad(x, &grad));
  for (int i = 0; i < 3; i++) {
    const float powers[] = {2.718281828f, 54.59815003f, 8103.083928f};
    CHECK(near(data_of(grad)[i], 4 * (float)(i + 1) * powers[i]));
  }
  FAILS(tensor_backward((const tensor_t *[]){y}, 1, NULL, 0, -1, false, NULL, 0),
        TENSOR_ERROR_RUNTIME, "Trying to backward through the graph a second time");
  tensor_free(grad), tensor_free(x), tensor_free(y);
}

// The second derivative of x * x * x is 6 * x.
static void again(void) {
  tensor_t *x = leaf(), *square, *cube, *sum, **first, **second;
  int64_t n;
  OK(tensor_mul(x, x, &square));
  OK(tensor_mul(square, x, &cube));
  OK(tensor_sum(cube, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  const tensor_t *of = sum, *to = x;
  OK(tensor_autograd_grad(&of, 1, &to, 1, NULL, 0, -1, true, false, false, &first, &n));
  CHECK(n == 1 && near(data_of(first[0])[1], 12));
  tensor_free(sum);
  OK(tensor_sum(first[0], NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  of = sum;
  OK(tensor_autograd_grad(&of, 1, &to, 1, NULL, 0, -1, false, false, false, &second, &n));
  CHECK(near(data_of(second[0])[2], 18));
  tensor_list_free(first, 1), tensor_list_free(second, 1);
  tensor_free(sum), tensor_free(cube), tensor_free(square), tensor_free(x);
}

static void rejections(void) {
  tensor_t *x = leaf(), *y = loss(x), *made = NULL,
           *plain = floats((const float[]){7}, (const int64_t[]){1}, 1);
  FAILS(tensor_add_scalar_(x, tensor_int(1), tensor_int(1)), TENSOR_ERROR_RUNTIME,
        "a leaf Variable that requires grad is being used in an in-place operation");
  FAILS(tensor_exp_out(x, plain), TENSOR_ERROR_RUNTIME, "don't support automatic differentiation");
  OK(tensor_set_grad_enabled(false));
  OK(tensor_add_scalar_(x, tensor_int(1), tensor_int(1)));
  OK(tensor_set_grad_enabled(true));
  FAILS(tensor_backward((const tensor_t *[]){y}, 1, NULL, 0, -1, false, NULL, 0),
        TENSOR_ERROR_RUNTIME, "is at version 1; expected version 0");
  OK(tensor_grad(x, &made));
  CHECK(made == NULL);
  tensor_free(x), tensor_free(y), tensor_free(plain);
}

// A graph without a backward pass is freed with its last handle, before the next call.
static void freeing(void) {
  const int64_t size[] = {1000, 1000};
  tensor_t *x, *y, *z;
  OK(tensor_ones(size, 2, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &x));
  OK(tensor_set_requires_grad(x, true));
  OK(tensor_exp(x, &y));
  OK(tensor_sum(y, NULL, 0, false, TENSOR_DTYPE_NONE, &z));
  tensor_free(y);
  const int64_t with = in_use();
  tensor_free(z);
  CHECK(in_use() <= with - 4 * 1000 * 1000);
  tensor_free(x);
}

int main(void) {
  values(), again(), rejections(), freeing();
  const int64_t before = in_use();
  for (int i = 0; i < 20; i++) values(), again(), rejections(), freeing();
  CHECK(in_use() <= before + (1 << 16));
  return 0;
}
