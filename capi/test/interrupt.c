// Interrupt functions, which cancel long calls of their thread, and observers of calls.
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static const int64_t LARGE[] = {3000, 3000}, SMALL[] = {2, 2};

// ------------------------------------------------------------------------------- interruption

static atomic_int asked;
static int patience;

static bool cancel_later(void *context) {
  CHECK(context == &patience);
  return ++asked > patience;
}

static tensor_t *ones(const int64_t *sizes, int64_t dims) {
  tensor_t *t;
  OK(tensor_ones(sizes, dims, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &t));
  return t;
}

static void watch(int calls) {
  asked = 0;
  patience = calls;
  OK(tensor_set_interrupt(cancel_later, &patience, 0));
}

static void cancels(void) {
  tensor_t *x = ones(LARGE, 2), *y = NULL;
  const int64_t handles = tensor_live_handles();
  for (int threads = 1; threads <= 3; threads++) {
    OK(tensor_set_num_threads(threads));
    watch(threads == 1);  // with several threads the caller may have one chunk
    FAILS(tensor_exp(x, &y), TENSOR_ERROR_CANCELLED, "exp: the call was cancelled");
    CHECK(!y && asked == patience + 1 && tensor_live_handles() == handles);
    watch(0);
    FAILS(tensor_matmul(x, x, &y), TENSOR_ERROR_CANCELLED, "the call was cancelled");
    CHECK(!y && tensor_live_handles() == handles);
    watch(0);
    FAILS(tensor_softmax(x, 1, TENSOR_DTYPE_NONE, &y), TENSOR_ERROR_CANCELLED, "cancelled");
    CHECK(!y && tensor_live_handles() == handles);
    // A tensor that is written to stays valid; the next call is not cancelled.
    watch(0);
    FAILS(tensor_add_scalar_(x, tensor_int(1), tensor_int(1)), TENSOR_ERROR_CANCELLED, "add_");
    OK(tensor_set_interrupt(NULL, NULL, 0));
    OK(tensor_fill_scalar_(x, tensor_int(1)));
    OK(tensor_add_scalar(x, tensor_int(1), tensor_int(1), &y));
    CHECK(data_of(y)[0] == 2 && data_of(y)[8999999] == 2);
    tensor_free(y), y = NULL;
  }
  // A call that is not cancelled has the same bits as one without a function.
  tensor_t *plain, *asked_often;
  bool same;
  OK(tensor_exp(x, &plain));
  watch(1 << 30);
  OK(tensor_exp(x, &asked_often));
  CHECK(asked > 1);
  OK(tensor_set_interrupt(NULL, NULL, 0));
  OK(tensor_equal(plain, asked_often, &same));
  CHECK(same);
  tensor_free(plain), tensor_free(asked_often), tensor_free(x);
}

// Small calls complete, and the interval limits how often the function is asked.
static void completes(void) {
  tensor_t *x = ones(SMALL, 2), *y, *z = ones(LARGE, 2);
  watch(0);
  OK(tensor_exp(x, &y));
  tensor_free(y);
  asked = 0;
  patience = 1 << 30;
  OK(tensor_set_interrupt(cancel_later, &patience, 3600000));
  for (int i = 0; i < 3; i++) {
    OK(tensor_exp(z, &y));
    tensor_free(y);
  }
  CHECK(asked == 1);
  OK(tensor_set_interrupt(NULL, NULL, 0));
  FAILS(tensor_set_interrupt(cancel_later, NULL, -1), TENSOR_ERROR_VALUE, "'interval' is -1");
  tensor_free(x), tensor_free(z);
}

