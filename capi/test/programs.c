// Exported programs from C: a program of a file and of memory runs, errors name inputs and
// operators, handles are checked, runs record gradients, threads share a program.
#include "check.h"

#include <pthread.h>

// An archive of stored records, as torch.export.save writes it, without checksums.
typedef struct archive {
  unsigned char bytes[1 << 16], directory[1 << 12];
  size_t length, directory_length;
  int count;
} archive;

static void put(unsigned char *to, size_t *at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) to[(*at)++] = (unsigned char)(value >> (8 * i));
}

static void copy(unsigned char *to, size_t *at, const void *from, size_t length) {
  memcpy(to + *at, from, length);
  *at += length;
}

// The fields that the headers of a record have in common.
static void put_fields(unsigned char *to, size_t *at, size_t length, size_t name) {
  put(to, at, 0, 2), put(to, at, 0, 2), put(to, at, 0, 4), put(to, at, 0, 4);
  put(to, at, length, 4), put(to, at, length, 4), put(to, at, name, 2);
}

static void add_record(archive *a, const char *name, const void *data, size_t length) {
  const size_t begin = a->length, n = strlen(name);
  size_t pad = (64 - (begin + 30 + n) % 64) % 64;
  put(a->bytes, &a->length, 0x04034b50, 4), put(a->bytes, &a->length, 20, 2);
  put_fields(a->bytes, &a->length, length, n);
  put(a->bytes, &a->length, pad, 2);
  copy(a->bytes, &a->length, name, n);
  while (pad--) a->bytes[a->length++] = 0;
  copy(a->bytes, &a->length, data, length);
  put(a->directory, &a->directory_length, 0x02014b50, 4);
  put(a->directory, &a->directory_length, 20, 2), put(a->directory, &a->directory_length, 20, 2);
  put_fields(a->directory, &a->directory_length, length, n);
  put(a->directory, &a->directory_length, 0, 2), put(a->directory, &a->directory_length, 0, 2);
  put(a->directory, &a->directory_length, 0, 2), put(a->directory, &a->directory_length, 0, 2);
  put(a->directory, &a->directory_length, 0, 4), put(a->directory, &a->directory_length, begin, 4);
  copy(a->directory, &a->directory_length, name, n);
  a->count++;
}

static void finish(archive *a) {
  const size_t begin = a->length;
  copy(a->bytes, &a->length, a->directory, a->directory_length);
  put(a->bytes, &a->length, 0x06054b50, 4), put(a->bytes, &a->length, 0, 4);
  put(a->bytes, &a->length, (uint64_t)a->count, 2),
      put(a->bytes, &a->length, (uint64_t)a->count, 2);
  put(a->bytes, &a->length, a->directory_length, 4), put(a->bytes, &a->length, begin, 4);
  put(a->bytes, &a->length, 0, 2);
}

#define SIZES(n) "\"sizes\":[{\"as_int\":" n "}],\"strides\":[{\"as_int\":1}],"
#define META(n) \
  "{\"dtype\":7," SIZES(n) "\"requires_grad\":false,\"device\":{\"type\":\"cpu\"},"      \
                           "\"storage_offset\":{\"as_int\":0},\"layout\":7}"
#define TENSOR(name) "{\"as_tensor\":{\"name\":\"" name "\"}}"
#define ARG(name, value) "{\"name\":\"" name "\",\"arg\":" value ",\"kind\":1}"
#define NODE(target, inputs, output)                              \
  "{\"target\":\"torch.ops.aten." target "\",\"inputs\":[" inputs \
  "],\"outputs\":[" TENSOR(output) "]}"

