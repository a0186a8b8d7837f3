// Arguments of reference calls for hostile.h: the generated program hostile.c has the tables. An
// argument of such a call is sometimes replaced by a hostile one, and its tensors by other tensor
// kinds.
#ifndef LIBTENSOR_TEST_HOSTILE_GIVEN_H
#define LIBTENSOR_TEST_HOSTILE_GIVEN_H

#include "hostile.h"

enum { REPLACED = 12 };           // one reference argument in this many is replaced,
static _Thread_local bool exact;  // except in calls with the unchanged reference arguments

// An argument: an integer, number of an enumeration or index into `stored` (-1: absent); a float;
// or n items, a string, bytes.
typedef struct {
  int64_t i, n;
  double f;
  const void *p;
} given;

typedef struct {
  tensor_dtype dtype;
  int32_t dims;
  int64_t size[6], stride[6], offset, at, nbytes;  // bytes begin at stored_bytes[at]
} stored_tensor;
static const stored_tensor *stored;
static const unsigned char *stored_bytes;

// The results of a call with reference arguments; they are freed after the call, or kept for later
// ones.
static _Thread_local tensor_t *temporary[128];
static _Thread_local int temporaries;
static _Thread_local tensor_storage_t *storages_made[16];
static _Thread_local int storages_of_call;

static void finish_temporaries(int first) {
  while (temporaries > first) {
    tensor_t *made = temporary[--temporaries];
    below(4) ? drop_tensor(made) : put_tensor(PLAIN + below(TENSORS - PLAIN), made);
  }
}
static void finish_storages(int first) {
  while (storages_of_call > first) tensor_storage_free(storages_made[--storages_of_call]);
}

// The tensor as another kind of tensor: of any dtype, a leaf, quantized, sparse, named, or of a
// level.
static tensor_t *varied(tensor_t *made) {
  tensor_t *other = NULL;
  if (exact && below(8)) return made;
  if (below(3) == 0) tensor_set_requires_grad(made, true);
  if (levels && below(2))
    other = of_level(made);
  else if (below(12) == 0)
    other = of_kind(made, below(KINDS));
  if (other) tensor_free(made), made = other;
  return made;
}

static tensor_storage_t *storage_of(int64_t k) {
  const stored_tensor *from = &stored[k];
  tensor_storage_t *made = NULL;
  void *at = NULL;
  if (tensor_storage_new(from->nbytes, (tensor_device){TENSOR_CPU, -1}, &made)) return NULL;
  if (from->nbytes && !tensor_storage_data_ptr(made, &at))
    memcpy(at, stored_bytes + from->at, (size_t)from->nbytes);
  return made;
}

// A tensor of the table, or with -2 - i tensor i of the pool.
static tensor_t *recorded(int64_t k) {
  if (k == -1) return say("NULL"), NULL;
  if (k < 0) return say("t[%d]", (int)(-2 - k)), t[-2 - k];
  say("recorded(%d)", (int)k);
  const stored_tensor *from = &stored[k];
  tensor_storage_t *storage = storage_of(k);
  tensor_t *made = NULL;
  tensor_empty((const int64_t[]){0}, 1, from->dtype, TENSOR_LAYOUT_NONE,
               (tensor_device){TENSOR_CPU, -1}, TENSOR_FORMAT_NONE, &made);
  if (made && storage)
    tensor_set__storage_geometry(made, storage, from->offset, from->size, from->dims, from->stride,
                                 from->dims);
  tensor_storage_free(storage);
  if (!made) return NULL;
  made = varied(made);
  if (temporaries == 128) return tensor_free(made), NULL;
  return temporary[temporaries++] = made;
}

static bool kept(const given *c) { return c && (exact || below(REPLACED)); }

static tensor_t *T_of(const given *c, int i) { return kept(c) ? recorded(c[i].i) : T(); }
static tensor_t *T_optional_of(const given *c, int i) {
  return kept(c) ? recorded(c[i].i) : T_optional();
}
static tensor_storage_t *ST_of(const given *c, int i) {
  if (!kept(c) || storages_of_call == 16) return ST();
  say("recorded_storage(%d)", (int)c[i].i);
  return storages_made[storages_of_call++] = storage_of(c[i].i);
}
static tensor_generator_t *G_of(const given *c, int i) {
  if (!kept(c)) return G();
  if (c[i].i < 0) return say("NULL"), NULL;
  say("g[%d]", (int)c[i].i % 2);
  return g[c[i].i % 2];
}
static tensor_node_t *N_of(const given *c, int i) { return (void)c, (void)i, N(); }
static int64_t I_of(const given *c, int i) {
  if (!kept(c)) return I();
  if (c[i].n) {
    int64_t innermost = levels ? level[levels - 1] : 0;
    say("%" PRId64, innermost);
    return innermost;
  }
  say("INT64_C(%" PRId64 ")", c[i].i);
  return c[i].i;
}
static bool B_of(const given *c, int i) {
  if (!kept(c)) return B();
  say("%d", (int)c[i].i);
  return c[i].i;
}
static int32_t B_optional_of(const given *c, int i) {
  if (!kept(c)) return B_optional();
  say("%d", (int)c[i].i);
  return (int32_t)c[i].i;
}
static double F_of(const given *c, int i) {
  if (!kept(c)) return F();
  say("%s", real(c[i].f));
  return c[i].f;
}
static const double *F_optional_of(double *cell, const given *c, int i) {
  if (!kept(c)) return F_optional(cell);
  if (!c[i].n) return say("NULL"), NULL;
  *cell = c[i].f;
  say("(const double[]){%s}", real(*cell));
  return cell;
}
static void say_scalar(tensor_scalar v) {
  if (v.kind == TENSOR_SCALAR_NONE)
    say("tensor_none()");
  else if (v.kind < TENSOR_SCALAR_FLOAT)
    say("(tensor_scalar){%d, {%" PRId64 "}}", v.kind, v.value.i);
  else
    say("tensor_complex(%s", real(v.value.f.re)), say(", %s)", real(v.value.f.im));
}
static tensor_scalar scalar_of(const given *c, int i) {
  if (!kept(c)) return scalar();
  tensor_scalar v = *(const tensor_scalar *)c[i].p;
  say_scalar(v);
  return v;
}
static const char *text_of(const given *c, int i) {
  if (!kept(c)) return text();
  say("\"%s\"", (const char *)c[i].p);
  return c[i].p;
}
static const char *text_optional_of(const given *c, int i) {
  if (!kept(c)) return text_optional();
  if (!c[i].p) return say("NULL"), NULL;
  say("\"%s\"", (const char *)c[i].p);
  return c[i].p;
}
static const char *path_of(const given *c, int i) { return kept(c) ? text_of(c, i) : path(); }
static tensor_device D_of(const given *c, int i) {
  if (!kept(c)) return D();
  (void)i;
  say("tensor_device_default()");
  return tensor_device_default();
}
static int32_t number_given(const given *c, int i) {
  say("%d", (int)c[i].i);
  return (int32_t)c[i].i;
}
static tensor_dtype dtype_of(const given *c, int i) {
  return kept(c) ? (tensor_dtype)number_given(c, i) : dtype();
}
static int32_t layout_of(const given *c, int i) {
  return kept(c) ? number_given(c, i) : number_of(5, -1);
}
static int32_t format_of(const given *c, int i) {
  return kept(c) ? number_given(c, i) : number_of(3, -1);
}

