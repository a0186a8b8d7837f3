// The default device and the grad mode belong to the thread that sets them: others keep theirs, and
// a thread starts with the CPU and with grad mode on, even if it reuses the record of a thread that
// ended.
#include <pthread.h>

#include "check.h"

enum { THREADS = 8, ROUNDS = 200 };
static const tensor_device NONE = {TENSOR_DEVICE_NONE, -1}, META = {TENSOR_META, -1};
static const int64_t SIZE[] = {2};

static bool grad(void) {
  bool enabled;
  OK(tensor_is_grad_enabled(&enabled));
  return enabled;
}

static tensor_device device(void) {
  tensor_device d;
  OK(tensor_get_default_device(&d));
  return d;
}

// The device of a thread's factory functions without a device argument.
static tensor_device_type put(void) {
  tensor_t *made[4] = {NULL};
  OK(tensor_zeros(SIZE, 1, TENSOR_FLOAT32, TENSOR_STRIDED, NONE, &made[0]));
  OK(tensor_arange(tensor_int(3), TENSOR_FLOAT32, TENSOR_STRIDED, NONE, &made[1]));
  OK(tensor_randn(SIZE, 1, NULL, TENSOR_FLOAT32, TENSOR_STRIDED, NONE, &made[2]));
  OK(tensor_hann_window(4, true, TENSOR_FLOAT32, TENSOR_STRIDED, NONE, &made[3]));
  const tensor_device_type at = (tensor_device_type)tensor_get_device(made[0]).type;
  for (int i = 0; i < 4; i++) {
    CHECK((tensor_device_type)tensor_get_device(made[i]).type == at);
    OK(tensor_free(made[i]));
  }
  return at;
}

// A thread finds the initial modes, and leaves others behind.
static void *begins(void *unused) {
  (void)unused;
  CHECK(device().type == TENSOR_CPU && device().index == -1 && grad() && put() == TENSOR_CPU);
  OK(tensor_set_default_device(META));
  OK(tensor_set_grad_enabled(false));
  CHECK(put() == TENSOR_META && !grad());
  return NULL;
}

// Concurrent threads each see their own settings.
static void *keeps(void *number) {
  const bool mine = *(const int *)number % 2;
  for (int i = 0; i < ROUNDS; i++) {
    OK(tensor_set_default_device(mine ? META : NONE));
    OK(tensor_set_grad_enabled(mine));
    CHECK(put() == (mine ? TENSOR_META : TENSOR_CPU) && grad() == mine);
  }
  return NULL;
}

// Factories with an operand to follow, or with a device argument, ignore the default.
static void follows(void) {
  tensor_t *x = NULL, *t = NULL, *out = NULL;
  tensor_generator_t *g = NULL;
  tensor_storage_t *s = NULL;
  tensor_device d;
  OK(tensor_set_default_device((tensor_device){TENSOR_CPU, 0}));
  CHECK(device().type == TENSOR_CPU && device().index == 0 && put() == TENSOR_CPU);
  OK(tensor_set_default_device(META));
  x = floats((float[]){1, 2}, SIZE, 1);
  CHECK(tensor_get_device(x).type == TENSOR_CPU);
  OK(tensor_zeros_like(x, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, NONE, TENSOR_PRESERVE, &t));
  CHECK(tensor_get_device(t).type == TENSOR_CPU);
  OK(tensor_free(t));
  OK(tensor_new_ones(x, SIZE, 1, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, NONE, &t));
  CHECK(tensor_get_device(t).type == TENSOR_CPU);
  OK(tensor_free(t));
  OK(tensor_to_options(x, TENSOR_FLOAT64, TENSOR_LAYOUT_NONE, NONE, false, false, TENSOR_PRESERVE,
                       &t));
  CHECK(tensor_get_device(t).type == TENSOR_CPU);
  OK(tensor_free(t));
  OK(tensor_ones(SIZE, 1, TENSOR_FLOAT32, TENSOR_STRIDED, (tensor_device){TENSOR_CPU, -1}, &out));
  OK(tensor_zeros_out(SIZE, 1, TENSOR_FLOAT32, TENSOR_STRIDED, NONE, out));
  CHECK(tensor_get_device(out).type == TENSOR_CPU && data_of(out)[0] == 0);
  OK(tensor_zeros(SIZE, 1, TENSOR_FLOAT32, TENSOR_STRIDED, META, &t));
  OK(tensor_set_default_device(NONE));
  OK(tensor_zeros_out(SIZE, 1, TENSOR_FLOAT32, TENSOR_STRIDED, NONE, t));
  CHECK(tensor_get_device(t).type == TENSOR_META);
  OK(tensor_free(t));
  OK(tensor_set_default_device(META));
  OK(tensor_generator_new(NONE, "mt19937", &g));
  OK(tensor_storage_new(8, NONE, &s));
  OK(tensor_storage_get_device(s, &d));
  CHECK(d.type == TENSOR_CPU);
  OK(tensor_set_default_device((tensor_device){TENSOR_CUDA, 1}));
  CHECK(device().type == TENSOR_CUDA && device().index == 1);
  FAILS(tensor_zeros(SIZE, 1, TENSOR_FLOAT32, TENSOR_STRIDED, NONE, &t), TENSOR_ERROR_RUNTIME,
        "zeros: device cuda:1 is not available");
  OK(tensor_set_default_device(NONE));
  CHECK(put() == TENSOR_CPU);
  OK(tensor_generator_free(g));
  OK(tensor_storage_free(s));
  OK(tensor_free(out));
  OK(tensor_free(x));
}