// A backward pass stops between nodes.
static void cancels_backward(void) {
  tensor_t *x = ones(SMALL, 2), *y, *next, *grad;
  OK(tensor_set_requires_grad(x, true));
  OK(tensor_mul_scalar(x, tensor_float(1), &y));
  for (int i = 0; i < 100; i++) {
    OK(tensor_sin(y, &next));
    tensor_free(y);
    y = next;
  }
  OK(tensor_sum(y, NULL, 0, false, TENSOR_DTYPE_NONE, &next));
  tensor_free(y);
  watch(50);
  FAILS(tensor_backward((const tensor_t *[]){next}, 1, NULL, 0, 1, false, NULL, 0),
        TENSOR_ERROR_CANCELLED, "backward: the call was cancelled");
  CHECK(asked == 51);
  OK(tensor_set_interrupt(NULL, NULL, 0));
  OK(tensor_grad(x, &grad));
  CHECK(!grad);
  tensor_free(next), tensor_free(x);
}

// The function of a thread does not concern others, and ends with the thread.
static void *compute(void *argument) {
  tensor_t *y;
  CHECK(tensor_exp(argument, &y) == TENSOR_OK);
  tensor_free(y);
  watch(0);
  return tensor_exp(argument, &y) == TENSOR_ERROR_CANCELLED ? argument : NULL;
}

static void concerns_one_thread(void) {
  tensor_t *x = ones(LARGE, 2), *y;
  pthread_t thread;
  void *cancelled;
  CHECK(!pthread_create(&thread, NULL, compute, x) && !pthread_join(thread, &cancelled));
  CHECK(cancelled);
  OK(tensor_exp(x, &y));
  tensor_free(x), tensor_free(y);
}

// -------------------------------------------------------------------------------- observation

static struct {
  char text[2048];
  int begun, ended, deleted;
  int64_t nanoseconds;
  bool calls;
} seen;

static void observe(void *context, const tensor_event *event) {
  CHECK(context == &seen);
  const size_t n = strlen(seen.text);
  char shapes[256] = "";
  int64_t bytes = 0;
  for (int32_t i = 0; i < event->tensor_count; i++) {
    const tensor_event_tensor *t = event->tensors + i;
    const size_t m = strlen(shapes);
    bytes += t->bytes;
    snprintf(shapes + m, sizeof shapes - m, " %s%d:%d", tensor_dtype_name((tensor_dtype)t->dtype),
             (int)t->dim, t->dim ? (int)t->sizes[0] : 0);
  }
  CHECK(bytes == event->bytes && event->time > 0);
  snprintf(seen.text + n, sizeof seen.text - n, "%s%s%s;", event->is_end ? "/" : "", event->name,
           shapes);
  if (event->is_end && event->status)
    snprintf(seen.text + strlen(seen.text), 64, "!%d;", (int)event->status);
  if (event->is_end)
    seen.ended++, seen.nanoseconds += event->nanoseconds;
  else
    seen.begun++;
  if (seen.calls) {
    tensor_t *t = ones(SMALL, 2);
    tensor_free(t);
  }
}

static void note_deleted(void *context) {
  CHECK(context == &seen);
  seen.deleted++;
}

static tensor_status twice(void *context, const tensor_value *a, int32_t n, tensor_value *r,
                           int32_t m) {
  (void)context, (void)n, (void)m;
  r[0].kind = TENSOR_VALUE_TENSOR;
  return tensor_mul_scalar(a[0].as.tensor, tensor_int(2), &r[0].as.tensor);
}

static void expect(const char *text) {
  if (strcmp(seen.text, text)) fprintf(stderr, "%s\n", seen.text);
  CHECK(!strcmp(seen.text, text) && seen.begun == seen.ended);
  *seen.text = 0;
}

