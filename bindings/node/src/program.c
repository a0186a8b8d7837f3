// Exported programs: a handle that a JavaScript object owns, and runs as calls of an operator that
// only the addon has, so that asynchronous calls treat their tensors as those of other operators.
#include <inttypes.h>
#include <stdio.h>

#include "addon.h"

// ------------------------------------------------------------------------------------------ runs

// A text begins with a line g if the run records gradients; lines for the tensors of the state then
// follow those of the inputs.
// The inputs that are no tensors, and the kinds of the others, are lines of a text: t (the next of
// the tensors), w (the next of the tensors that are written), i, f and b with a number, n, and s
// with a string, whose bytes other than letters and digits are %XX.
static const char *read_line(const char *at, char *line, size_t room) {
  const size_t n = strcspn(at, "\n");
  const size_t copied = n < room ? n : room - 1;
  memcpy(line, at, copied), line[copied] = 0;
  return at[n] ? at + n + 1 : at + n;
}

static void decode(char *text) {
  char *to = text;
  for (unsigned byte; *text; text++)
    if (*text == '%' && sscanf(text + 1, "%2x", &byte) == 1)
      *to++ = (char)byte, text += 2;
    else
      *to++ = *text;
  *to = 0;
}

typedef struct lists {
  const lt_value *tensors, *written;
  int64_t next_tensor, next_written;
} lists;

static bool read_input(const char *line, lists *l, tensor_value *to, char *text) {
  switch (*line) {
    case 't':
    case 'w': {
      const lt_value *list = *line == 't' ? l->tensors : l->written;
      int64_t *next = *line == 't' ? &l->next_tensor : &l->next_written;
      if (*next >= list->list.length) return false;
      to->kind = TENSOR_VALUE_TENSOR;
      to->as.tensor = ((tensor_t *const *)list->list.data)[(*next)++];
      return true;
    }
    case 'i':
      to->kind = TENSOR_VALUE_INT, to->as.i = strtoll(line + 1, NULL, 10);
      return true;
    case 'f':
      to->kind = TENSOR_VALUE_FLOAT, to->as.f = strtod(line + 1, NULL);
      return true;
    case 'b':
      to->kind = TENSOR_VALUE_BOOL, to->as.b = line[1] == '1';
      return true;
    case 's':
      strcpy(text, line + 1);
      decode(text);
      to->kind = TENSOR_VALUE_STRING, to->as.string = text;
      return true;
    default:
      to->kind = TENSOR_VALUE_NONE;
      return *line == 'n';
  }
}

// Writes an output that is no tensor; returns its length.
static int write_output(const tensor_value *v, char *to, size_t room) {
  switch (v->kind) {
    case TENSOR_VALUE_TENSOR:
      return snprintf(to, room, "t\n");
    case TENSOR_VALUE_INT:
      return snprintf(to, room, "i%" PRId64 "\n", v->as.i);
    case TENSOR_VALUE_FLOAT:
      return snprintf(to, room, "f%.17g\n", v->as.f);
    case TENSOR_VALUE_BOOL:
      return snprintf(to, room, "b%d\n", v->as.b);
    case TENSOR_VALUE_STRING:
      return snprintf(to, room, "s%s\n", v->as.string);
    default:
      return snprintf(to, room, "n\n");
  }
}

static tensor_status fail(tensor_status status, const char *message) {
  tensor_set_last_error(message);
  return status;
}

// The results of a run as a list of tensors and a text.
static tensor_status give_outputs(tensor_value *outputs, int32_t m, lt_value *a) {
  size_t room = 1;
  for (int32_t i = 0; i < m; i++)
    room += outputs[i].kind == TENSOR_VALUE_STRING ? strlen(outputs[i].as.string) + 3 : 40;
  char *text = malloc(room), *to = text;
  tensor_t **tensors = malloc(((size_t)m + 1) * sizeof *tensors);
  int64_t n = 0;
  if (!text || !tensors) {
    free(text), free(tensors);
    for (int32_t i = 0; i < m; i++) tensor_value_free(&outputs[i]);
    return fail(TENSOR_ERROR_MEMORY, "program.run: there is no memory for the outputs");
  }
  *text = 0;
  for (int32_t i = 0; i < m; i++) {
    to += write_output(&outputs[i], to, room - (size_t)(to - text));
    if (outputs[i].kind == TENSOR_VALUE_TENSOR)
      tensors[n++] = outputs[i].as.tensor;
    else
      tensor_value_free(&outputs[i]);
  }
  a[0].list.data = tensors, a[0].list.length = n;
  a[1].pointer = text;
  return TENSOR_OK;
}