// A reference list; in long lists, one item in REPLACED is drawn.
#define LIST_OF(type, name, show)                                                  \
  static const type *name##_of(type *items, int64_t *n, const given *c, int i) {   \
    if (!kept(c) || c[i].n > LIST) return name(items, n);                          \
    const type *from = c[i].p;                                                     \
    if (c[i].n < 0) return *n = 0, say("NULL, 0"), NULL;                           \
    *n = c[i].n;                                                                   \
    say("(const " #type "[8]){");                                                  \
    for (int64_t k = 0; k < *n; k++) items[k] = from[k], show(from[k]), say(", "); \
    say("}, %" PRId64, *n);                                                        \
    return items;                                                                  \
  }
static void show_int(int64_t v) { say("INT64_C(%" PRId64 ")", v); }
static void show_float(double v) { say("%s", real(v)); }
static void show_bool(bool v) { say("%d", v); }
static void show_text(const char *v) { say("\"%s\"", v); }
LIST_OF(int64_t, ints, show_int)
LIST_OF(double, floats, show_float)
LIST_OF(tensor_scalar, scalars, say_scalar)
LIST_OF(bool, bools, show_bool)
LIST_OF(string, texts, show_text)

#define TENSORS_OF(name)                                                                           \
  static const tensor_handle *name##_of(tensor_handle *items, int64_t *n, const given *c, int i) { \
    if (!kept(c) || c[i].n > LIST) return name(items, n);                                          \
    const int64_t *from = c[i].p;                                                                  \
    if (c[i].n < 0) return *n = 0, say("NULL, 0"), NULL;                                           \
    *n = c[i].n;                                                                                   \
    say("(const tensor_handle[8]){");                                                              \
    for (int64_t k = 0; k < *n; k++) items[k] = recorded(from[k]), say(", ");                      \
    say("}, %" PRId64, *n);                                                                        \
    return items;                                                                                  \
  }
TENSORS_OF(tensors)
TENSORS_OF(tensors_optional)

typedef struct {
  int32_t kind;
  int64_t tensor, start, stop, step;
} given_item;
static const tensor_index *items_of(tensor_index *list, int64_t *n, const given *c, int i) {
  if (!kept(c) || c[i].n > LIST) return items(list, n);
  const given_item *from = c[i].p;
  *n = c[i].n;
  say("(const tensor_index[8]){");
  for (int64_t k = 0; k < *n; k++) {
    say("{%d, ", from[k].kind);
    list[k] = (tensor_index){from[k].kind, recorded(from[k].tensor), from[k].start, from[k].stop,
                             from[k].step};
    say(", INT64_C(%" PRId64 "), INT64_C(%" PRId64 "), INT64_C(%" PRId64 ")}, ", from[k].start,
        from[k].stop, from[k].step);
  }
  say("}, %" PRId64, *n);
  return list;
}

// An output: any tensor, or an empty one with the dtype of the reference result.
static tensor_t *out_of(const given *c, int i) {
  static const tensor_dtype common[] = {TENSOR_FLOAT32, TENSOR_INT64, TENSOR_BOOL, TENSOR_FLOAT64,
                                        TENSOR_COMPLEX64};
  if (!kept(c) || temporaries == 128) return T();
  tensor_dtype d =
      c[i].i < 0 || (!exact && below(4) == 0) ? common[below(5)] : (tensor_dtype)c[i].i;
  tensor_t *made = NULL;
  tensor_empty((const int64_t[]){0}, 1, d, TENSOR_LAYOUT_NONE, (tensor_device){TENSOR_CPU, -1},
               TENSOR_FORMAT_NONE, &made);
  say("empty(%d)", d);
  if (made) temporary[temporaries++] = made;
  return made;
}

#endif