// relu(x + w) * 2 with a parameter w; `operator` is the last one. `constant` is the JSON of a
// second input, which was constant in the export, or NULL.
static void make(archive *a, const char *operator, const char *constant) {
  static const float w[] = {1, -5, 2};
  static const char config[] =
      "{\"config\":{\"w\":{\"path_name\":\"weight_0\",\"is_param\":true,\"use_pickle\":false,"
      "\"tensor_meta\":" META("3") "}}}";
  static const char model[] =
      "{\"graph_module\":{\"graph\":{\"inputs\":[" TENSOR("p_w") "," TENSOR("x") "%s],"
      "\"outputs\":[" TENSOR("y") "],\"nodes\":["
      NODE("add.Tensor", ARG("self", TENSOR("x")) "," ARG("other", TENSOR("p_w")), "a") ","
      NODE("relu.default", ARG("self", TENSOR("a")), "r") ","
      NODE("%s", ARG("self", TENSOR("r")) "," ARG("other", "{\"as_int\":2}"), "y")
      "],\"tensor_values\":{\"x\":" META("3") ",\"y\":" META("3") "}},"
      "\"signature\":{\"input_specs\":[{\"parameter\":{\"arg\":{\"name\":\"p_w\"},"
      "\"parameter_name\":\"w\"}},{\"user_input\":{\"arg\":" TENSOR("x") "}}%s],"
      "\"output_specs\":[{\"user_output\":{\"arg\":" TENSOR("y") "}}]},\"module_call_graph\":[]},"
      "\"schema_version\":{\"major\":8,\"minor\":20},\"range_constraints\":{}}";
  static char text[sizeof model + 256];
  char input[100] = "", spec[100] = "";
  if (constant) {
    snprintf(input, sizeof input, ",%s", constant);
    snprintf(spec, sizeof spec, ",{\"constant_input\":{\"name\":\"k\",\"value\":%s}}", constant);
  }
  snprintf(text, sizeof text, model, input, operator, spec);
  memset(a, 0, sizeof *a);
  add_record(a, "m/data/weights/weight_0", w, sizeof w);
  add_record(a, "m/data/weights/model_weights_config.json", config, sizeof config - 1);
  add_record(a, "m/models/model.json", text, strlen(text));
  finish(a);
}

static archive file;

static void *run_often(void *context) {
  tensor_program_t *program = context;
  const float values[] = {1, 2, 3};
  for (int i = 0; i < 300; i++) {
    tensor_value in = {.kind = TENSOR_VALUE_TENSOR}, out;
    in.as.tensor = floats(values, (int64_t[]){3}, 1);
    OK(tensor_program_run(program, &in, 1, &out, 1));
    const float *y = data_of(out.as.tensor);
    CHECK(y[0] == 4 && y[1] == 0 && y[2] == 10);
    OK(tensor_value_free(&out));
    OK(tensor_free(in.as.tensor));
  }
  return NULL;
}

static void descriptions(const tensor_program_t *program) {
  const tensor_program_value *values;
  int32_t n;
  OK(tensor_program_inputs(program, &values, &n));
  CHECK(n == 1 && strcmp(values[0].name, "x") == 0 && values[0].dtype == TENSOR_FLOAT32);
  CHECK(values[0].kind == TENSOR_VALUE_TENSOR && strcmp(values[0].shape, "[3]") == 0 &&
        !*values[0].role);
  CHECK(!values[0].is_written);
  OK(tensor_program_outputs(program, &values, &n));
  CHECK(n == 1 && strcmp(values[0].name, "y") == 0);
  OK(tensor_program_state(program, &values, &n));
  CHECK(n == 1 && strcmp(values[0].name, "w") == 0 && strcmp(values[0].role, "parameter") == 0 &&
        !*values[0].shape);
  tensor_t *w = NULL;
  OK(tensor_program_tensor(program, 0, &w));
  CHECK(data_of(w)[1] == -5);
  OK(tensor_free(w));
  FAILS(tensor_program_tensor(program, 1, &w), TENSOR_ERROR_INDEX, "'index' is 1");
  FAILS(tensor_program_inputs(program, NULL, &n), TENSOR_ERROR_VALUE, "values");
  FAILS(tensor_program_run(program, NULL, 0, NULL, 0), TENSOR_ERROR_VALUE,
        "has 1 input; 0 were given");
  tensor_value in = {.kind = TENSOR_VALUE_NONE}, out;
  FAILS(tensor_program_run(program, NULL, 1, &out, 1), TENSOR_ERROR_VALUE,
        "argument 'inputs' is NULL; the program has 1 input");
  FAILS(tensor_program_run(program, &in, 1, NULL, 1), TENSOR_ERROR_VALUE,
        "argument 'outputs' is NULL; the program has 1 output");
}