// lt_operator.run: a program, tensors, tensors that are written, and the text of the inputs.
static tensor_status run_program(const lt_operator *row, int form, bool number, lt_value *a) {
  (void)row, (void)form, (void)number;
  const tensor_program_t *program = (const tensor_program_t *)(intptr_t)a[0].i;
  const tensor_program_value *described;
  int32_t n, m, given = 0;
  tensor_program_options options = {.size = sizeof options, .gradients = *a[3].text == 'g'};
  tensor_status status = tensor_program_outputs(program, &described, &m);
  if (!status) status = tensor_program_inputs(program, &described, &n);
  if (!status && options.gradients)
    status = tensor_program_state(program, &described, &options.state_count);
  if (status) return status;
  for (const char *at = a[3].text; *at; at++) given += *at == '\n';
  const size_t bytes = strlen(a[3].text) + (size_t)given + 1;
  tensor_value *values = calloc((size_t)given + (size_t)m + 1, sizeof *values);
  const tensor_t **state = calloc((size_t)options.state_count + 1, sizeof *state);
  char *texts = malloc(bytes), *text = texts, *line = malloc(bytes);
  if (!values || !state || !texts || !line) {
    free(values), free(state), free(texts), free(line);
    return fail(TENSOR_ERROR_MEMORY, "program.run: there is no memory for the inputs");
  }
  lists l = {.tensors = a + 1, .written = a + 2};
  const char *at = a[3].text + (options.gradients ? 2 : 0);
  given -= options.gradients;
  for (int32_t i = 0; i < given && !status; i++) {
    at = read_line(at, line, bytes);
    if (!read_input(line, &l, values + i, text))
      status = fail(TENSOR_ERROR_TYPE, "program.run: an input has no tensor");
    if (*line == 's') text += strlen(text) + 1;
  }
  given -= options.state_count;
  for (int32_t i = 0; i < options.state_count; i++) state[i] = values[given + i].as.tensor;
  if (options.gradients) options.state = state;
  tensor_value *outputs = values + given + options.state_count;
  if (!status) status = tensor_program_run_with(program, &options, values, given, outputs, m);
  if (!status) status = give_outputs(outputs, m, a);
  free(values), free(state), free(texts), free(line);
  return status;
}

static const lt_operator row = {.run = run_program,
                                .name = "program.run",
                                .called = "program.run",
                                .called_ = "program.run",
                                .results = "AU",
                                .out = "tensors\0text",
                                .signature = "",
                                .changed = -1,
                                .flags = LT_LENGTHY,
                                .forms = LT_HAS(LT_FUNCTION, 0)};

static const lt_argument arguments[] = {
    {.name = "program", .type = LT_INT, .dim_of = -1},
    {.name = "tensors", .type = LT_TENSOR, .flags = LT_IS_LIST, .dim_of = -1},
    {.name = "written", .type = LT_TENSOR, .flags = LT_IS_LIST | LT_IS_MUTATED, .dim_of = -1},
    {.name = "text", .type = LT_STR, .dim_of = -1},
    {.name = "tensors", .type = LT_TENSOR, .flags = LT_IS_LIST | LT_IS_ALIAS, .dim_of = -1},
    {.name = "text", .type = LT_STR, .dim_of = -1}};

static const lt_overload overload = {"programRun", &row, arguments, arguments + 4, 4, 4, 2, -1};
static const lt_entry entry = {"programRun", &overload, 1, LT_AS_FUNCTION | LT_AS_ASYNC};
static const lt_binding immediate = {"program.run", &entry, LT_FUNCTION, false, false};
static const lt_binding queued = {"program.runAsync", &entry, LT_FUNCTION, false, true};

// lt_operator.run: loads a program from a path, or from the bytes of a tensor if there is one. The
// result is the handle, or ! with the error that names operators that the library lacks, which
// adopt_program throws: those are ATen's names.
static tensor_status load_program(const lt_operator *row, int form, bool number, lt_value *a) {
  (void)row, (void)form, (void)number;
  tensor_program_t *program = NULL;
  tensor_t *const *bytes = a[1].list.data;
  void *data = NULL;
  tensor_status status = a[1].list.length ? tensor_data_ptr(bytes[0], &data) : TENSOR_OK;
  if (!status)
    status = a[1].list.length
                 ? tensor_program_load_memory(data ? data : "", tensor_numel(bytes[0]), &program)
                 : tensor_program_load(a[0].text, &program);
  if (status && status != TENSOR_ERROR_NOT_IMPLEMENTED) return status;
  char *text = NULL;
  const int length = status ? asprintf(&text, "!%s", tensor_last_error())
                            : asprintf(&text, "%" PRIdPTR, (intptr_t)program);
  if (length < 0) {
    tensor_program_free(program);
    return fail(TENSOR_ERROR_MEMORY, "program.load: there is no memory for the program");
  }
  return a[0].pointer = text, TENSOR_OK;
}

