// Hostile calls: used by the generated program hostile.c, which hostile.py writes from the operator
// schemas, and by the programs that it prints. Every call draws its arguments from a separate
// random stream, so that a call stays the same if others are left out.
#ifndef LIBTENSOR_TEST_HOSTILE_H
#define LIBTENSOR_TEST_HOSTILE_H

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensor.h>
#include <time.h>
#include <unistd.h>

// Tensors from 3 on are of the kinds of of_kind, those from PLAIN on of any dtype and shape.
enum {
  TENSORS = 44,
  KINDS = 17,
  LEAF = 15,
  PLAIN = 3 + KINDS,
  STORAGES = 6,
  GENERATORS = 3,
  NODES = 6
};
enum { LIST = 8, LIMIT = 1 << 26 };

static _Atomic(tensor_t *) t[TENSORS];
static _Atomic(tensor_storage_t *) s[STORAGES];
static _Atomic(tensor_generator_t *) g[GENERATORS];
static _Atomic(tensor_node_t *) n[NODES];
static _Alignas(64) unsigned char memory[4096];  // for from_data and from_blob
static bool tracing;
static _Thread_local char line[1 << 14];
static _Thread_local size_t used;
static _Thread_local uint64_t state;
static _Atomic int faults;
static _Atomic int64_t answered, rejected;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
static uint64_t draw(void) { return mix(state += 0x9e3779b97f4a7c15u); }
static int below(int n) { return (int)(draw() % (uint64_t)n); }

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
  if (!tracing) return;
  va_list values;
  va_start(values, format);
  int n = vsnprintf(line + used, sizeof line - used, format, values);
  va_end(values);
  if (n > 0 && used + (size_t)n < sizeof line) used += (size_t)n;
}

__attribute__((format(printf, 1, 2))) static void fault(const char *format, ...) {
  va_list values;
  va_start(values, format);
  fputs("FAULT ", stdout);
  vprintf(format, values);
  putchar('\n');
  fflush(stdout);
  va_end(values);
  faults++;
}

// -----------------------------------------------------------------------------------------------------
// arguments

