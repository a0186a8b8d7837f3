// Warnings: each kind, how often it is reported, that a call whose warning the handler rejects
// changes nothing, and which handler receives it on which thread.
#include <pthread.h>

#include "check.h"

static const int64_t TWO[] = {2};

typedef struct {
  int heard, deleted;
  tensor_status answer;
  char kind[64], message[512];
  pthread_t thread;
  tensor_t *used;  // the handler calls the library with it
} ear;

static tensor_status hear(void *context, const char *kind, const char *message) {
  ear *e = context;
  e->heard++;
  e->thread = pthread_self();
  snprintf(e->kind, sizeof e->kind, "%s", kind);
  snprintf(e->message, sizeof e->message, "%s", message);
  if (e->used) {
    tensor_t *made;
    OK(tensor_mul_scalar(e->used, tensor_float(2), &made));
    OK(tensor_set_grad_enabled(false));
    tensor_free(made);
  }
  if (e->answer) tensor_set_last_error("not today");
  return e->answer;
}

static void delete(void *context) { ((ear *)context)->deleted++; }

static tensor_t *ones(int64_t n) {
  tensor_t *t;
  OK(tensor_ones(&n, 1, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, tensor_device_default(), &t));
  return t;
}

static tensor_t *complexes(void) {
  tensor_t *t;
  OK(tensor_full(TWO, 1, tensor_complex(1, 2), TENSOR_COMPLEX64, TENSOR_LAYOUT_NONE,
                 tensor_device_default(), &t));
  return t;
}

static tensor_status cast(const tensor_t *t) {
  tensor_t *made;
  const tensor_status status =
      tensor_to_options(t, TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, tensor_device_default(), false,
                        false, TENSOR_PRESERVE, &made);
  if (!status) tensor_free(made);
  return status;
}

// The warning is reported each time, with the operator. If the handler rejects it, out is
// unchanged.
static void resized(void) {
  ear e = {0};
  tensor_t *x = ones(3), *out = floats((const float[]){7, 8}, TWO, 1), *empty = ones(0);
  OK(tensor_add_out(x, x, tensor_int(1), out));
  CHECK(tensor_sizes(out)[0] == 3);
  tensor_free(out);

  OK(tensor_set_warning_handler(hear, &e, delete));
  out = floats((const float[]){7, 8}, TWO, 1);
  e.answer = TENSOR_ERROR_VALUE;
  const int64_t handles = tensor_live_handles();
  FAILS(tensor_add_out(x, x, tensor_int(1), out), TENSOR_ERROR_VALUE, "not today");
  CHECK(e.heard == 1 && !strcmp(e.kind, "out_resized") && strstr(e.message, "add: ") == e.message);
  CHECK(strstr(e.message, "[2]") && strstr(e.message, "[3]"));
  CHECK(tensor_sizes(out)[0] == 2 && data_of(out)[0] == 7 && data_of(out)[1] == 8);
  CHECK(tensor_live_handles() == handles);

  // Of several outputs none has changed where any is rejected.
  tensor_t *values = ones(3), *indices;
  OK(tensor_full(TWO, 1, tensor_int(5), TENSOR_INT64, TENSOR_LAYOUT_NONE, tensor_device_default(),
                 &indices));
  FAILS(tensor_sort_out(x, -1, false, values, indices), TENSOR_ERROR_VALUE, "not today");
  FAILS(tensor_sort_out(x, -1, false, out, indices), TENSOR_ERROR_VALUE, "not today");
  CHECK(tensor_sizes(values)[0] == 3 && tensor_sizes(indices)[0] == 2 && tensor_sizes(out)[0] == 2);
  CHECK(e.heard == 3 && data_of(out)[0] == 7);

  e.answer = TENSOR_OK;
  OK(tensor_add_out(x, x, tensor_int(1), empty));
  CHECK(e.heard == 3);
  OK(tensor_add_out(x, x, tensor_int(1), out));
  CHECK(e.heard == 4 && tensor_sizes(out)[0] == 3 && data_of(out)[2] == 2);

  // A call that is rejected for itself does not warn.
  tensor_t *wrong = ones(5);
  FAILS(tensor_add_out(x, wrong, tensor_int(1), out), TENSOR_ERROR_RUNTIME, "add");
  CHECK(e.heard == 4);
  OK(tensor_set_warning_handler(NULL, NULL, NULL));
  CHECK(e.deleted == 1);
  OK(tensor_add_out(wrong, wrong, tensor_int(1), out));
  CHECK(e.heard == 4);
  tensor_t *all[] = {x, out, empty, values, indices, wrong};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_free(all[i]);
}