static void operators(const tensor_program_t *program) {
  const tensor_program_operator *found;
  const char *graph;
  int32_t n;
  OK(tensor_program_operators(program, &found, &n));
  CHECK(n == 3 && strcmp(found[0].name, "aten::add.Tensor") == 0 && found[0].calls == 1);
  CHECK(strcmp(found[1].name, "aten::mul.Tensor") == 0);
  CHECK(strcmp(found[2].name, "aten::relu.default") == 0);
  FAILS(tensor_program_operators(program, NULL, &n), TENSOR_ERROR_VALUE, "operators");
  FAILS(tensor_program_operators(program, &found, NULL), TENSOR_ERROR_VALUE, "count");
  FAILS(tensor_program_operators(NULL, &found, &n), TENSOR_ERROR_HANDLE, "program");
  OK(tensor_program_graph(program, &graph));
  CHECK(strcmp(graph,
               "graph(p_w, x):\n    a = aten.add.Tensor(x, p_w)\n    r = aten.relu.default(a)\n"
               "    y = aten.mul.Tensor(r, 2)\n    return y\n") == 0);
  FAILS(tensor_program_graph(program, NULL), TENSOR_ERROR_VALUE, "graph");
}

static void count_calls(void *context, const tensor_event *event) {
  if (!event->is_end) strcat(strcat(context, event->name), ";");
}

// A run is observed as its operators, also if it records gradients; other functions are not.
static void observed(const tensor_program_t *program) {
  char names[200] = "";
  bool enabled;
  tensor_t *w = NULL;
  tensor_value in = {.kind = TENSOR_VALUE_TENSOR}, out;
  const tensor_program_options options = {.size = sizeof options, .gradients = true};
  in.as.tensor = floats((float[]){1, 2, 3}, (int64_t[]){3}, 1);
  OK(tensor_set_observer(count_calls, names, NULL));
  for (int i = 0; i < 2; i++) {
    OK(tensor_program_run_with(program, i ? &options : NULL, &in, 1, &out, 1));
    OK(tensor_value_free(&out));
    OK(tensor_program_tensor(program, 0, &w));
    OK(tensor_free(w));
    OK(tensor_is_grad_enabled(&enabled));
  }
  OK(tensor_set_observer(NULL, NULL, NULL));
  CHECK(strcmp(names, "add;relu;mul;add;relu;mul;") == 0);
  OK(tensor_free(in.as.tensor));
}

static void wrong_options(const tensor_program_t *program) {
  tensor_value in = {.kind = TENSOR_VALUE_NONE}, out;
  const size_t sizes[] = {0, sizeof(size_t) - 1, sizeof(tensor_program_options) + 1, 4096};
  for (int i = 0; i < 4; i++) {
    const tensor_program_options options = {.size = sizes[i], .state_count = 7};
    char text[120];
    snprintf(text, sizeof text,
             "options.size is %zu; it must be sizeof(tensor_program_options), at most %zu",
             sizes[i], sizeof options);
    FAILS(tensor_program_run_with(program, &options, &in, 1, &out, 1), TENSOR_ERROR_VALUE, text);
  }
  for (int kind = -2; kind < 40; kind++) {
    tensor_value v = {.kind = (tensor_value_kind)kind};
    if (kind >= 0 && kind <= TENSOR_VALUE_INDICES)
      OK(tensor_value_free(&v));
    else
      FAILS(tensor_value_free(&v), TENSOR_ERROR_VALUE,
            "value_free: argument 'value' has the unknown");
  }
}

static void wrong_inputs(const tensor_program_t *program) {
  tensor_value in = {.kind = TENSOR_VALUE_FLOAT, .as.f = 1.5}, out = {.kind = TENSOR_VALUE_BOOL};
  FAILS(tensor_program_run(program, &in, 1, &out, 1), TENSOR_ERROR_RUNTIME, "float32[3]");
  in.kind = TENSOR_VALUE_TENSOR, in.as.tensor = floats((float[]){1, 2}, (int64_t[]){2}, 1);
  FAILS(tensor_program_run(program, &in, 1, &out, 1), TENSOR_ERROR_RUNTIME,
        "input 0 ('x') is float32[2]");
  OK(tensor_free(in.as.tensor));
  FAILS(tensor_program_run(program, &in, 1, &out, 1), TENSOR_ERROR_HANDLE, "not a live tensor");
  CHECK(out.kind == TENSOR_VALUE_BOOL);
}