static const void *handle(_Atomic(void *) *live, int n, const char *name) {
  int turn = below(64);
  if (turn == 0) {
    say("NULL");
    return NULL;
  }
  if (turn == 1) {
    say("(void *)s[0]");
    return s[0];
  }
  if (turn == 2) {
    say("(void *)g[0]");
    return g[0];
  }
  if (turn == 3) {  // a stale or never given handle near a live one
    int64_t far = (below(9) - 4) * 8;
    say("(void *)((char *)t[0] + %" PRId64 ")", far);
    return (void *)((uintptr_t)t[0] + (uintptr_t)far);
  }
  if (turn == 4) {
    static const uintptr_t foreign[] = {
        1, 8, 4096, 0x7fffffffffff, UINTPTR_MAX, (uintptr_t)1 << 47};
    uintptr_t at = foreign[below(6)];
    say("(void *)0x%" PRIxPTR, at);
    return (void *)at;
  }
  int i = below(n);
  say("%s[%d]", name, i);
  return live[i];
}
// The tensors that half of a call's are drawn from, if there are any.
static _Thread_local int preferred, preferences;
static void prefer(int first, int count) { preferred = first, preferences = count; }
static tensor_t *T(void) {
  if (preferences && below(2)) {
    int i = preferred + below(preferences);
    say("t[%d]", i);
    return t[i];
  }
  return (tensor_t *)handle((void *)t, TENSORS, "t");
}
static tensor_t *T_optional(void) {
  if (below(3) == 0) return say("NULL"), NULL;
  return T();
}
static tensor_storage_t *ST(void) { return (void *)handle((void *)s, STORAGES, "s"); }
static tensor_generator_t *G(void) {
  if (below(2)) return say("NULL"), NULL;
  return (void *)handle((void *)g, GENERATORS, "g");
}
static tensor_node_t *N(void) { return (void *)handle((void *)n, NODES, "n"); }
// 30,000 is a count of parts or repetitions that is honoured, at 500 bytes each.
static int64_t whole(void) {
  static const int64_t extreme[] = {INT64_MIN,
                                    INT64_MAX,
                                    INT64_MIN + 1,
                                    1 << 30,
                                    (int64_t)1 << 31,
                                    (int64_t)1 << 32,
                                    (int64_t)1 << 62,
                                    -100,
                                    63,
                                    64,
                                    65,
                                    30000};
  return below(4) ? below(7) - 2 : extreme[below(12)];
}
static _Thread_local int64_t level[4];  // numbers of the transforms that the thread is in
static _Thread_local int levels;
static int64_t I(void) {
  int64_t v = levels && below(4) == 0 ? level[below(levels)] : whole();
  if (v == INT64_MIN)
    say("INT64_MIN");
  else
    say("INT64_C(%" PRId64 ")", v);
  return v;
}
static double number(void) {
  static const double extreme[] = {NAN, INFINITY, -INFINITY, -0.0, 1e308, -1e308, 1e-310, 0x1p63};
  return below(3) ? below(9) - 3 + below(4) * 0.25 : extreme[below(8)];
}
static const char *real(double v) {
  static _Thread_local char text[64];
  if (isnan(v)) return "NAN";
  if (isinf(v)) return v > 0 ? "INFINITY" : "-INFINITY";
  snprintf(text, sizeof text, "%a", v);
  return text;
}
static double F(void) {
  double v = number();
  say("%s", real(v));
  return v;
}
static const double *F_optional(double *cell) {
  if (below(2)) return say("NULL"), NULL;
  say("(const double[]){");
  *cell = F();
  say("}");
  return cell;
}
static tensor_scalar scalar(void) {
  switch (below(24)) {
    case 0: {
      tensor_scalar wild = tensor_none();
      wild.kind = below(2) ? 77 : -5;
      say("(tensor_scalar){%d, {0}}", wild.kind);
      return wild;
    }
    case 1:
      say("tensor_none()");
      return tensor_none();
    case 2:
    case 3:
      say("tensor_bool(1)");
      return tensor_bool(1);
    case 4:
    case 5: {
      double re = number(), im = number();
      say("tensor_complex(%s, ", real(re));
      say("%s)", real(im));
      return tensor_complex(re, im);
    }
  }
  if (below(2)) {
    double v = number();
    say("tensor_float(%s)", real(v));
    return tensor_float(v);
  }
  say("tensor_int(");
  tensor_scalar made = tensor_int(I());
  say(")");
  return made;
}
static bool B(void) {
  bool v = below(2);
  say("%d", v);
  return v;
}
static int32_t B_optional(void) {
  int32_t v = below(12) ? below(3) - 1 : 77;
  say("%d", v);
  return v;
}
// Dtypes that three tensors in four have, for runs that look for one kind of defect.
enum { DTYPES = TENSOR_FLOAT8_E8M0FNU + 1 };
static int favoured[DTYPES], favours;
static void favour(const char *numbers) {
  char *end;
  for (long n = strtol(numbers, &end, 10); end != numbers && favours < DTYPES;
       numbers = end, n = strtol(numbers, &end, 10))
    favoured[favours++] = (int)n;
}
// A value of an enumeration, sometimes an invalid one.
static int32_t number_of(int last, int frequent) {
  int32_t v = below(32) ? (below(4) ? below(last + 2) - 1 : frequent) : below(2) ? 99 : INT32_MIN;
  say("%d", v);
  return v;
}
static tensor_dtype dtype(void) {
  return (tensor_dtype)number_of(DTYPES - 1, favours ? favoured[below(favours)] : TENSOR_COMPLEX32);
}
static tensor_device D(void) {
  static const tensor_device devices[] = {{-1, -1}, {-1, -1}, {-1, -1}, {0, -1}, {0, 0},
                                          {2, -1},  {1, 0},   {77, 3},  {0, 99}};
  tensor_device d = devices[below(9)];
  say("(tensor_device){%d, %d}", d.type, d.index);
  return d;
}
static const char *text(void) {
  static const char *const words[] = {
      "",         "sum",    "mean",      "prod",           "amax",  "amin",     "floor",
      "trunc",    "linear", "nearest",   "left",           "right", "ij",       "xy",
      "fro",      "nuc",    "ij,jk->ik", "...i,...i->...", "ii->i", "a->",      "[0]",
      "cpu",      "meta",   "cuda:1",    "cpu:",           "%s%n",  "\xff\xfe", "add",
      "multiply", "error",  "same",      "different",      "N",     "C",        "reflect"};
  const char *v = words[below(35)];
  say("\"%s\"", v[0] == '\xff' ? "\\xff\\xfe" : v);
  return v;
}
static const char *text_optional(void) {
  if (below(2)) return say("NULL"), NULL;
  return text();
}
// A separate folder for the files that calls write; every program has one.
static const char *path(void) {
  static const char *const names[] = {"a", "b", "c", "", "/nonexistent/x", "."};
  const char *v = names[below(6)];
  say("\"%s\"", v);
  return v;
}
// The length of a list. It is wrong only where nothing is read.
static int64_t length(int n, const void **data) {
  if (below(24) == 0) {
    *data = NULL;
    n = below(3);
  } else if (below(48) == 0) {
    return below(2) ? -1 : INT64_MIN;
  }
  return n;
}
static void say_length(int64_t n) { n == INT64_MIN ? say("INT64_MIN") : say("%" PRId64, n); }