static const lt_operator load_row = {.run = load_program,
                                     .name = "program.load",
                                     .called = "program.load",
                                     .called_ = "program.load",
                                     .results = "U",
                                     .out = "text",
                                     .signature = "",
                                     .changed = -1,
                                     .flags = LT_LENGTHY,
                                     .forms = LT_HAS(LT_FUNCTION, 0)};

static const lt_argument load_arguments[] = {
    {.name = "path", .type = LT_STR, .dim_of = -1},
    {.name = "bytes", .type = LT_TENSOR, .flags = LT_IS_LIST, .dim_of = -1},
    {.name = "text", .type = LT_STR, .dim_of = -1}};

static const lt_overload load_overload = {
    "programLoad", &load_row, load_arguments, load_arguments + 2, 2, 2, 1, -1};
static const lt_entry load_entry = {"programLoad", &load_overload, 1, LT_AS_FUNCTION | LT_AS_ASYNC};
static const lt_binding immediate_load = {"program.load", &load_entry, LT_FUNCTION, false, false};
static const lt_binding queued_load = {"program.loadAsync", &load_entry, LT_FUNCTION, false, true};

// --------------------------------------------------------------------------------------- handles

static void free_program(napi_env env, void *program, void *hint) {
  (void)env, (void)hint;
  tensor_program_free(program);
}

static bool set(napi_env env, napi_value object, const char *name, napi_value value) {
  return value && lt_ok(env, napi_set_named_property(env, object, name, value));
}

typedef tensor_status (*lister)(const tensor_program_t *, const tensor_program_value **, int32_t *);

// The value that a program requires of an input; NULL for a value of another kind.
static napi_value give_constant(napi_env env, const tensor_value *v) {
  napi_value made = NULL;
  switch (v->kind) {
    case TENSOR_VALUE_INT:
      return lt_from_int(env, v->as.i);
    case TENSOR_VALUE_FLOAT:
      return lt_ok(env, napi_create_double(env, v->as.f, &made)) ? made : NULL;
    case TENSOR_VALUE_BOOL:
      return lt_ok(env, napi_get_boolean(env, v->as.b, &made)) ? made : NULL;
    case TENSOR_VALUE_STRING:
      return lt_from_text(env, v->as.string);
    default:
      return NULL;
  }
}

// The descriptions of inputs, outputs or the state.
static napi_value describe(napi_env env, const tensor_program_t *program, lister list) {
  const tensor_program_value *values;
  int32_t n;
  napi_value array, item, flag;
  tensor_status status = list(program, &values, &n);
  if (status) return lt_throw_last(env, status, "program.load");
  if (!lt_ok(env, napi_create_array_with_length(env, (size_t)n, &array))) return NULL;
  for (int32_t i = 0; i < n; i++) {
    const tensor_program_value *v = values + i;
    static const char *const kinds[] = {"null",    "tensor",  "int",   "float",
                                        "boolean", "complex", "string"};
    const char *kind = (size_t)v->kind < sizeof kinds / sizeof *kinds ? kinds[v->kind] : "null";
    const bool is_constant = v->constant.kind != TENSOR_VALUE_NONE;
    const char *dtype = v->dtype < 0 ? "" : tensor_dtype_name(v->dtype);
    if (!lt_ok(env, napi_create_object(env, &item)) ||
        !set(env, item, "name", lt_from_text(env, v->name)) ||
        !set(env, item, "kind", lt_from_text(env, kind)) ||
        !set(env, item, "dtype", lt_from_text(env, dtype)) ||
        !set(env, item, "shape", lt_from_text(env, v->shape)) ||
        (*v->role && !set(env, item, "role", lt_from_text(env, v->role))) ||
        (is_constant && !set(env, item, "constant", give_constant(env, &v->constant))) ||
        !lt_ok(env, napi_get_boolean(env, v->is_written, &flag)) ||
        !set(env, item, "isWritten", flag) ||
        !lt_ok(env, napi_get_boolean(env, v->requires_grad, &flag)) ||
        !set(env, item, "requiresGrad", flag) ||
        !lt_ok(env, napi_set_element(env, array, (uint32_t)i, item)))
      return NULL;
  }
  return array;
}