static void observes(void) {
  tensor_t *x = ones(SMALL, 2), *y, *list[2];
  OK(tensor_set_observer(observe, &seen, note_deleted));
  OK(tensor_add(x, x, tensor_int(1), &y));
  expect("add float322:2 float322:2;/add float322:2;");
  OK(tensor_add_scalar_(y, tensor_int(1), tensor_int(1)));
  expect("add_ float322:2;/add_ float322:2;");
  tensor_free(y);
  list[0] = list[1] = x;
  OK(tensor_cat((const tensor_t *const *)list, 2, 0, &y));
  expect("cat float322:2 float322:2;/cat float322:4;");
  seen.calls = true;
  CHECK(tensor_matmul(y, y, &list[0]) != TENSOR_OK);
  expect("matmul float322:4 float322:4;/matmul;!1;");
  seen.calls = false;
  tensor_free(y);

  int64_t id;
  tensor_value a = {.kind = TENSOR_VALUE_TENSOR, .as.tensor = x}, r;
  int32_t count = 1;
  OK(tensor_define_operator("observe::twice(Tensor x) -> Tensor", twice, NULL, NULL, NULL, &id));
  OK(tensor_call("observe::twice", &a, NULL, 1, &r, &count, NULL));
  expect("observe::twice float322:2;mul float322:2;/mul float322:2;/observe::twice float322:2;");
  OK(tensor_value_free(&r));
  OK(tensor_remove_operator(id));
  count = 1;  // a composite, and a form that copies a result
  OK(tensor_call("aten::_softmax_backward_data",
                 (tensor_value[]){a,
                                  a,
                                  {.as.i = 0, .kind = TENSOR_VALUE_INT},
                                  {.as.dtype = TENSOR_FLOAT32, .kind = TENSOR_VALUE_DTYPE}},
                 NULL, 4, &r, &count, NULL));
  expect(
      "aten::_softmax_backward_data float322:2 float322:2;/aten::_softmax_backward_data "
      "float322:2;");
  OK(tensor_value_free(&r));
  CHECK(seen.nanoseconds > 0 && !seen.deleted);
  OK(tensor_set_observer(NULL, NULL, NULL));
  CHECK(seen.deleted == 1);
  OK(tensor_exp(x, &y));
  expect("");
  tensor_free(x), tensor_free(y);
}

static void note_event(void *context, const tensor_event *event) {
  if (event->is_end) ++*(int *)context;
}

static void count_deletion(void *context) { *(int *)context += 100; }

// Replaced observers are not called, and their deleters neither, until they are restored.
static void restores_observers(void) {
  int first = 0, second = 0, third = 0;
  int64_t ids[3];
  tensor_t *x = ones(SMALL, 2), *y;
  int *const contexts[] = {&first, &second, &third};
  for (int i = 0; i < 3; i++) {
    OK(tensor_replace_observer(note_event, contexts[i], count_deletion, ids + i));
    OK(tensor_exp(x, &y));
    tensor_free(y);
    CHECK(!ids[i] == (i == 0) && first == 1 && second == (i > 0) && third == (i > 1));
  }
  FAILS(tensor_replace_observer(NULL, NULL, NULL, NULL), TENSOR_ERROR_VALUE,
        "replace_observer: argument 'previous' is NULL");
  FAILS(tensor_restore_observer(ids[2] + 1), TENSOR_ERROR_VALUE, "restore_observer: argument");
  FAILS(tensor_restore_observer(-1), TENSOR_ERROR_VALUE, "'previous' is -1");
  CHECK(third == 1);
  OK(tensor_restore_observer(ids[2]));
  FAILS(tensor_restore_observer(ids[2]), TENSOR_ERROR_VALUE, "was not restored yet");
  CHECK(third == 101 && second == 1);
  OK(tensor_exp(x, &y));
  tensor_free(y);
  CHECK(second == 2 && first == 1);
  OK(tensor_set_observer(NULL, NULL, NULL));  // the replaced one remains
  CHECK(second == 102 && first == 1);
  OK(tensor_restore_observer(ids[1]));
  OK(tensor_exp(x, &y));
  tensor_free(y);
  CHECK(first == 2);
  OK(tensor_restore_observer(ids[0]));
  CHECK(first == 102);
  tensor_free(x);
}

int main(void) {
  tensor_t *warm = ones(SMALL, 2);
  tensor_free(warm);
  const int64_t handles = tensor_live_handles();
  cancels();
  completes();
  cancels_backward();
  concerns_one_thread();
  observes();
  restores_observers();
  CHECK(tensor_live_handles() == handles);
  return 0;
}
