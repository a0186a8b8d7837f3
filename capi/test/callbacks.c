// Callbacks during a backward pass: hooks, custom functions, saved-tensor hooks, and anomaly mode;
// who frees what, and the state after an error in them.
#include <pthread.h>

#include "check.h"

static const int64_t SIZE[] = {3};

static tensor_t *leaf(void) {
  tensor_t *x = floats((const float[]){1, 2, 3}, SIZE, 1);
  OK(tensor_set_requires_grad(x, true));
  return x;
}

static tensor_t *twice(const tensor_t *x) {
  tensor_t *y;
  OK(tensor_mul_scalar(x, tensor_float(2), &y));
  return y;
}

static tensor_status run(const tensor_t *y) {
  tensor_t *sum;
  OK(tensor_sum(y, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  tensor_status status = tensor_backward((const tensor_t *[]){sum}, 1, NULL, 0, 1, false, NULL, 0);
  tensor_free(sum);
  return status;
}

static float grad_of(const tensor_t *x) {
  tensor_t *grad;
  OK(tensor_grad(x, &grad));
  const float first = grad ? data_of(grad)[0] : 0;
  tensor_free(grad);
  return first;
}

typedef struct {
  int calls, dropped;
  float times;
  tensor_t *kept;
} note;

static void drop(void *context) { ((note *)context)->dropped++; }

static tensor_status scale(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                           int64_t made_len) {
  note *n = context;
  n->calls++;
  CHECK(given_len == 1 && made_len == 1 && tensor_numel(given[0]) == 3);
  bool recorded;
  OK(tensor_is_grad_enabled(&recorded));
  CHECK(!recorded);
  return tensor_mul_scalar(given[0], tensor_float(n->times), made);
}

static tensor_status keep(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                          int64_t made_len) {
  note *n = context;
  (void)made;
  CHECK(given_len == 1 && made_len == 0);
  n->kept = given[0];
  given[0] = NULL;
  return TENSOR_OK;
}

static tensor_status fail(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                          int64_t made_len) {
  (void)context, (void)given, (void)given_len, (void)made, (void)made_len;
  tensor_set_last_error("no gradients today");
  return TENSOR_ERROR_VALUE;
}

static tensor_status foreign(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                             int64_t made_len) {
  (void)given, (void)given_len, (void)made_len;
  made[0] = context;
  return TENSOR_OK;
}

static void hooks(void) {
  note ten = {.times = 10}, three = {.times = 3}, last = {0};
  int64_t number, other;
  tensor_t *x = leaf(), *y = twice(x);
  OK(tensor_register_hook(y, scale, &ten, drop, &number));
  OK(tensor_register_hook(x, scale, &three, drop, &other));
  OK(tensor_register_post_accumulate_grad_hook(x, keep, &last, drop, &other));
  OK(run(y));
  CHECK(ten.calls == 1 && three.calls == 1 && grad_of(x) == 60);
  CHECK(last.kept && grad_of(last.kept) == 60);
  tensor_free(last.kept);
  OK(tensor_remove_hook(number));
  OK(tensor_remove_hook(number));
  CHECK(ten.dropped == 1);
  OK(run(y));
  CHECK(grad_of(x) == 66);
  tensor_free(last.kept);
  OK(tensor_register_hook(y, fail, &ten, drop, &number));
  FAILS(run(y), TENSOR_ERROR_VALUE, "no gradients today");
  OK(tensor_remove_hook(number));
  OK(tensor_register_hook(y, foreign, &ten, drop, &number));
  FAILS(run(y), TENSOR_ERROR_TYPE, "returned a value that is not a live tensor");
  FAILS(tensor_register_hook(y, NULL, &ten, drop, &number), TENSOR_ERROR_VALUE,
        "register_hook: argument 'hook' is NULL");
  CHECK(ten.dropped == 2 && three.dropped == 0 && grad_of(x) == 66);
  tensor_free(y), tensor_free(x);
  CHECK(ten.dropped == 3 && three.dropped == 1 && last.dropped == 1);
}

static tensor_status together(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                              int64_t made_len) {
  note *n = context;
  (void)made;
  CHECK(given_len == 2 && made_len == 0 && given[0] && data_of(given[0])[0] == 2);
  n->calls++;
  n->times = given[1] ? data_of(given[1])[0] : -1;
  return TENSOR_OK;
}

// A hook on several tensors is called once in a backward pass, with the gradients of those that it
// reaches.
static void several(void) {
  note n = {0};
  int64_t number;
  tensor_t *x = leaf(), *y = twice(x), *z = twice(y);
  const tensor_t *both[] = {y, z};
  FAILS(tensor_register_multi_grad_hook(both, 2, false, NULL, &n, drop, &number),
        TENSOR_ERROR_VALUE, "register_multi_grad_hook: argument 'hook' is NULL");
  OK(tensor_register_multi_grad_hook(both, 2, false, together, &n, drop, &number));
  OK(run(z));
  CHECK(n.calls == 1 && n.times == 1);
  tensor_free(z);
  tensor_t *w = twice(y);
  OK(run(w));
  CHECK(n.calls == 2 && n.times == -1 && !n.dropped);
  OK(tensor_remove_hook(number));
  CHECK(n.dropped == 1);
  OK(tensor_remove_hook(number));
  OK(tensor_register_multi_grad_hook(both, 1, true, fail, &n, drop, &number));
  FAILS(run(w), TENSOR_ERROR_VALUE, "no gradients today");
  tensor_free(w), tensor_free(y), tensor_free(x);
  CHECK(n.dropped == 2);
}

static void nodes(void) {
  tensor_t *x = leaf(), *y = twice(x), *same;
  tensor_node_t *node, *weak, *next;
  int64_t id, id_of_weak, count, output;
  char *name;
  note n = {0};
  void *context;
  OK(tensor_grad_fn(x, &node));
  CHECK(!node);
  OK(tensor_grad_fn(y, &node));
  OK(tensor_node_weak(node, &weak));
  OK(tensor_node_id(node, &id));
  OK(tensor_node_id(weak, &id_of_weak));
  OK(tensor_node_edges(node, &count));
  CHECK(id == id_of_weak && count == 2);
  OK(tensor_node_edge(node, 0, &next, &output));
  OK(tensor_node_name(next, &name));
  CHECK(strcmp(name, "AccumulateGrad") == 0 && output == 0);
  tensor_string_free(name);
  OK(tensor_node_variable(next, &same));
  bool wanted;
  OK(tensor_requires_grad(same, &wanted));
  CHECK(wanted && data_of(same) == data_of(x));
  tensor_free(same), tensor_node_free(next);
  OK(tensor_node_edge(node, 1, &next, &output));
  CHECK(!next);
  FAILS(tensor_node_edge(node, 2, &next, &output), TENSOR_ERROR_INDEX,
        "operand 2 of MulBackward0 is out of range: it has 2");
  OK(tensor_node_set_context(node, &n, drop));
  OK(tensor_node_context(weak, &context));
  CHECK(context == &n);
  FAILS(tensor_node_name((tensor_node_t *)x, &name), TENSOR_ERROR_HANDLE,
        "is a tensor; a node is required");
  tensor_free(y);
  CHECK(!n.dropped);
  tensor_node_free(node);
  CHECK(n.dropped == 1);
  FAILS(tensor_node_name(weak, &name), TENSOR_ERROR_RUNTIME, "the node MulBackward0 was freed");
  tensor_node_free(weak), tensor_free(x);
}

// The gradient of a square, from the tensor that it saved.
static tensor_status of_square(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                               int64_t made_len) {
  tensor_node_t *node = *(tensor_node_t **)context;
  tensor_t **saved, *product;
  int64_t n;
  CHECK(given_len == 1 && made_len == 1);
  OK(tensor_node_saved(node, &saved, &n));
  CHECK(n == 1);
  OK(tensor_mul(given[0], saved[0], &product));
  tensor_status status = tensor_mul_scalar(product, tensor_float(2), made);
  tensor_free(product), tensor_list_free(saved, n);
  return status;
}

static int functions_dropped;
static void drop_function(void *context) { (void)context, functions_dropped++; }

static void functions(void) {
  static tensor_node_t *node;
  tensor_node_t *handle;
  tensor_t *x = leaf(), *y;
  functions_dropped = 0;
  OK(tensor_set_grad_enabled(false));
  OK(tensor_mul(x, x, &y));
  OK(tensor_set_grad_enabled(true));
  const tensor_t *in = x, *out = y, *kept = x;
  OK(tensor_record_function("SquareBackward", &in, 1, &out, 1, NULL, 0, &kept, 1, true, of_square,
                            &node, drop_function, &handle));
  OK(tensor_node_weak(handle, &node));
  tensor_node_free(handle);
  OK(run(y));
  CHECK(grad_of(x) == 2);
  // Recorded, it can be differentiated again.
  tensor_t *sum, **first, **second;
  int64_t n;
  OK(tensor_sum(y, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  const tensor_t *of = sum;
  OK(tensor_autograd_grad(&of, 1, &in, 1, NULL, 0, -1, true, false, false, &first, &n));
  tensor_free(sum);
  OK(tensor_sum(first[0], NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  of = sum;
  OK(tensor_autograd_grad(&of, 1, &in, 1, NULL, 0, -1, false, false, false, &second, &n));
  CHECK(data_of(second[0])[1] == 2);
  tensor_list_free(first, 1), tensor_list_free(second, 1), tensor_free(sum);
  CHECK(!functions_dropped);
  tensor_free(y);
  CHECK(functions_dropped == 1);
  tensor_node_free(node);
  // Without recording there is no node, and the context is freed at once.
  tensor_t *plain = floats((const float[]){1, 2, 3}, SIZE, 1);
  in = plain, out = plain;
  OK(tensor_record_function("F", &in, 1, &out, 1, NULL, 0, NULL, 0, true, of_square, NULL,
                            drop_function, &handle));
  CHECK(!handle && functions_dropped == 2);
  in = x, out = x;
  FAILS(tensor_record_function("F", &in, 1, &out, 1, NULL, 0, NULL, 0, true, of_square, NULL,
                               drop_function, &handle),
        TENSOR_ERROR_RUNTIME, "F: a leaf Variable that requires grad");
  CHECK(functions_dropped == 2);
  tensor_free(plain), tensor_free(x);
}

// The gradient of an identity.
static tensor_status same(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                          int64_t made_len) {
  (void)context;
  CHECK(given_len == 1 && made_len == 1);
  return tensor_mul_scalar(given[0], tensor_float(1), made);
}

// The contexts of callbacks are released with the last handle, without a further call.
static void endings(void) {
  tensor_node_t *handle;
  for (int runs = 0; runs < 2; runs++) {
    tensor_t *x = leaf(), *y = floats((const float[]){1, 2, 3}, SIZE, 1);
    const tensor_t *in = x, *out = y;
    functions_dropped = 0;
    OK(tensor_record_function("SameBackward", &in, 1, &out, 1, NULL, 0, NULL, 0, true, same, NULL,
                              drop_function, &handle));
    if (runs) OK(run(y));
    tensor_node_free(handle), tensor_free(x);
    CHECK(!functions_dropped);
    tensor_free(y);
    CHECK(functions_dropped == 1);
  }
  // A tensor that becomes part of a graph by a write to it, or to a view of it, while it has a
  // handle.
  tensor_t *x = leaf(), *written, *part;
  const tensor_t *in = x;
  for (int view = 0; view < 2; view++) {
    written = floats((const float[]){0, 0, 0}, SIZE, 1);
    OK(tensor_select(written, 0, 0, &part));
    tensor_t *y = floats((const float[]){1, 2, 3}, SIZE, 1), *sum;
    const tensor_t *out = y;
    functions_dropped = 0;
    OK(tensor_record_function("SameBackward", &in, 1, &out, 1, NULL, 0, NULL, 0, true, same, NULL,
                              drop_function, &handle));
    OK(tensor_sum(y, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
    OK(tensor_add_(view ? part : written, sum, tensor_int(1)));
    tensor_node_free(handle), tensor_free(y), tensor_free(sum), tensor_free(part);
    CHECK(!functions_dropped);
    tensor_free(written);
    CHECK(functions_dropped == 1);
  }
  tensor_free(x);
}

// Positions of outputs without a gradient must be positions of outputs.
static void constants(void) {
  tensor_t *x = leaf(), *y = floats((const float[]){1, 2, 3}, SIZE, 1);
  const tensor_t *in = x, *out = y;
  tensor_node_t *handle;
  functions_dropped = 0;
  const struct {
    int64_t position;
    const char *told;
  } bad[] = {{5, "5"}, {1, "1"}, {-1, "-1"}, {INT64_MIN, "-9223372036854775808"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[120];
    const int64_t list[] = {0, bad[i].position};
    snprintf(text, sizeof text, "constant[1] is %s, which is out of range for 1 outputs",
             bad[i].told);
    FAILS(tensor_record_function("F", &in, 1, &out, 1, list, 2, NULL, 0, true, same, NULL,
                                 drop_function, &handle),
          TENSOR_ERROR_INDEX, text);
    FAILS(tensor_record_function("F", &out, 1, &out, 1, list, 2, NULL, 0, true, same, NULL,
                                 drop_function, &handle),
          TENSOR_ERROR_INDEX, text);
  }
  bool wanted;
  OK(tensor_requires_grad(y, &wanted));
  CHECK(!wanted && !functions_dropped);
  OK(tensor_record_function("F", &in, 1, &out, 1, (const int64_t[]){0}, 1, NULL, 0, true, same,
                            NULL, drop_function, &handle));
  OK(tensor_requires_grad(y, &wanted));
  CHECK(!wanted);
  tensor_node_free(handle), tensor_free(x), tensor_free(y);
  CHECK(functions_dropped == 1);
}

static int packed_now, savers_dropped;
static void drop_packed(void *packed) { tensor_free(packed), packed_now--; }
static void drop_savers(void *context) { (void)context, savers_dropped++; }

static tensor_status pack(void *context, tensor_t **saved, void **packed) {
  (void)context;
  *packed = *saved;
  *saved = NULL;
  packed_now++;
  return TENSOR_OK;
}

static tensor_status unpack(void *context, void *packed, tensor_t **made) {
  (void)context;
  return tensor_mul_scalar(packed, tensor_float(100), made);
}

static void saving(void) {
  tensor_t *x = leaf(), *y;
  savers_dropped = 0;
  OK(tensor_push_saved_tensors_hooks(pack, unpack, drop_packed, NULL, drop_savers));
  OK(tensor_mul(x, x, &y));
  OK(tensor_pop_saved_tensors_hooks());
  CHECK(packed_now == 2 && !savers_dropped);
  OK(run(y));
  CHECK(grad_of(x) == 200);
  tensor_free(y);
  CHECK(packed_now == 0 && savers_dropped == 1);
  FAILS(tensor_pop_saved_tensors_hooks(), TENSOR_ERROR_RUNTIME,
        "no saved-tensor hooks are active on this thread");
  tensor_free(x);
}

// The tensors that an operation saved have names, hooks can be set on them later, and their
// derivatives can be requested.
static void opened(void) {
  tensor_t *x = leaf(), *y, **list;
  tensor_node_t *node;
  int64_t n;
  char *names;
  savers_dropped = 0;
  OK(tensor_mul(x, x, &y));
  OK(tensor_grad_fn(y, &node));
  OK(tensor_node_saved_names(node, &names));
  CHECK(!strcmp(names, "other self"));
  tensor_string_free(names);
  OK(tensor_node_saved_as(node, "self", &list, &n));
  CHECK(n == 1 && data_of(list[0]) == data_of(x));
  tensor_list_free(list, n);
  OK(tensor_node_saved_as(node, "result", &list, &n));
  CHECK(n == 0);
  tensor_list_free(list, n);
  OK(tensor_node_pack_saved(node, "self", 0, pack, unpack, drop_packed, NULL, drop_savers));
  FAILS(tensor_node_pack_saved(node, "self", 0, pack, unpack, drop_packed, NULL, drop_savers),
        TENSOR_ERROR_RUNTIME, "whose hooks have already been set");
  FAILS(tensor_node_pack_saved(node, "self", 1, pack, unpack, drop_packed, NULL, drop_savers),
        TENSOR_ERROR_INDEX, "index 1 is out of range: MulBackward0 saved 1 tensors as self");
  CHECK(packed_now == 1 && !savers_dropped);
  tensor_t *grad = floats((const float[]){1, 1, 1}, SIZE, 1);
  const tensor_t *given = grad;
  OK(tensor_node_call(node, &given, 1, &list, &n));
  CHECK(n == 2 && data_of(list[0])[1] == 2 && data_of(list[1])[1] == 200);
  tensor_list_free(list, n);
  FAILS(tensor_node_call(node, NULL, 0, &list, &n), TENSOR_ERROR_TYPE, "one for each result");
  tensor_node_free(node), tensor_free(y), tensor_free(grad), tensor_free(x);
  CHECK(packed_now == 0 && savers_dropped == 1);
}

// The memory that a backward pass would read and write: each storage once, as far as the pass goes.
static void footprints(void) {
  tensor_t *x = leaf(), *w = leaf(), *square, *product, *sum, **list;
  int64_t n;
  OK(tensor_mul(x, x, &square));
  OK(tensor_mul(square, w, &product));
  OK(tensor_sum(product, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  const tensor_t *output = sum, *input = w;
  OK(tensor_graph_reads(&output, 1, NULL, 0, &list, &n));
  CHECK(n == 3);
  tensor_list_free(list, n);
  OK(tensor_graph_reads(&output, 1, &input, 1, &list, &n));
  CHECK(n == 2);
  tensor_list_free(list, n);
  OK(tensor_graph_writes(&output, 1, NULL, 0, false, &list, &n));
  CHECK(n == 0);
  tensor_list_free(list, n);
  OK(tensor_backward(&output, 1, NULL, 0, 1, false, NULL, 0));
  OK(tensor_graph_writes(&output, 1, &input, 1, false, &list, &n));
  tensor_t *grad;
  OK(tensor_grad(w, &grad));
  CHECK(n == 1 && data_of(list[0]) == data_of(grad));
  tensor_free(grad), tensor_list_free(list, n);
  OK(tensor_graph_writes(&output, 1, &input, 1, true, &list, &n));
  CHECK(n == 0);
  tensor_list_free(list, n);
  output = grad = floats((const float[]){1, 1, 1}, SIZE, 1);
  FAILS(tensor_graph_reads(&output, 1, NULL, 0, &list, &n), TENSOR_ERROR_RUNTIME,
        "does not require grad");
  tensor_free(grad), tensor_free(sum), tensor_free(product), tensor_free(square);
  tensor_free(w), tensor_free(x);
}

typedef struct {
  int recorded, failed;
  char last[32];
} watched;

static void watch(void *context, tensor_node_t *node, bool failed) {
  watched *w = context;
  char *name;
  OK(tensor_node_name(node, &name));
  snprintf(w->last, sizeof w->last, "%s", name);
  tensor_string_free(name);
  *(failed ? &w->failed : &w->recorded) += 1;
}

static void anomalies(void) {
  watched w = {0};
  tensor_t *x = floats((const float[]){-1, 0, 1}, SIZE, 1), *y;
  OK(tensor_set_requires_grad(x, true));
  OK(tensor_set_anomaly_watcher(watch, &w));
  OK(tensor_set_detect_anomaly(true, true));
  OK(tensor_sqrt(x, &y));
  CHECK(w.recorded == 1 && !w.failed);
  FAILS(run(y), TENSOR_ERROR_RUNTIME,
        "Function 'SqrtBackward0' returned nan values in its 0th output.");
  CHECK(w.failed == 1 && strcmp(w.last, "SqrtBackward0") == 0);
  OK(tensor_set_detect_anomaly(false, true));
  OK(tensor_set_anomaly_watcher(NULL, NULL));
  OK(run(y));
  CHECK(w.failed == 1);
  tensor_free(x), tensor_free(y);
}

// Contexts are the program's own: any number will do, also while calls are deep in calls.
static int numbered[64], numbers_dropped;
static void drop_number(void *context) { numbered[(intptr_t)context]++, numbers_dropped++; }

static tensor_status deeper(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                            int64_t made_len) {
  (void)given, (void)given_len, (void)made, (void)made_len;
  const intptr_t depth = (intptr_t)context;
  if (depth == 40) return TENSOR_OK;
  OK(tensor_set_grad_enabled(true));
  int64_t number;
  tensor_node_t *node;
  void *attached;
  tensor_t *x = leaf(), *y = twice(x), *z;
  OK(tensor_register_hook(y, deeper, (void *)(depth + 1), drop_number, &number));
  OK(tensor_add(y, x, tensor_int(1), &z));
  OK(tensor_grad_fn(z, &node));
  OK(tensor_node_set_context(node, (void *)(depth + 1), drop_number));
  OK(tensor_node_context(node, &attached));
  CHECK(attached == (void *)(depth + 1));
  OK(tensor_node_register_prehook(node, deeper, (void *)40, drop_number, &number));
  OK(tensor_node_register_hook(node, deeper, (void *)40, drop_number, &number));
  OK(tensor_register_post_accumulate_grad_hook(x, deeper, (void *)40, drop_number, &number));
  tensor_node_free(node);
  OK(run(z));
  tensor_free(z), tensor_free(y), tensor_free(x);
  return TENSOR_OK;
}

static tensor_status by_number(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                               int64_t made_len) {
  (void)given_len, (void)made_len;
  CHECK(context == (void *)2);
  OK(deeper((void *)30, NULL, 0, NULL, 0));
  return tensor_mul_scalar(given[0], tensor_float(1), made);
}

static tensor_status pack_number(void *context, tensor_t **saved, void **packed) {
  (void)saved;
  CHECK(context == (void *)3);
  *packed = (void *)4;
  return TENSOR_OK;
}

static tensor_status unpack_number(void *context, void *packed, tensor_t **made) {
  CHECK(context == (void *)3 && packed == (void *)4);
  OK(deeper((void *)30, NULL, 0, NULL, 0));
  *made = floats((const float[]){5, 5, 5}, SIZE, 1);
  return TENSOR_OK;
}

static void watch_number(void *context, tensor_node_t *node, bool failed) {
  (void)node, (void)failed;
  CHECK(context == (void *)1);
}

static void any_number(void) {
  tensor_t *x = leaf(), *y = floats((const float[]){1, 2, 3}, SIZE, 1), *z;
  const tensor_t *in = x, *out = y;
  tensor_node_t *handle;
  memset(numbered, 0, sizeof numbered), numbers_dropped = 0;
  OK(tensor_set_anomaly_watcher(watch_number, (void *)1));
  OK(tensor_set_detect_anomaly(true, true));
  OK(deeper((void *)1, NULL, 0, NULL, 0));
  CHECK(numbered[2] == 2 && numbered[39] == 2 && numbered[40] == 2 + 3 * 39);
  OK(tensor_record_function("F", &in, 1, &out, 1, NULL, 0, NULL, 0, true, by_number, (void *)2,
                            drop_number, &handle));
  tensor_node_free(handle);
  OK(run(y));
  CHECK(grad_of(x) == 1);
  OK(tensor_push_saved_tensors_hooks(pack_number, unpack_number, drop_number, (void *)3,
                                     drop_number));
  OK(tensor_mul(x, x, &z));
  OK(tensor_pop_saved_tensors_hooks());
  OK(run(z));
  CHECK(grad_of(x) == 11);
  OK(tensor_set_detect_anomaly(false, true));
  OK(tensor_set_anomaly_watcher(NULL, NULL));
  tensor_free(x), tensor_free(y), tensor_free(z);
  CHECK(numbered[2] == 3 && numbered[3] == 3 && numbered[4] == 4);
  // A foreign memory's, and the addresses of nothing.
  static const float kept[3] = {1, 2, 3};
  OK(tensor_from_blob((void *)kept, sizeof kept, TENSOR_FLOAT32, SIZE, 1, NULL, 0, drop_number,
                      (void *)5, false, &x));
  OK(tensor_set_requires_grad(x, true));
  OK(tensor_register_hook(x, foreign, (void *)6, NULL, &(int64_t){0}));
  y = twice(x);
  FAILS(run(y), TENSOR_ERROR_TYPE, "not a live tensor: result 0, 0x6");
  OK(tensor_sum(x, (const int64_t *)1, 0, false, TENSOR_DTYPE_NONE, &z));
  CHECK(data_of(z)[0] == 6);
  tensor_free(x), tensor_free(y), tensor_free(z);
  CHECK(numbered[5] == 3);
  OK(tensor_from_data((void *)1, (const int64_t[]){0}, 1, TENSOR_FLOAT32, &x));
  OK(tensor_from_blob((void *)8, 0, TENSOR_FLOAT32, (const int64_t[]){0}, 1, NULL, 0, drop_number,
                      (void *)6, false, &y));
  tensor_free(x), tensor_free(y);
  CHECK(numbered[6] == 3);
}

// A thread's stack in Go is small at first and moves when it grows, with the frames of running
// calls.
static void *small_stack(void *context) {
  int64_t number;
  tensor_t *x = leaf(), *y;
  for (intptr_t i = 0; i < (intptr_t)context % 8; i++) {
    y = twice(x);
    OK(tensor_register_hook(y, deeper, context, NULL, &number));
    tensor_free(x), x = y;
  }
  OK(run(x));
  tensor_free(x);
  return NULL;
}

static void stacks(void) {
  for (intptr_t i = 1; i < 40; i++) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, small_stack, (void *)i) && !pthread_join(thread, NULL));
  }
}

// A hook whose run calls a hook, and so on without end: an error before the stack is full.
static tensor_status endless(void *context, tensor_t **given, int64_t given_len, tensor_t **made,
                             int64_t made_len) {
  (void)given, (void)given_len, (void)made, (void)made_len;
  ++*(int *)context;
  OK(tensor_set_grad_enabled(true));
  int64_t number;
  tensor_t *x = leaf(), *y = twice(x);
  OK(tensor_register_hook(y, endless, context, NULL, &number));
  const tensor_status status = run(y);
  tensor_free(y), tensor_free(x);
  return status;
}

static void *without_end(void *context) {
  FAILS(endless(context, NULL, 0, NULL, 0), TENSOR_ERROR_RUNTIME,
        "nested too deeply for the stack");
  return NULL;
}

static void nested(void) {
  int depth = 0, shallow = 0;
  without_end(&depth);
  CHECK(depth > 100);
  pthread_t thread;
  pthread_attr_t small;
  CHECK(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 512 * 1024));
  CHECK(!pthread_create(&thread, &small, without_end, &shallow) && !pthread_join(thread, NULL));
  CHECK(shallow > 4 && shallow < depth);
  pthread_attr_destroy(&small);
}

int main(void) {
  any_number(), stacks(), nested();
  hooks(), several(), nodes(), functions(), endings(), constants(), saving(), opened(),
      footprints(), anomalies();
  const int64_t before = tensor_live_handles();
  for (int i = 0; i < 20; i++)
    hooks(), several(), nodes(), functions(), endings(), constants(), saving(), opened(),
        footprints(), anomalies();
  CHECK(tensor_live_handles() == before);
  return 0;
}