// Throws why a program cannot be loaded. The names of operators that the library lacks are ATen's.
static napi_value throw_load(napi_env env, tensor_status status) {
  if (status != TENSOR_ERROR_NOT_IMPLEMENTED) return lt_throw_last(env, status, "program.load");
  const char *rest = strchr(tensor_last_error(), ':');
  char text[4096];
  snprintf(text, sizeof text, "program.load%s", rest ? rest : "");
  return lt_throw_status(env, status, text);
}

// An object with the handle of a program, as a number and as what frees it.
static napi_value wrap_program(napi_env env, tensor_program_t *program) {
  napi_value object, owner, number;
  const char *inputs, *outputs;
  if (!lt_ok(env, napi_create_external(env, program, free_program, NULL, &owner))) {
    tensor_program_free(program);
    return NULL;
  }
  tensor_program_structure(program, &inputs, &outputs);
  if (!lt_ok(env, napi_create_object(env, &object)) || !set(env, object, "owner", owner) ||
      !lt_ok(env, napi_create_double(env, (double)(intptr_t)program, &number)) ||
      !set(env, object, "handle", number) ||
      !set(env, object, "inputs", describe(env, program, tensor_program_inputs)) ||
      !set(env, object, "outputs", describe(env, program, tensor_program_outputs)) ||
      !set(env, object, "state", describe(env, program, tensor_program_state)) ||
      !set(env, object, "inSpec", lt_from_text(env, inputs)) ||
      !set(env, object, "outSpec", lt_from_text(env, outputs)))
    return NULL;
  return object;
}

// programAdopt(text): the object of the program that load_program has loaded, or its error.
static napi_value adopt_program(napi_env env, napi_callback_info info) {
  size_t argc = 1, length;
  napi_value value;
  char text[4096];
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &value, NULL, NULL)) ||
      !lt_ok(env, napi_get_value_string_utf8(env, value, text, sizeof text, &length)))
    return NULL;
  if (*text != '!') return wrap_program(env, (tensor_program_t *)strtoll(text, NULL, 10));
  tensor_set_last_error(text + 1);
  return throw_load(env, TENSOR_ERROR_NOT_IMPLEMENTED);
}

// programFree(handle): frees a program. Its finalizer then finds a freed handle.
static napi_value close_program(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value value;
  double program;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &value, NULL, NULL)) ||
      !lt_ok(env, napi_get_value_double(env, value, &program)))
    return NULL;
  tensor_program_free((tensor_program_t *)(intptr_t)program);
  return NULL;
}

// programTensor(handle, index): a tensor that shares memory with a parameter, buffer or constant.
static napi_value get_tensor(napi_env env, napi_callback_info info) {
  size_t argc = 2;
  napi_value argv[2];
  double program;
  int32_t index;
  tensor_t *made;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL)) ||
      !lt_ok(env, napi_get_value_double(env, argv[0], &program)) ||
      !lt_ok(env, napi_get_value_int32(env, argv[1], &index)))
    return NULL;
  const tensor_program_t *handle = (const tensor_program_t *)(intptr_t)program;
  const tensor_status status = tensor_program_tensor(handle, index, &made);
  if (status) return lt_throw_last(env, status, "program.tensor");
  return lt_wrap(env, LT_TENSOR, made, NULL);
}

// programGraph(handle): the graph as text.
static napi_value get_graph(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value value;
  double program;
  const char *graph;
  if (!lt_ok(env, napi_get_cb_info(env, info, &argc, &value, NULL, NULL)) ||
      !lt_ok(env, napi_get_value_double(env, value, &program)))
    return NULL;
  const tensor_status status =
      tensor_program_graph((const tensor_program_t *)(intptr_t)program, &graph);
  return status ? lt_throw_last(env, status, "program.toString") : lt_from_text(env, graph);
}

bool lt_define_programs(napi_env env, napi_value exports) {
  const napi_property_descriptor functions[] = {
      {"programAdopt", NULL, adopt_program, NULL, NULL, NULL, napi_default, NULL},
      {"programFree", NULL, close_program, NULL, NULL, NULL, napi_default, NULL},
      {"programLoad", NULL, lt_invoke, NULL, NULL, NULL, napi_default, (void *)&immediate_load},
      {"programLoadAsync", NULL, lt_invoke_async, NULL, NULL, NULL, napi_default,
       (void *)&queued_load},
      {"programGraph", NULL, get_graph, NULL, NULL, NULL, napi_default, NULL},
      {"programTensor", NULL, get_tensor, NULL, NULL, NULL, napi_default, NULL},
      {"programRun", NULL, lt_invoke, NULL, NULL, NULL, napi_default, (void *)&immediate},
      {"programRunAsync", NULL, lt_invoke_async, NULL, NULL, NULL, napi_default, (void *)&queued}};
  return lt_ok(
      env, napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions));
}
