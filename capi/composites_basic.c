// ATen's operators that are composed of others: metadata, copies, indexing and checks.
#include "composites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"

// ----------------------------------------------------------------------------------- temporaries

void lt_hold(lt_temporaries *t, tensor_t *tensor) {
  enum { ROOM = sizeof t->held / sizeof *t->held };
  if (!tensor) return;
  if (t->count < ROOM)
    t->held[t->count++] = tensor;
  else
    tensor_free(tensor), t->status = TENSOR_ERROR_INTERNAL;
}

void lt_return(lt_temporaries *t, tensor_t *tensor, lt_value *result) {
  if (t->status) return;
  for (int i = 0; i < t->count; i++)
    if (t->held[i] == tensor) t->held[i] = NULL;
  result->pointer = tensor;
}

tensor_status lt_finish(lt_temporaries *t, lt_value *results) {
  for (int i = 0; i < t->count; i++) tensor_free(t->held[i]);
  for (int i = 0; t->status && i < LT_MOST_RESULTS; i++) {
    tensor_free(results[i].pointer);
    results[i].pointer = NULL;
  }
  return t->status;
}

tensor_status lt_reject_dim(tensor_status status, const char *argument, int64_t dim, int64_t n) {
  if (n == 0)
    return lt_reject(status, "argument '%s' is %lld; the tensor has no dimensions", argument,
                     (long long)dim);
  return lt_reject(status, "argument '%s' is %lld; it must be from %lld to %lld", argument,
                   (long long)dim, (long long)-n, (long long)n - 1);
}

tensor_status lt_convert_dtype(const tensor_t *t, tensor_dtype dtype, tensor_t **out) {
  return tensor_to_options(t, dtype, TENSOR_LAYOUT_NONE, tensor_device_default(), false, false,
                           TENSOR_FORMAT_NONE, out);
}

// -------------------------------------------------------------------------------------- metadata

// Checks a handle, which the getters of the header do not.
static tensor_status check_tensor(const lt_value *a) {
  if (lt_find(a->pointer)) return TENSOR_OK;
  const lt_slot *slot = lt_resolve(a->pointer, LT_TENSOR, "call", "self");
  (void)slot;
  return TENSOR_ERROR_HANDLE;
}

static tensor_status give_int(const lt_value *a, int64_t value, lt_value *r) {
  const tensor_status status = check_tensor(a);
  if (!status) r->i = value;
  return status;
}

static tensor_status give_item(const lt_value *a, const int64_t *(*read)(const tensor_t *),
                               lt_value *r) {
  const tensor_status status = check_tensor(a);
  if (status) return status;
  const int64_t n = tensor_dim(a[0].pointer), dim = a[1].i;
  if (dim < -n || dim >= n) return lt_reject_dim(TENSOR_ERROR_INDEX, "dim", dim, n);
  r->i = read(a[0].pointer)[dim < 0 ? dim + n : dim];
  return TENSOR_OK;
}

static tensor_status give_list(const lt_value *a, const int64_t *(*read)(const tensor_t *),
                               lt_value *r) {
  const tensor_status status = check_tensor(a);
  if (status) return status;
  const int64_t n = tensor_dim(a[0].pointer);
  int64_t *made = malloc((size_t)n * sizeof *made + 1);
  if (!made) return lt_reject(TENSOR_ERROR_MEMORY, "out of memory for %lld sizes", (long long)n);
  memcpy(made, read(a[0].pointer), (size_t)n * sizeof *made);
  r->list.data = made, r->list.length = n;
  return TENSOR_OK;
}

