// tensor-run: runs, describes and times programs that torch.export wrote
// (docs/exported_programs.md).
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <tensor.h>
#include <time.h>

#include "operator_times.h"

static const char usage[] =
    "Usage: tensor-run MODEL.pt2 [OPTION]...\n"
    "Run a program that torch.export.save wrote, and print its outputs.\n"
    "\n"
    "  -i, --input X.npy       an input tensor; repeat it for each, in order. Others are ones\n"
    "  -o, --output Y.npy      save an output tensor instead of printing it; repeat for each\n"
    "  -s, --size NAME=N       a symbolic size of the inputs that are not given (default: 2)\n"
    "  -L, --load LIB.so       load a library that defines custom operators; repeat for each\n"
    "  -l, --inspect           print inputs, outputs, operators and the size of the weights "
    "instead\n"
    "  -b, --bench             print times of the program and of its operators instead of outputs\n"
    "  -t, --threads N         the number of threads (default: one for each processor)\n"
    "  -h, --help              print this text\n"
    "  -V, --version           print the version of libtensor\n";

typedef struct {
  const char **items;
  int32_t count;
} list;

typedef struct {
  const char *model;
  list inputs, outputs, sizes, libraries;
  bool inspect, bench;
  int64_t threads;
} options;

static int fail(const char *subject) {
  fprintf(stderr, "tensor-run: %s%s%s\n", subject ? subject : "", subject ? ": " : "",
          tensor_last_error());
  return 1;
}

static int misuse(const char *problem, const char *value) {
  fprintf(stderr, "tensor-run: %s%s\nTry tensor-run --help.\n", problem, value);
  return 2;
}

// --------------------------------------------------------------------------------------- libraries

// Loads a library, which is not closed, and calls its function tensor_library_define, if it has
// one.
static int load_library(const char *path) {
  char local[4096];
  if (!strchr(path, '/')) {  // not one of the system
    snprintf(local, sizeof local, "./%s", path);
    path = local;
  }
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "tensor-run: --load: %s\n", dlerror()), 1;
  tensor_status (*define)(void) = NULL;
  *(void **)&define = dlsym(library, "tensor_library_define");
  return define && define() ? fail(path) : 0;
}

static int load_libraries(const list *paths) {
  int code = 0;
  for (int32_t i = 0; i < paths->count && !code; i++) code = load_library(paths->items[i]);
  return code;
}

// ------------------------------------------------------------------------------------------ inputs

// Reads "NAME=N" or "N"; returns -1 if there is no size.
static int64_t read_size(const char *text) {
  char *end;
  const long long n = strtoll(text, &end, 10);
  return *text && !*end && n >= 0 ? n : -1;
}

// Returns the size of a symbol: that of --size, or 2.
static int64_t size_of_symbol(const options *o, const char *name, size_t length) {
  for (int32_t i = o->sizes.count - 1; i >= 0; i--) {
    const char *item = o->sizes.items[i];
    if (strncmp(item, name, length) == 0 && item[length] == '=')
      return read_size(item + length + 1);
  }
  return 2;
}

// Returns whether the shape of an input has the symbolic size of an option NAME=N.
static bool has_symbol(const tensor_program_value *inputs, int32_t n, const char *item) {
  const size_t length = strcspn(item, "=");
  if (*item >= '0' && *item <= '9') return false;
  for (int32_t i = 0; length && i < n; i++)
    for (const char *at = inputs[i].shape; *at; at += strcspn(at, ",]")) {
      at += strspn(at, "[, ]");
      if (strncmp(at, item, length) == 0 && strchr(",]", at[length])) return true;
    }
  return false;
}

// Makes a tensor of ones with the dtype and the shape, such as "[s0, 3]", of an input.
static tensor_status make_example(const options *o, const tensor_program_value *input,
                                  tensor_t **out) {
  int64_t sizes[64];
  int32_t dims = 0;
  for (const char *at = input->shape + strspn(input->shape, "[, "); *at && *at != ']' && dims < 64;
       at += strspn(at, ", ")) {
    const size_t length = strcspn(at, ",]");
    sizes[dims++] =
        *at >= '0' && *at <= '9' ? strtoll(at, NULL, 10) : size_of_symbol(o, at, length);
    at += length;
  }
  return tensor_ones(sizes, dims, input->dtype, TENSOR_LAYOUT_NONE, tensor_device_default(), out);
}