// A constant input requires an equal number of any kind.
static void constants(void) {
  const tensor_value values[] = {
      {.kind = TENSOR_VALUE_FLOAT, .as.f = 2},     {.kind = TENSOR_VALUE_INT, .as.i = 2},
      {.kind = TENSOR_VALUE_FLOAT, .as.f = 1},     {.kind = TENSOR_VALUE_INT, .as.i = 1},
      {.kind = TENSOR_VALUE_BOOL, .as.b = true},   {.kind = TENSOR_VALUE_FLOAT, .as.f = -0.0},
      {.kind = TENSOR_VALUE_BOOL, .as.b = false},  {.kind = TENSOR_VALUE_INT, .as.i = INT64_MAX},
      {.kind = TENSOR_VALUE_FLOAT, .as.f = 0x1p63}};
  const struct {
    const char *json, *name;
    int first, last;  // the values that are equal to it
  } cases[] = {{"{\"as_float\":2.0}", "the float 2", 0, 1},
               {"{\"as_int\":2}", "the int 2", 0, 1},
               {"{\"as_float\":1.0}", "the float 1", 2, 4},
               {"{\"as_bool\":true}", "the bool True", 2, 4},
               {"{\"as_float\":0.0}", "the float 0", 5, 6},
               {"{\"as_bool\":false}", "the bool False", 5, 6},
               {"{\"as_int\":9223372036854775807}", "the int 9223372036854775807", 7, 7}};
  static archive with_constant;
  tensor_value in[2] = {{.kind = TENSOR_VALUE_TENSOR}}, out;
  in[0].as.tensor = floats((float[]){1, 2, 3}, (int64_t[]){3}, 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tensor_program_t *program;
    make(&with_constant, "mul.Tensor", cases[i].json);
    OK(tensor_program_load_memory(with_constant.bytes, (int64_t)with_constant.length, &program));
    for (int k = 0; k < (int)(sizeof values / sizeof *values); k++) {
      in[1] = values[k];
      if (k >= cases[i].first && k <= cases[i].last) {
        OK(tensor_program_run(program, in, 2, &out, 1));
        OK(tensor_value_free(&out));
      } else {
        FAILS(tensor_program_run(program, in, 2, &out, 1), TENSOR_ERROR_RUNTIME, "input 1 ('k')");
        FAILS(tensor_program_run(program, in, 2, &out, 1), TENSOR_ERROR_RUNTIME, cases[i].name);
      }
    }
    in[1] = (tensor_value){.kind = TENSOR_VALUE_STRING, .as.string = "2"};
    FAILS(tensor_program_run(program, in, 2, &out, 1), TENSOR_ERROR_RUNTIME, cases[i].name);
    OK(tensor_program_free(program));
  }
  OK(tensor_free(in[0].as.tensor));
}