#define LISTED(type, name, element)                                                  \
  static const type *name(type *items, int64_t *n) {                                 \
    const void *data = items;                                                        \
    int count = below(below(8) ? 4 : LIST + 1);                                      \
    *n = length(count, &data);                                                       \
    say("(const " #type                                                              \
        "["                                                                          \
        "8"                                                                          \
        "]){");                                                                      \
    for (int i = 0; i < count; i++) items[i] = (i ? say(", ") : (void)0, element()); \
    say("}%s, ", data ? "" : " + 0 /* given as NULL */");                            \
    say_length(*n);                                                                  \
    return data;                                                                     \
  }
LISTED(int64_t, ints, I)
LISTED(double, floats, F)
LISTED(tensor_scalar, scalars, scalar)
LISTED(bool, bools, B)
typedef const char *string;
LISTED(string, texts, text)
typedef const tensor_t *tensor_handle;
LISTED(tensor_handle, tensors, T)
LISTED(tensor_handle, tensors_optional, T_optional)
static tensor_index item(void) {
  tensor_index i = {below(24) ? below(6) : 99, NULL, 0, 0, 0};
  say("{%d, ", i.kind);
  if (i.kind == TENSOR_INDEX_TENSOR)
    i.tensor = T();
  else
    say("NULL");
  say(", ");
  i.start = below(2) ? whole() : INT64_MIN, i.stop = below(2) ? whole() : INT64_MIN,
  i.step = below(2) ? 1 + below(3) : whole();
  say("%" PRId64 " + 0, %" PRId64 " + 0, %" PRId64 " + 0}", i.start, i.stop, i.step);
  return i;
}
LISTED(tensor_index, items, item)

// -------------------------------------------------------------------------------------------------------
// results

// Frees a tensor. A graph over the leaf itself, that is its gradient or that it was written with,
// would keep both for ever.
static void drop_tensor(tensor_t *made) {
  if (made) tensor_set_grad(made, NULL), tensor_detach_(made), tensor_free(made);
}