// Stores the inputs of a program: tensors of files in their order, constants, and examples.
static int read_inputs(const options *o, const tensor_program_value *described, int32_t n,
                       tensor_value *values) {
  int32_t used = 0;
  for (int32_t i = 0; i < n; i++) {
    values[i] = described[i].constant;
    if (described[i].kind == TENSOR_VALUE_INT && described[i].constant.kind == TENSOR_VALUE_NONE)
      values[i] = (tensor_value){.kind = TENSOR_VALUE_INT, .as.i = 1};
    if (described[i].kind != TENSOR_VALUE_TENSOR) continue;
    const char *path = used < o->inputs.count ? o->inputs.items[used++] : NULL;
    if (path ? tensor_npy_load(path, false, &values[i].as.tensor)
             : make_example(o, &described[i], &values[i].as.tensor))
      return fail(path ? NULL : described[i].name);
    values[i].kind = TENSOR_VALUE_TENSOR;
  }
  return used < o->inputs.count ? misuse("the program has no input for ", o->inputs.items[used])
                                : 0;
}

// ----------------------------------------------------------------------------------------- outputs

static void print_plain(const tensor_value *value) {
  switch (value->kind) {
    case TENSOR_VALUE_INT:
      printf("%lld\n", (long long)value->as.i);
      break;
    case TENSOR_VALUE_FLOAT:
      printf("%.17g\n", value->as.f);
      break;
    case TENSOR_VALUE_BOOL:
      puts(value->as.b ? "true" : "false");
      break;
    case TENSOR_VALUE_STRING:
      puts(value->as.string);
      break;
    default:
      puts("none");
  }
}

// Prints the outputs; the first tensors are saved if there are files for them.
static int write_outputs(const options *o, const tensor_program_value *described, int32_t m,
                         const tensor_value *values) {
  int32_t used = 0;
  for (int32_t i = 0; i < m; i++) {
    const bool is_tensor = values[i].kind == TENSOR_VALUE_TENSOR;
    if (is_tensor && used < o->outputs.count) {
      const char *path = o->outputs.items[used++];
      if (tensor_npy_save(path, values[i].as.tensor)) return fail(NULL);
      continue;
    }
    if (o->outputs.count) continue;
    printf("%s: ", described[i].name);
    if (!is_tensor)
      print_plain(&values[i]);
    else if (tensor_print(values[i].as.tensor, stdout))
      return fail(described[i].name);
  }
  if (used < o->outputs.count)
    return misuse("the program has no output tensor for ", o->outputs.items[used]);
  return 0;
}

// -------------------------------------------------------------------------------------- inspection

static void print_described(const char *title, const tensor_program_value *values, int32_t n) {
  static const char *const kinds[] = {"none", "tensor", "int", "float", "bool", "complex", "str"};
  printf("%s:\n", title);
  for (int32_t i = 0; i < n; i++) {
    const tensor_program_value *v = &values[i];
    const size_t kind = v->kind >= 0 && v->kind <= TENSOR_VALUE_STRING ? (size_t)v->kind : 0;
    printf("  %s: %s%s%s", v->name,
           v->kind == TENSOR_VALUE_TENSOR ? tensor_dtype_name(v->dtype) : kinds[kind], v->shape,
           v->is_written      ? ", written by a run\n"
           : v->constant.kind ? " = "
                              : "\n");
    if (v->constant.kind) print_plain(&v->constant);
  }
}

static int inspect(const tensor_program_t *program) {
  const tensor_program_value *values;
  int32_t n;
  if (tensor_program_inputs(program, &values, &n)) return fail(NULL);
  print_described("inputs", values, n);
  if (tensor_program_outputs(program, &values, &n)) return fail(NULL);
  print_described("outputs", values, n);
  const tensor_program_operator *operators;
  if (tensor_program_operators(program, &operators, &n)) return fail(NULL);
  puts("operators:");
  for (int32_t i = 0; i < n; i++)
    printf("  %5lld %s\n", (long long)operators[i].calls, operators[i].name);
  if (tensor_program_state(program, &values, &n)) return fail(NULL);
  int64_t bytes = 0;
  for (int32_t i = 0; i < n; i++) {
    tensor_t *t = NULL;
    if (tensor_program_tensor(program, i, &t)) return fail(values[i].name);
    bytes += tensor_numel(t) * tensor_dtype_size(values[i].dtype);
    tensor_free(t);
  }
  printf("weights: %d tensors, %lld bytes\n", (int)n, (long long)bytes);
  return 0;
}