// A warning that is reported once is reported once per process, except if the handler rejects it;
// with warn-always it is reported every time.
static void once(void) {
  ear e = {.answer = TENSOR_ERROR_CALLBACK};
  tensor_t *z = complexes(), *x = ones(2);
  OK(cast(z));  // without a handler it does not count as reported
  OK(tensor_set_warning_handler(hear, &e, delete));
  FAILS(cast(z), TENSOR_ERROR_CALLBACK, "not today");
  FAILS(tensor_copy_(x, z, false), TENSOR_ERROR_CALLBACK, "not today");
  CHECK(e.heard == 2 && !strcmp(e.kind, "complex_to_real") && data_of(x)[0] == 1);
  e.answer = TENSOR_OK;
  OK(cast(z));
  OK(cast(z));
  OK(tensor_copy_(x, z, false));
  CHECK(e.heard == 3);
  bool always;
  OK(tensor_is_warn_always_enabled(&always));
  CHECK(!always);
  OK(tensor_set_warn_always(true));
  OK(cast(z));
  OK(cast(z));
  CHECK(e.heard == 5);
  OK(tensor_set_warn_always(false));
  OK(cast(z));
  CHECK(e.heard == 5);
  OK(tensor_set_warning_handler(NULL, NULL, NULL));
  tensor_free(z);
  tensor_free(x);
}

// The handler may call the library; the modes that it sets are its own.
static void within(void) {
  tensor_t *x = ones(1), *made;
  ear e = {.used = x};
  OK(tensor_set_warning_handler(hear, &e, NULL));
  OK(tensor_std_correction(x, NULL, 0, tensor_int(1), false, &made));
  CHECK(e.heard == 1 && !strcmp(e.kind, "degrees_of_freedom"));
  bool grad;
  OK(tensor_is_grad_enabled(&grad));
  CHECK(grad);
  OK(tensor_set_warning_handler(NULL, NULL, NULL));
  tensor_free(made);
  tensor_free(x);
}

static tensor_status endless(void *context, const char *kind, const char *message) {
  (void)kind, (void)message;
  ++*(int *)context;
  tensor_t *x = ones(1), *made;
  const tensor_status status = tensor_std_correction(x, NULL, 0, tensor_int(1), false, &made);
  tensor_free(x);
  if (!status) tensor_free(made);
  return status;
}

static tensor_status replaces(void *context, const char *kind, const char *message) {
  (void)kind, (void)message;
  ear *e = context;
  OK(tensor_set_warning_handler(NULL, NULL, NULL));
  CHECK(!e->deleted);
  e->heard++;
  return TENSOR_OK;
}

// A handler that causes its own warning ends with an error, and a removed one is kept until it
// returns.
static void nested(void) {
  int depth = 0;
  ear e = {0};
  tensor_t *x = ones(1), *made;
  OK(tensor_set_warning_handler(endless, &depth, NULL));
  FAILS(tensor_std_correction(x, NULL, 0, tensor_int(1), false, &made), TENSOR_ERROR_RUNTIME,
        "nested too deeply");
  CHECK(depth > 1);
  OK(tensor_set_warning_handler(replaces, &e, delete));
  OK(tensor_std_correction(x, NULL, 0, tensor_int(1), false, &made));
  CHECK(e.heard == 1 && e.deleted == 1);
  tensor_free(made);
  tensor_free(x);
}

static void *call(void *context) {
  ear *e = context;
  tensor_t *x = ones(3), *out = ones(2);
  OK(tensor_add_out(x, x, tensor_int(1), out));
  CHECK(pthread_equal(e->thread, pthread_self()));
  tensor_free(x);
  tensor_free(out);
  return NULL;
}

static void threads(void) {
  ear e = {0};
  pthread_t other;
  OK(tensor_set_warning_handler(hear, &e, NULL));
  CHECK(!pthread_create(&other, NULL, call, &e) && !pthread_join(other, NULL));
  call(&e);
  CHECK(e.heard == 2);
  OK(tensor_set_warning_handler(NULL, NULL, NULL));
}

int main(void) {
  const int64_t handles = tensor_live_handles();
  resized();
  once();
  within();
  nested();
  threads();
  CHECK(tensor_live_handles() == handles);
  return 0;
}