static tensor_dtype product(const tensor_t *a) {
  tensor_t *made = NULL;
  OK(tensor_matmul(a, a, &made));
  const tensor_dtype d = (tensor_dtype)tensor_get_dtype(made);
  OK(tensor_free(made));
  return d;
}

static void *casts_nothing(void *matrix) {
  CHECK(product(matrix) == TENSOR_FLOAT32);
  return NULL;
}

// Under autocast, products run in lower precision and losses in float32, in the thread that enables
// it; a parameter is converted once.
static void casts(void) {
  tensor_t *a = floats((float[]){1, 2, 3, 4}, (int64_t[]){2, 2}, 2), *loss = NULL;
  tensor_dtype d;
  bool on;
  int64_t depth;
  pthread_t other;
  OK(tensor_is_autocast_enabled("cpu", &on));
  OK(tensor_get_autocast_dtype("cpu", &d));
  CHECK(!on && d == TENSOR_BFLOAT16 && product(a) == TENSOR_FLOAT32);
  OK(tensor_set_autocast_enabled("cpu", true));
  OK(tensor_autocast_increment_nesting(&depth));
  OK(tensor_set_requires_grad(a, true));
  CHECK(depth == 1 && product(a) == TENSOR_BFLOAT16 && product(a) == TENSOR_BFLOAT16);
  OK(tensor_set_autocast_dtype("cpu", TENSOR_FLOAT16));
  CHECK(product(a) == TENSOR_FLOAT16);
  OK(tensor_nn_mse_loss(a, a, -1, -1, "mean", NULL, &loss));
  CHECK((tensor_dtype)tensor_get_dtype(loss) == TENSOR_FLOAT32);
  CHECK(!pthread_create(&other, NULL, casts_nothing, a) && !pthread_join(other, NULL));
  OK(tensor_autocast_decrement_nesting(&depth));
  OK(tensor_clear_autocast_cache());
  OK(tensor_set_autocast_dtype("cpu", TENSOR_BFLOAT16));
  OK(tensor_set_autocast_enabled("cpu", false));
  OK(tensor_set_autocast_cache_enabled(true));
  OK(tensor_is_autocast_cache_enabled(&on));
  CHECK(depth == 0 && on && product(a) == TENSOR_FLOAT32);
  FAILS(tensor_set_autocast_enabled("mps", true), TENSOR_ERROR_RUNTIME,
        "autocast is not supported for device type 'mps'");
  FAILS(tensor_set_autocast_dtype("cpu", TENSOR_INT32), TENSOR_ERROR_RUNTIME,
        "dtype must be a floating-point dtype, but is int32");
  FAILS(tensor_set_autocast_dtype("cpu", TENSOR_DTYPE_NONE), TENSOR_ERROR_RUNTIME,
        "dtype must be a floating-point dtype");
  OK(tensor_free(loss));
  OK(tensor_free(a));
}

int main(void) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  CHECK(device().type == TENSOR_CPU && device().index == -1 && grad());
  follows();
  casts();
  OK(tensor_set_grad_enabled(false));
  for (int i = 0; i < 4;
       i++) {  // one after the other: each takes over the record of the one before
    CHECK(pthread_create(&threads[0], NULL, begins, NULL) == 0);
    pthread_join(threads[0], NULL);
    CHECK(device().type == TENSOR_CPU && !grad());
  }
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, keeps, &numbers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK(device().type == TENSOR_CPU && !grad());
  OK(tensor_set_grad_enabled(true));
  CHECK(grad());
  FAILS(tensor_is_grad_enabled(NULL), TENSOR_ERROR_VALUE, "is_grad_enabled");
  CHECK(tensor_live_handles() == 0);
  return 0;
}