// d(sum of relu(x + w) * 2) for x and w, and a step of w that later runs use.
static void gradients(const tensor_program_t *program) {
  tensor_t *w, *x = floats((float[]){1, 2, 3}, (int64_t[]){3}, 1), *sum, *grad = NULL;
  OK(tensor_program_tensor(program, 0, &w));
  OK(tensor_set_requires_grad(w, true));
  OK(tensor_set_requires_grad(x, true));
  const tensor_t *state[] = {w};
  const tensor_value in = {.kind = TENSOR_VALUE_TENSOR, .as.tensor = x};
  tensor_program_options options = {
      .size = sizeof options, .state = state, .state_count = 1, .gradients = true};
  tensor_value out, plain;
  OK(tensor_program_run_with(program, &options, &in, 1, &out, 1));
  OK(tensor_program_run(program, &in, 1, &plain, 1));
  CHECK(memcmp(data_of(out.as.tensor), data_of(plain.as.tensor), 3 * sizeof(float)) == 0);
  bool recorded;
  OK(tensor_requires_grad(plain.as.tensor, &recorded));
  CHECK(!recorded);
  OK(tensor_sum(out.as.tensor, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  OK(tensor_backward((const tensor_t *[]){sum}, 1, NULL, 0, -1, false, NULL, 0));
  const tensor_t *leaves[] = {w, x};
  for (int i = 0; i < 2; i++) {
    OK(tensor_grad(leaves[i], &grad));
    CHECK(data_of(grad)[0] == 2 && data_of(grad)[1] == 0 && data_of(grad)[2] == 2);
    OK(tensor_free(grad));
  }
  OK(tensor_value_free(&out));
  OK(tensor_value_free(&plain));
  OK(tensor_free(sum));
  // A tensor of the caller's, and none.
  const tensor_t *other = floats((float[]){0, 0, 1}, (int64_t[]){3}, 1), *short_one = x;
  options.gradients = false, options.state = &other;
  OK(tensor_program_run_with(program, &options, &in, 1, &out, 1));
  CHECK(data_of(out.as.tensor)[1] == 4 && data_of(out.as.tensor)[2] == 8);
  OK(tensor_value_free(&out));
  OK(tensor_free((tensor_t *)other));
  FAILS(tensor_program_run_with(program, &options, &in, 1, &out, 1), TENSOR_ERROR_VALUE,
        "the tensor for parameter 'w' is");
  options.state = &short_one, options.state_count = 2;
  FAILS(tensor_program_run_with(program, &options, &in, 1, &out, 1), TENSOR_ERROR_VALUE,
        "2 items of state; the program has 1");
  options.state = NULL;
  FAILS(tensor_program_run_with(program, &options, &in, 1, &out, 1), TENSOR_ERROR_VALUE,
        "options.state_count is 2; it must be 0");
  short_one = NULL, options.state = &short_one, options.state_count = 1;
  OK(tensor_program_run_with(program, &options, &in, 1, &out, 1));
  CHECK(data_of(out.as.tensor)[0] == 4);
  OK(tensor_value_free(&out));
  OK(tensor_free(w));
  OK(tensor_free(x));
}

static void handles(tensor_program_t *program) {
  const tensor_program_value *values;
  int32_t n;
  tensor_t *t = floats((float[]){1}, (int64_t[]){1}, 1);
  FAILS(tensor_program_inputs((tensor_program_t *)t, &values, &n), TENSOR_ERROR_HANDLE,
        "is a tensor; a program is required");
  CHECK(tensor_dim((tensor_t *)program) == -1);
  OK(tensor_free(t));
  OK(tensor_program_free(program));
  FAILS(tensor_program_free(program), TENSOR_ERROR_HANDLE, "not a live program");
  FAILS(tensor_program_outputs(program, &values, &n), TENSOR_ERROR_HANDLE, "not a live program");
  FAILS(tensor_program_run(NULL, NULL, 0, NULL, 0), TENSOR_ERROR_HANDLE, "NULL");
  OK(tensor_program_free(NULL));
}

int main(void) {
  tensor_program_t *program = NULL;
  make(&file, "mul.Tensor", NULL);
  OK(tensor_program_load_memory(file.bytes, (int64_t)file.length, &program));
  OK(tensor_program_free(program));
  const int64_t before = tensor_live_handles();
  OK(tensor_program_load_memory(file.bytes, (int64_t)file.length, &program));
  descriptions(program);
  operators(program);
  observed(program);
  wrong_options(program);
  wrong_inputs(program);
  constants();
  gradients(program);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(threads + i, NULL, run_often, program) == 0);
  for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  handles(program);
  make(&file, "missing.Tensor", NULL);
  FAILS(tensor_program_load_memory(file.bytes, (int64_t)file.length, &program),
        TENSOR_ERROR_NOT_IMPLEMENTED, "aten::missing.Tensor");
  CHECK(!strstr(tensor_last_error(), "custom operators"));
  for (size_t n = 0; n < file.length; n += 37)
    CHECK(tensor_program_load_memory(file.bytes, (int64_t)n, &program) != TENSOR_OK);
  FAILS(tensor_program_load("/no/such/file.pt2", &program), TENSOR_ERROR_IO, "/no/such/file.pt2");
  FAILS(tensor_program_load(NULL, &program), TENSOR_ERROR_VALUE, "path");
  CHECK(tensor_live_handles() == before);
  return 0;
}