// ------------------------------------------------------------------------------------------ timing

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

enum { MOST_RUNS = 100000 };

// A program with its inputs, and room for the outputs of a run.
typedef struct {
  const tensor_program_t *program;
  const tensor_value *inputs;
  tensor_value *outputs;
  int32_t input_count, output_count;
} prepared;

// Runs a program once; returns the milliseconds, or -1 after an error.
static double time_run(const prepared *p) {
  const double begin = now();
  if (tensor_program_run(p->program, p->inputs, p->input_count, p->outputs, p->output_count))
    return -1;
  const double taken = now() - begin;
  for (int32_t i = 0; i < p->output_count; i++) tensor_value_free(&p->outputs[i]);
  return taken;
}

// Runs a program for one second, and prints the time of each operator.
static int bench_operators(const prepared *p) {
  operator_times times = {0};
  double all = 0, taken = 0;
  int32_t runs = 0;
  if (tensor_set_observer(add_operator_time, &times, NULL)) return fail(NULL);
  for (; runs < MOST_RUNS && all < 1000 && taken >= 0; runs++)
    if ((taken = time_run(p)) >= 0) all += taken;
  tensor_set_observer(NULL, NULL, NULL);
  if (taken < 0) return fail(NULL);
  print_operator_times(&times, runs, all);
  return 0;
}

// Runs a program for two seconds after a first run, and prints the times.
static int bench(const prepared *p, double loading) {
  double *times = malloc(MOST_RUNS * sizeof *times), first = 0, end = 0;
  if (!times) return fprintf(stderr, "tensor-run: there is no memory for the times\n"), 1;
  int32_t count = -1;  // after the first run, 0
  while (count < MOST_RUNS && (count < 1 || now() < end)) {
    const double taken = time_run(p);
    if (taken < 0) {
      free(times);
      return fail(NULL);
    }
    if (count < 0)
      first = taken, end = now() + 2000;
    else
      times[count] = taken;
    count++;
  }
  qsort(times, (size_t)count, sizeof *times, compare);
  int64_t threads = 0;
  tensor_get_num_threads(&threads);
  printf("load %.2f ms, first run %.2f ms, %lld threads\n", loading, first, (long long)threads);
  printf("%d runs: median %.3f ms, fastest %.3f ms, 90 %% within %.3f ms\n", (int)count,
         times[count / 2], times[0], times[count - 1 - count / 10]);
  free(times);
  return bench_operators(p);
}

// -------------------------------------------------------------------------------------------- main

static int run(const options *o, const tensor_program_t *program, double loading) {
  const tensor_program_value *described, *results;
  int32_t n, m;
  if (tensor_program_inputs(program, &described, &n) ||
      tensor_program_outputs(program, &results, &m))
    return fail(NULL);
  for (int32_t i = 0; i < o->sizes.count; i++)
    if (!has_symbol(described, n, o->sizes.items[i]))
      return misuse("no input of the program has the size of --size ", o->sizes.items[i]);
  tensor_value *values = calloc((size_t)n + (size_t)m + 1, sizeof *values), *outputs = values + n;
  if (!values) return fprintf(stderr, "tensor-run: there is no memory for the inputs\n"), 1;
  int code = read_inputs(o, described, n, values);
  if (!code && o->bench) {
    code = bench(&(prepared){program, values, outputs, n, m}, loading);
  } else if (!code) {
    code = tensor_program_run(program, values, n, outputs, m)
               ? fail(NULL)
               : write_outputs(o, results, m, outputs);
    for (int32_t i = 0; i < m; i++) tensor_value_free(&outputs[i]);
  }
  for (int32_t i = 0; i < n; i++)
    if (values[i].kind == TENSOR_VALUE_TENSOR) tensor_value_free(&values[i]);
  free(values);
  return code;
}