static void put_tensor(int i, tensor_t *made) {
  int64_t n = tensor_numel(made);
  if (n > 1 << 18) drop_tensor(made), made = NULL;  // so that later calls stay short
  drop_tensor(atomic_exchange(&t[i], made));
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double patience = 4;  // seconds of all threads together that a call may take

static tensor_status judged(const char *name, tensor_status status, double start) {
  status == TENSOR_OK ? answered++ : rejected++;
  if (status == TENSOR_OK) return status;
  const char *message = tensor_last_error();
  if (status < TENSOR_OK || status > TENSOR_ERROR_LINALG) fault("%s: status %d", name, status);
  if (status == TENSOR_ERROR_INTERNAL || strstr(message, "internal error"))
    fault("%s: %s", name, message);
  if (!*message) fault("%s: status %d without a message", name, status);
  (void)start;
  return status;
}
static void timed(const char *name, double start) {
  double took = seconds() - start;
  if (took > patience) fault("%s: took %.1f s", name, took);
}

// ---------------------------------------------------------------------------------------------------------
// pools

// The tensor converted to another kind, NULL on failure.
static tensor_t *of_kind(const tensor_t *from, int kind) {
  static const int64_t block[] = {1, 1};
  tensor_t *made = NULL, *other = NULL;
  switch (kind) {
    case 0:
      tensor_to_sparse_coo(from, INT64_MIN, &made);
      break;
    case 1:
      tensor_to_sparse_csr(from, INT64_MIN, &made);
      break;
    case 2:
      tensor_to_sparse_csc(from, INT64_MIN, &made);
      break;
    case 3:
      tensor_to_sparse_bsr(from, block, 2, INT64_MIN, &made);
      break;
    case 4:
      tensor_to_sparse_bsc(from, block, 2, INT64_MIN, &made);
      break;
    case 5:
    case 6:
    case 7:
    case 8: {
      static const tensor_dtype quantized[] = {TENSOR_QUINT8, TENSOR_QINT8, TENSOR_QINT32,
                                               TENSOR_QUINT8};
      tensor_quantize_per_tensor(from, 0.5, kind == 6 ? 0 : 3, quantized[kind - 5], &made);
      break;
    }
    case 9:
    case 10: {  // per channel, also in dtypes of less than a byte
      static const int64_t zeros[64];
      int64_t channels = tensor_dim(from) > 0 ? tensor_sizes(from)[0] : 65;
      tensor_t *scales = NULL;
      if (channels > 64) break;
      tensor_full(&channels, 1, tensor_float(0.5), TENSOR_FLOAT32, TENSOR_LAYOUT_NONE,
                  tensor_device_default(), &scales);
      tensor_from_data(zeros, &channels, 1, TENSOR_INT64, &other);
      tensor_quantize_per_channel(from, scales, other, 0,
                                  kind == 9 ? TENSOR_QINT8 : TENSOR_QUINT4X2, &made);
      tensor_free(scales);
      break;
    }
    case 11: {
      static const char *const names[] = {"N", "C", "H", "W"};
      if (tensor_dim(from) <= 4) tensor_rename(from, names, tensor_dim(from), &made);
      break;
    }
    case 12:
    case 13:
    case 14:
      tensor_clone(from, TENSOR_FORMAT_NONE, &made);
      tensor_set_requires_grad(made, true);
      break;
    default:  // created from a leaf
      tensor_exp(t[LEAF], kind == 15 ? &made : &other);
      if (other) tensor_sum(other, NULL, 0, false, TENSOR_DTYPE_NONE, &made);
  }
  tensor_free(other);
  return made;
}

// Transforms that the thread is in.
enum { DEEPEST_LEVEL = 4 };
static bool transforms;  // whether calls begin and end them
static _Thread_local bool mapped[DEEPEST_LEVEL];

static void leave_levels(int left) {
  tensor_transform_leave(left ? level[left - 1] : 0);
  levels = left;
}
static void begin_level(void) {
  static const char *const randomness[] = {"error", "same", "different"};
  if (levels == DEEPEST_LEVEL) return leave_levels(below(DEEPEST_LEVEL));
  mapped[levels] = below(2);
  tensor_status status = mapped[levels]
                             ? tensor_vmap_begin(2 + below(2), randomness[below(3)], &level[levels])
                             : tensor_jvp_begin(&level[levels]);
  if (status == TENSOR_OK) levels++;
}
// The tensor, batched or with a tangent at one of the levels; NULL on failure.
static tensor_t *of_level(const tensor_t *from) {
  tensor_t *made = NULL, *tangent = NULL;
  int at = below(levels);
  if (mapped[at]) {
    tensor_vmap_wrap(from, below(3), level[at], &made);
  } else {
    tensor_clone(from, TENSOR_FORMAT_NONE, &tangent);
    tensor_jvp_wrap(from, tangent, level[at], &made);
    tensor_free(tangent);
  }
  return made;
}

static void make(int i) {
  static const int64_t sizes[][4] = {{0, 0, 0, 0}, {4, 0, 0, 0}, {2, 3, 0, 0},
                                     {3, 2, 0, 0}, {2, 3, 4, 0}, {3, 3, 0, 0},
                                     {1, 3, 2, 2}, {0, 3, 0, 0}, {1, 0, 0, 0}};
  static const int dims[] = {0, 1, 2, 2, 3, 2, 4, 2, 1};
  bool special = i >= 3 && i < PLAIN;
  int shape = special ? 5 : below(9);
  tensor_dtype d = special ? TENSOR_FLOAT32
                           : (tensor_dtype)(favours && below(4) ? favoured[below(favours)]
                                            : below(4)          ? below(DTYPES)
                                                                : TENSOR_FLOAT32);
  tensor_t *made = NULL, *view = NULL;
  if (i == 0) {  // enough for several threads
    tensor_full((const int64_t[]){70000}, 1, tensor_int(2), TENSOR_FLOAT32, TENSOR_LAYOUT_NONE,
                tensor_device_default(), &made);
  } else if (i == 1) {
    tensor_empty(sizes[shape], dims[shape], d, TENSOR_LAYOUT_NONE, (tensor_device){TENSOR_META, -1},
                 TENSOR_FORMAT_NONE, &made);
  } else if (i == 2) {
    tensor_from_blob(memory, 64, TENSOR_FLOAT32, (const int64_t[]){4}, 1, NULL, 0, NULL, NULL, true,
                     &made);
  } else {
    bool quantized = d >= TENSOR_QUINT8 && d <= TENSOR_QUINT2X4;
    tensor_dtype first = quantized ? TENSOR_FLOAT32 : d;
    for (size_t k = 0; k < 512; k++)
      memory[k] = below(16) ? (unsigned char)below(3) : (unsigned char)draw();
    if (special || quantized || below(2)) {  // numbers, not bytes
      tensor_full(sizes[shape], dims[shape], tensor_int(below(7) - 1), first, TENSOR_LAYOUT_NONE,
                  tensor_device_default(), &made);
    } else {
      if (d == TENSOR_BOOL)
        for (size_t k = 0; k < 512; k++) memory[k] &= 1;
      tensor_from_data(memory, sizes[shape], dims[shape], d, &made);
    }
    int turn = special ? 3 : below(4);
    if (made && special) view = of_kind(made, i - 3);
    if (made && quantized) tensor_quantize_per_tensor(made, 0.5, 1, d, &view);
    if (view) tensor_free(made), made = view, view = NULL;
    if (made && turn == 0 && dims[shape] >= 2) tensor_transpose(made, 0, 1, &view);
    if (made && turn == 1 && dims[shape] >= 1) tensor_slice(made, 0, 1, INT64_MAX, 2, &view);
    if (made && turn == 2)
      tensor_expand(made, (const int64_t[]){2, -1, -1, -1, -1}, dims[shape] + 1, 0, &view);
  }
  if (view) tensor_free(made), made = view;
  if (made && levels && below(2)) {
    tensor_t *wrapped = of_level(made);
    if (wrapped) tensor_free(made), made = wrapped;
  }
  if (made) put_tensor(i, made);
}
static void make_node(int i) {
  tensor_node_t *made = NULL;
  tensor_grad_fn(t[3 + KINDS - 1 - below(2)], &made);
  tensor_node_free(atomic_exchange(&n[i], made));
}

// A call without a limit may honestly take gigabytes, and minutes to fill them.
static void capped(void) {
  int64_t limit = 0, other;
  tensor_memory_stats(&other, &other, &other, &limit, &other, &other);
  if (limit == 0 || limit > LIMIT) tensor_set_memory_limit(LIMIT);
}

static void settings(void) {
  tensor_fail_allocation(0);
  tensor_set_memory_limit(LIMIT);
  tensor_set_default_dtype(TENSOR_FLOAT32);
  tensor_set_default_device((tensor_device){TENSOR_CPU, -1});
  tensor_set_grad_enabled(true);
  tensor_set_inference_mode(false);
  tensor_set_autocast_enabled("cpu", false), tensor_set_autocast_enabled("cuda", false);
  tensor_clear_autocast_cache();  // of the calling thread
  if (!transforms) leave_levels(0);
  tensor_set_num_threads(2);
}

static int64_t in_use(void) {
  int64_t v[6] = {0};
  tensor_memory_stats(v, v + 1, v + 2, v + 3, v + 4, v + 5);
  return v[0];
}
static int64_t handles_before, bytes_before;

static void begin(uint64_t seed, uint64_t block) {
  settings();
  state = mix(seed * 1000003 + block);
  handles_before = tensor_live_handles(), bytes_before = in_use();
  for (int i = 0; i < TENSORS; i++) make(i);
  for (int i = 0; i < STORAGES; i++) {
    tensor_storage_t *made = NULL;
    tensor_storage_new(i * 16, i == 5 ? (tensor_device){TENSOR_META, -1} : tensor_device_default(),
                       &made);
    s[i] = made;
  }
  for (int i = 0; i < GENERATORS; i++) {
    tensor_generator_t *made = NULL;
    tensor_generator_new(tensor_device_default(), i % 2 ? "philox" : "mt19937", &made);
    tensor_generator_manual_seed(made, i);
    g[i] = made;
  }
  for (int i = 0; i < NODES; i++) make_node(i);
}

static void end(void) {
  leave_levels(0);
  for (int i = 0; i < NODES; i++) tensor_node_free(atomic_exchange(&n[i], NULL));
  for (int i = 0; i < TENSORS; i++) drop_tensor(atomic_exchange(&t[i], NULL));
  for (int i = 0; i < STORAGES; i++) tensor_storage_free(atomic_exchange(&s[i], NULL));
  for (int i = 0; i < GENERATORS; i++) tensor_generator_free(atomic_exchange(&g[i], NULL));
  settings();
  int64_t handles = tensor_live_handles() - handles_before, bytes = in_use() - bytes_before;
  if (handles) fault("leak: %" PRId64 " handles", handles);
  if (bytes) fault("leak: %" PRId64 " bytes in use", bytes);
}

#endif