tensor_status lt_compute_sym_size_int(lt_value *a, lt_value *r) {
  return give_item(a, tensor_sizes, r);
}
tensor_status lt_compute_size_int(lt_value *a, lt_value *r) {
  return give_item(a, tensor_sizes, r);
}
tensor_status lt_compute_sym_stride_int(lt_value *a, lt_value *r) {
  return give_item(a, tensor_strides, r);
}
tensor_status lt_compute_stride_int(lt_value *a, lt_value *r) {
  return give_item(a, tensor_strides, r);
}
tensor_status lt_compute_sym_size(lt_value *a, lt_value *r) {
  return give_list(a, tensor_sizes, r);
}
tensor_status lt_compute_size(lt_value *a, lt_value *r) { return give_list(a, tensor_sizes, r); }
tensor_status lt_compute_sym_stride(lt_value *a, lt_value *r) {
  return give_list(a, tensor_strides, r);
}
tensor_status lt_compute_stride(lt_value *a, lt_value *r) {
  return give_list(a, tensor_strides, r);
}
tensor_status lt_compute_sym_numel(lt_value *a, lt_value *r) {
  return give_int(a, tensor_numel(a->pointer), r);
}
tensor_status lt_compute_numel(lt_value *a, lt_value *r) {
  return give_int(a, tensor_numel(a->pointer), r);
}
tensor_status lt_compute_dim(lt_value *a, lt_value *r) {
  return give_int(a, tensor_dim(a->pointer), r);
}
tensor_status lt_compute_sym_storage_offset(lt_value *a, lt_value *r) {
  return give_int(a, tensor_storage_offset(a->pointer), r);
}
tensor_status lt_compute_storage_offset(lt_value *a, lt_value *r) {
  return give_int(a, tensor_storage_offset(a->pointer), r);
}

tensor_status lt_compute_sym_is_contiguous(lt_value *a, lt_value *r) {
  bool is = false;
  const tensor_status status = tensor_is_contiguous(a->pointer, (tensor_memory_format)a[1].i, &is);
  r->i = is;
  return status;
}

static bool is_float(tensor_dtype d) {
  return (d >= TENSOR_FLOAT16 && d <= TENSOR_FLOAT64) || d >= TENSOR_FLOAT8_E4M3FN;
}

tensor_status lt_compute_is_complex(lt_value *a, lt_value *r) {
  return give_int(a, lt_is_complex(tensor_get_dtype(a->pointer)), r);
}
tensor_status lt_compute_is_floating_point(lt_value *a, lt_value *r) {
  return give_int(a, is_float(tensor_get_dtype(a->pointer)), r);
}
tensor_status lt_compute_is_signed(lt_value *a, lt_value *r) {
  const tensor_dtype d = tensor_get_dtype(a->pointer);
  const bool is = lt_is_complex(d) || is_float(d) || (d >= TENSOR_INT8 && d <= TENSOR_INT64);
  return give_int(a, is, r);
}

// ------------------------------------------------------------------------------ views and copies

tensor_status lt_compute_alias(lt_value *a, lt_value *r) {
  const tensor_status status = check_tensor(a);
  if (status) return status;
  RETURN_TENSOR(
      tensor_expand(a->pointer, tensor_sizes(a->pointer), tensor_dim(a->pointer), false, &made));
}
tensor_status lt_compute_lift_fresh(lt_value *a, lt_value *r) { return lt_compute_alias(a, r); }
tensor_status lt_compute_lift(lt_value *a, lt_value *r) { return lt_compute_alias(a, r); }