static void append(list *to, const char *item) { to->items[to->count++] = item; }

// Rejects options that others make useless. Returns 0 to go on, or the exit status plus 1.
static int check_options(const options *o) {
  if (o->inspect && o->inputs.count)
    return 1 + misuse("--inspect runs nothing, so omit --input ", o->inputs.items[0]);
  if (o->inspect && o->outputs.count)
    return 1 + misuse("--inspect runs nothing, so omit --output ", o->outputs.items[0]);
  if (o->inspect && o->sizes.count)
    return 1 + misuse("--inspect runs nothing, so omit --size ", o->sizes.items[0]);
  if (o->inspect && o->bench)
    return 1 + misuse("--inspect runs nothing, so omit --bench, or call tensor-run twice", "");
  if (o->bench && o->outputs.count)
    return 1 + misuse("--bench saves no outputs, so omit --output ", o->outputs.items[0]);
  return 0;
}

// Returns 0 to go on, or the exit status plus 1.
static int read_options(int argc, char **argv, options *o) {
  static const struct option names[] = {
      {"input", required_argument, 0, 'i'},   {"output", required_argument, 0, 'o'},
      {"size", required_argument, 0, 's'},    {"load", required_argument, 0, 'L'},
      {"inspect", no_argument, 0, 'l'},       {"bench", no_argument, 0, 'b'},
      {"threads", required_argument, 0, 't'}, {"help", no_argument, 0, 'h'},
      {"version", no_argument, 0, 'V'},       {0, 0, 0, 0},
  };
  for (int option; (option = getopt_long(argc, argv, "i:o:s:L:lbt:hV", names, NULL)) != -1;) {
    const char *equals;
    switch (option) {
      case 'i':
        append(&o->inputs, optarg);
        break;
      case 'o':
        append(&o->outputs, optarg);
        break;
      case 's':
        equals = strchr(optarg, '=');
        if (!equals || read_size(equals + 1) < 0)
          return 1 + misuse("--size takes NAME=N, a name and a size, not ", optarg);
        append(&o->sizes, optarg);
        break;
      case 't':
        if ((o->threads = read_size(optarg)) < 1)
          return 1 + misuse("--threads takes a positive number, not ", optarg);
        break;
      case 'L':
        append(&o->libraries, optarg);
        break;
      case 'l':
        o->inspect = true;
        break;
      case 'b':
        o->bench = true;
        break;
      case 'h':
        return fputs(usage, stdout), 1;
      case 'V':
        return printf("libtensor %d.%d.%d\n", tensor_version() / 10000,
                      tensor_version() / 100 % 100, tensor_version() % 100),
               1;
      default:
        return fputs("Try tensor-run --help.\n", stderr), 3;
    }
  }
  if (optind == argc) return 1 + misuse("the path of a program is missing", "");
  if (optind + 1 < argc) return 1 + misuse("there is one program, so what is ", argv[optind + 1]);
  o->model = argv[optind];
  return check_options(o);
}

// Loads the program of the options, and inspects or runs it.
static int use_program(const options *o) {
  tensor_program_t *program = NULL;
  const double begin = now();
  if (tensor_program_load(o->model, &program)) return fail(NULL);
  const int code = o->inspect ? inspect(program) : run(o, program, now() - begin);
  tensor_program_free(program);
  return code;
}

int main(int argc, char **argv) {
  const char **items = calloc(4 * (size_t)argc + 1, sizeof *items);
  if (!items) return 1;
  options o = {.inputs = {items, 0},
               .outputs = {items + argc, 0},
               .sizes = {items + 2 * argc, 0},
               .libraries = {items + 3 * argc, 0}};
  int code = read_options(argc, argv, &o);
  if (code) {
    free(items);
    return code - 1;
  }
  if (o.threads && tensor_set_num_threads(o.threads))
    code = fail("--threads");
  else if (!(code = load_libraries(&o.libraries)))
    code = use_program(&o);
  free(items);
  if (!code && (fflush(stdout) || ferror(stdout)))
    return fprintf(stderr, "tensor-run: cannot write to standard output: %s\n", strerror(errno)), 1;
  return code;
}