tensor_status lt_compute_copy(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *made = NULL;
  RUN(&t, made,
      tensor_empty_like(a[0].pointer, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE,
                        tensor_device_default(), TENSOR_PRESERVE, &made));
  DO(&t, tensor_copy_(made, a[1].pointer, a[2].i != 0));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

static tensor_status convert_like(const lt_value *a, bool non_blocking, bool copy, int64_t format,
                                  lt_value *r) {
  const tensor_status status = check_tensor(a + 1);
  if (status) return status;
  const tensor_t *other = a[1].pointer;
  RETURN_TENSOR(tensor_to_options(a[0].pointer, tensor_get_dtype(other), TENSOR_LAYOUT_NONE,
                                  tensor_get_device(other), non_blocking, copy,
                                  (tensor_memory_format)format, &made));
}
tensor_status lt_compute_type_as(lt_value *a, lt_value *r) {
  return convert_like(a, false, false, TENSOR_FORMAT_NONE, r);
}
tensor_status lt_compute_to_other(lt_value *a, lt_value *r) {
  return convert_like(a, a[2].i != 0, a[3].i != 0, a[4].i, r);
}
tensor_status lt_compute_chalf(lt_value *a, lt_value *r) {
  RETURN_TENSOR(tensor_to_options(a[0].pointer, TENSOR_COMPLEX32, TENSOR_LAYOUT_NONE,
                                  tensor_device_default(), false, false,
                                  (tensor_memory_format)a[1].i, &made));
}

// -------------------------------------------------------------------------------------- indexing

tensor_status lt_compute_index_Tensor(lt_value *a, lt_value *r) {
  const int64_t n = a[1].list.length;
  const tensor_t *const *tensors = a[1].list.data;
  tensor_index *items = calloc((size_t)n + 1, sizeof *items);
  if (!items) return lt_reject(TENSOR_ERROR_MEMORY, "out of memory for %lld indices", (long long)n);
  for (int64_t i = 0; i < n; i++)
    items[i] = (tensor_index){tensors[i] ? TENSOR_INDEX_TENSOR : TENSOR_INDEX_SLICE, tensors[i],
                              TENSOR_NONE, TENSOR_NONE, TENSOR_NONE};
  tensor_t *made = NULL;
  const tensor_status status = tensor_index_get(a[0].pointer, items, n, &made);
  free(items);
  return lt_set_result(status, made, r);
}
tensor_status lt_compute__unsafe_index_Tensor(lt_value *a, lt_value *r) {
  return lt_compute_index_Tensor(a, r);
}

// Results that were not asked for are empty.
static tensor_status fill_results(tensor_status status, const tensor_t *self, tensor_t *const *made,
                                  lt_value *r) {
  lt_temporaries t = {.status = status};
  const int64_t none = 0;
  for (int i = 0; i < 3; i++) {
    tensor_t *result = made[i];
    if (!status && !result)
      RUN(&t, result,
          tensor_empty(&none, 1, TENSOR_INT64, TENSOR_LAYOUT_NONE, tensor_get_device(self),
                       TENSOR_FORMAT_NONE, &result));
    r[i].pointer = result;
  }
  t.count = 0;
  return lt_finish(&t, r);
}

static tensor_status find_unique(const lt_value *a, bool sorted, bool inverse, bool counts,
                                 int64_t dim, lt_value *r) {
  tensor_t *made[3] = {NULL};
  const tensor_status status =
      tensor_unique(a->pointer, sorted, inverse, counts, dim, made, made + 1, made + 2);
  return fill_results(status, a->pointer, made, r);
}
tensor_status lt_compute__unique2(lt_value *a, lt_value *r) {
  return find_unique(a, a[1].i != 0, a[2].i != 0, a[3].i != 0, TENSOR_NONE, r);
}
// With a dimension ATen returns the inverse indices and the counts in any case.
tensor_status lt_compute_unique_dim(lt_value *a, lt_value *r) {
  return find_unique(a, a[2].i != 0, true, true, a[1].i, r);
}

static tensor_status find_consecutive(const lt_value *a, bool inverse, bool counts, int64_t dim,
                                      lt_value *r) {
  tensor_t *made[3] = {NULL};
  const tensor_status status =
      tensor_unique_consecutive(a->pointer, inverse, counts, dim, made, made + 1, made + 2);
  return fill_results(status, a->pointer, made, r);
}
tensor_status lt_compute_unique_consecutive(lt_value *a, lt_value *r) {
  return find_consecutive(a, a[1].i != 0, a[2].i != 0, a[3].i, r);
}
tensor_status lt_compute_unique_dim_consecutive(lt_value *a, lt_value *r) {
  return find_consecutive(a, true, true, a[1].i, r);
}

tensor_status lt_compute_bernoulli_Tensor(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *made = NULL;
  RUN(&t, made, tensor_clone(a[0].pointer, TENSOR_PRESERVE, &made));
  DO(&t, tensor_bernoulli__tensor(made, a[1].pointer, a[2].pointer));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// ---------------------------------------------------------------------------------------- checks

static bool is_true(const tensor_scalar *s) {
  return s->kind >= TENSOR_SCALAR_FLOAT && s->kind != TENSOR_SCALAR_UINT
             ? s->value.f.re != 0 || (s->kind == TENSOR_SCALAR_COMPLEX && s->value.f.im != 0)
             : s->value.i != 0;
}

tensor_status lt_compute__assert_scalar(lt_value *a, lt_value *r) {
  (void)r;
  return is_true(&a[0].scalar) ? TENSOR_OK : lt_reject(TENSOR_ERROR_RUNTIME, "%s", a[1].text);
}
tensor_status lt_compute__functional_assert_scalar(lt_value *a, lt_value *r) {
  const tensor_status status = lt_compute__assert_scalar(a, r);
  if (status) return status;
  return lt_compute_alias(a + 2, r);
}

static tensor_status assert_tensor(const lt_value *a, const char *message) {
  bool is = false;
  const tensor_status status = tensor_is_nonzero(a->pointer, &is);
  return status || is ? status : lt_reject(TENSOR_ERROR_RUNTIME, "%s", message);
}
tensor_status lt_compute__assert_async(lt_value *a, lt_value *r) {
  (void)r;
  return assert_tensor(a, "Expected Tensor with single nonzero value, but got zero");
}
tensor_status lt_compute__assert_async_msg(lt_value *a, lt_value *r) {
  (void)r;
  return assert_tensor(a, a[1].text);
}

// size, min, max: a[1] and a[2] are TENSOR_NONE if they are not given.
static tensor_status check_range(const lt_value *a, int64_t low) {
  const int64_t size = a[0].scalar.value.i, min = a[1].i == TENSOR_NONE ? low : a[1].i;
  if (size >= min && (a[2].i == TENSOR_NONE || size <= a[2].i)) return TENSOR_OK;
  return lt_reject(TENSOR_ERROR_RUNTIME,
                   "argument 'size' is %lld; it must be between %lld and %lld", (long long)size,
                   (long long)min, (long long)(a[2].i == TENSOR_NONE ? INT64_MAX : a[2].i));
}
tensor_status lt_compute_sym_constrain_range(lt_value *a, lt_value *r) {
  (void)r;
  return check_range(a, INT64_MIN + 1);
}
tensor_status lt_compute_sym_constrain_range_for_size(lt_value *a, lt_value *r) {
  (void)r;
  return check_range(a, 0);
}

tensor_status lt_compute__assert_tensor_metadata(lt_value *a, lt_value *r) {
  (void)r;
  const tensor_status status = check_tensor(a);
  if (status) return status;
  const tensor_t *self = a[0].pointer;
  const int64_t n = tensor_dim(self);
  for (int i = 1; i <= 2; i++) {
    const int64_t *expected = a[i].list.data,
                  *actual = i == 1 ? tensor_sizes(self) : tensor_strides(self);
    if (expected &&
        (a[i].list.length != n || memcmp(expected, actual, (size_t)n * sizeof *actual) != 0))
      return lt_reject(TENSOR_ERROR_RUNTIME, "argument 'a' has other %s than '%s'",
                       i == 1 ? "sizes" : "strides", i == 1 ? "size" : "stride");
  }
  if (a[3].i >= 0 && a[3].i != tensor_get_dtype(self))
    return lt_reject(TENSOR_ERROR_RUNTIME, "argument 'a' has dtype %s; %s is required",
                     tensor_dtype_name(tensor_get_dtype(self)),
                     tensor_dtype_name((tensor_dtype)a[3].i));
  if (a[4].device.type >= 0 && a[4].device.type != tensor_get_device(self).type)
    return lt_reject(TENSOR_ERROR_RUNTIME, "argument 'a' is on another device than 'device'");
  if (a[5].i >= 0 && a[5].i != (int64_t)tensor_get_layout(self))
    return lt_reject(TENSOR_ERROR_RUNTIME, "argument 'a' has another layout than 'layout'");
  return TENSOR_OK;
}

tensor_status lt_compute__is_all_true(lt_value *a, lt_value *r) {
  RETURN_TENSOR(tensor_all(a->pointer, NULL, 0, false, &made));
}
tensor_status lt_compute__is_any_true(lt_value *a, lt_value *r) {
  RETURN_TENSOR(tensor_any(a->pointer, NULL, 0, false, &made));
}
