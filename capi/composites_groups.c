// The operators quantized_decomposed with a scale for each row of elements (a token) or for each
// group of a row, and simulated quantization of channels.
#include <stddef.h>

#include "composites.h"

// Returns an error unless integers from low to high can be stored in a dtype.
static tensor_status check_bounds(int64_t low, int64_t high, int64_t dtype) {
  static const struct {
    tensor_dtype dtype;
    int64_t low, high;
  } all[] = {{TENSOR_UINT8, 0, UINT8_MAX},         {TENSOR_INT8, INT8_MIN, INT8_MAX},
             {TENSOR_UINT16, 0, UINT16_MAX},       {TENSOR_INT16, INT16_MIN, INT16_MAX},
             {TENSOR_INT32, INT32_MIN, INT32_MAX}, {TENSOR_FLOAT8_E5M2, -57344, 57344},
             {TENSOR_FLOAT8_E4M3FN, -448, 448}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i].dtype != (tensor_dtype)dtype) continue;
    if (low >= all[i].low && high <= all[i].high) return TENSOR_OK;
    return lt_reject(TENSOR_ERROR_VALUE,
                     "'quant_min' is %lld and 'quant_max' %lld; they must be from %lld to %lld for "
                     "the dtype %s",
                     (long long)low, (long long)high, (long long)all[i].low, (long long)all[i].high,
                     tensor_dtype_name((tensor_dtype)dtype));
  }
  return lt_reject(TENSOR_ERROR_VALUE,
                   "argument 'dtype' is %s; it must be uint8, int8, uint16, int16, int32, "
                   "float8_e5m2 or float8_e4m3fn",
                   tensor_dtype_name((tensor_dtype)dtype));
}

// Returns round(input / scales + zeros), clamped, as a dtype.
static tensor_t *quantize(lt_temporaries *t, const tensor_t *input, const tensor_t *scales,
                          const tensor_t *zeros, int64_t low, int64_t high, tensor_dtype dtype) {
  tensor_t *made = NULL;
  RUN(t, made, tensor_reciprocal(scales, &made));
  RUN(t, made, tensor_mul(input, made, &made));
  RUN(t, made, tensor_add(made, zeros, tensor_int(1), &made));
  RUN(t, made, tensor_round(made, 0, &made));
  RUN(t, made, tensor_clamp(made, tensor_int(low), tensor_int(high), &made));
  RUN(t, made, lt_convert_dtype(made, dtype, &made));
  return made;
}

// Returns (input - zeros) * scales; NULL for no zeros.
static tensor_t *dequantize(lt_temporaries *t, const tensor_t *input, const tensor_t *scales,
                            const tensor_t *zeros) {
  tensor_t *made = NULL;
  if (zeros) RUN(t, made, tensor_sub(input, zeros, tensor_int(1), &made));
  RUN(t, made, tensor_mul(zeros ? made : input, scales, &made));
  return made;
}

// ---------------------------------------------------------------------------------------- tokens

static const int64_t last_dim[] = {-1};

// input, dtype
tensor_status lt_compute_quantized_decomposed_choose_qparams_per_token(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *scales = NULL, *zeros = NULL;
  if ((tensor_dtype)a[1].i != TENSOR_INT8)
    DO(&t, lt_reject(TENSOR_ERROR_VALUE, "argument 'dtype' is %s; it must be int8",
                     tensor_dtype_name((tensor_dtype)a[1].i)));
  RUN(&t, scales, tensor_abs(a[0].pointer, &scales));
  RUN(&t, scales, tensor_amax(scales, last_dim, 1, true, &scales));
  if (!t.status && tensor_get_dtype(scales) == TENSOR_FLOAT16)
    RUN(&t, scales, lt_convert_dtype(scales, TENSOR_FLOAT32, &scales));
  RUN(&t, scales, tensor_clamp_min_scalar(scales, tensor_float(1e-5), &scales));
  RUN(&t, scales, tensor_div_scalar(scales, tensor_int(127), NULL, &scales));
  RUN(&t, zeros,
      tensor_zeros_like(scales, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, tensor_device_default(),
                        TENSOR_PRESERVE, &zeros));
  lt_return(&t, scales, r), lt_return(&t, zeros, r + 1);
  return lt_finish(&t, r);
}

// input, dtype. The range of a token is that of its elements and 0.
tensor_status lt_compute_quantized_decomposed_choose_qparams_per_token_asymmetric(lt_value *a,
                                                                                  lt_value *r) {
  const tensor_scalar low = tensor_int(-128), high = tensor_int(127), one = tensor_int(1);
  lt_temporaries t = {0};
  tensor_t *least = NULL, *most = NULL, *scale = NULL, *zero = NULL, *other = NULL, *error = NULL;
  RUN(&t, least, tensor_amin(a[0].pointer, last_dim, 1, true, &least));
  RUN(&t, most, tensor_amax(a[0].pointer, last_dim, 1, true, &most));
  RUN(&t, least, tensor_clamp_max_scalar(least, tensor_int(0), &least));
  RUN(&t, most, tensor_clamp_min_scalar(most, tensor_int(0), &most));
  RUN(&t, scale, tensor_sub(most, least, one, &scale));
  RUN(&t, scale, tensor_div_scalar(scale, tensor_float(255), NULL, &scale));
  RUN(&t, scale, tensor_clamp_min_scalar(scale, tensor_float(0x1p-23), &scale));
  RUN(&t, least, tensor_div(least, scale, NULL, &least));
  RUN(&t, most, tensor_div(most, scale, NULL, &most));
  RUN(&t, zero, tensor_add_scalar(least, low, one, &zero));
  RUN(&t, other, tensor_add_scalar(most, high, one, &other));
  RUN(&t, error, tensor_add(zero, other, one, &error));
  RUN(&t, error, tensor_gt_scalar(error, tensor_int(0), &error));
  RUN(&t, zero, tensor_rsub_scalar(least, low, one, &zero));
  RUN(&t, other, tensor_rsub_scalar(most, high, one, &other));
  RUN(&t, zero, tensor_where(error, zero, other, &zero));
  RUN(&t, zero, tensor_clamp(zero, low, high, &zero));
  RUN(&t, zero, tensor_round(zero, 0, &zero));
  RUN(&t, zero, lt_convert_dtype(zero, TENSOR_INT64, &zero));
  RUN(&t, scale, lt_convert_dtype(scale, TENSOR_FLOAT64, &scale));
  lt_return(&t, scale, r), lt_return(&t, zero, r + 1);
  return lt_finish(&t, r);
}

// Returns an error unless the argument `name` has an element for each token of 'input'.
static tensor_status check_tokens(const char *name, const tensor_t *of, const tensor_t *input) {
  int64_t tokens = 1;
  for (int64_t i = 0; i + 1 < tensor_dim(input); i++) tokens *= tensor_sizes(input)[i];
  if (tensor_numel(of) == tokens) return TENSOR_OK;
  return lt_reject(TENSOR_ERROR_VALUE,
                   "argument '%s' has %lld elements; one per token of 'input' (all dimensions but "
                   "the last), %lld, is required",
                   name, (long long)tensor_numel(of), (long long)tokens);
}

// input, scales, zero_points, quant_min, quant_max, dtype
tensor_status lt_compute_quantized_decomposed_quantize_per_token(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  DO(&t, check_bounds(a[3].i, a[4].i, a[5].i));
  DO(&t, check_tokens("scales", a[1].pointer, a[0].pointer));
  DO(&t, check_tokens("zero_points", a[2].pointer, a[0].pointer));
  lt_return(
      &t,
      quantize(&t, a[0].pointer, a[1].pointer, a[2].pointer, a[3].i, a[4].i, (tensor_dtype)a[5].i),
      r);
  return lt_finish(&t, r);
}

// input, scales, zero_points, quant_min, quant_max, dtype, output_dtype
tensor_status lt_compute_quantized_decomposed_dequantize_per_token(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *made = dequantize(&t, a[0].pointer, a[1].pointer, a[2].pointer);
  RUN(&t, made, lt_convert_dtype(made, (tensor_dtype)a[6].i, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// ---------------------------------------------------------------------------------------- groups

// Returns a matrix as a view with a group of elements in each row.
static tensor_t *view_groups(lt_temporaries *t, const tensor_t *input, const tensor_t *scales,
                             int64_t size) {
  const int64_t n = tensor_dim(input), columns = n ? tensor_sizes(input)[n - 1] : 0;
  const int64_t scale_dim = tensor_dim(scales);
  tensor_t *made = NULL;
  if (size <= 1)
    DO(t, lt_reject(TENSOR_ERROR_VALUE, "argument 'group_size' is %lld; it must be above 1",
                    (long long)size));
  if (n != 2)
    DO(t, lt_reject(TENSOR_ERROR_VALUE, "argument 'input' has %lld dimensions; it must have 2",
                    (long long)n));
  // One scale for a row that is shorter than a group.
  if (size > columns && columns && scale_dim && tensor_sizes(scales)[scale_dim - 1] == 1)
    size = columns;
  if (!t->status && columns % size)
    DO(t, lt_reject(TENSOR_ERROR_VALUE,
                    "'input' has %lld columns; they must be a multiple of 'group_size', %lld",
                    (long long)columns, (long long)size));
  const int64_t shape[] = {-1, size};
  const int64_t empty[] = {0, size};
  RUN(t, made, tensor_reshape(input, tensor_numel(input) ? shape : empty, 2, &made));
  return made;
}

static tensor_t *view_column(lt_temporaries *t, const tensor_t *vector) {
  const int64_t shape[] = {tensor_numel(vector), 1};
  tensor_t *made = NULL;
  RUN(t, made, tensor_reshape(vector, shape, 2, &made));
  return made;
}

static tensor_t *view_as(lt_temporaries *t, tensor_t *made, const tensor_t *other) {
  RUN(t, made, tensor_reshape(made, tensor_sizes(other), tensor_dim(other), &made));
  return made;
}

// Returns an error if a tensor has a NaN, which no integer represents.
static void check_nan(lt_temporaries *t, const tensor_t *tensor) {
  tensor_t *found = NULL;
  tensor_scalar has = tensor_bool(false);
  if (t->status || tensor_get_device(tensor).type == TENSOR_META) return;
  RUN(t, found, tensor_isnan(tensor, &found));
  RUN(t, found, tensor_any(found, NULL, 0, false, &found));
  DO(t, tensor_item(found, &has));
  if (!t->status && has.value.i)
    DO(t,
       lt_reject(TENSOR_ERROR_VALUE,
                 "argument 'input' has NaN elements; replace them, for example with nan_to_num"));
}

// input, scales, zero_points, quant_min, quant_max, dtype, group_size
tensor_status lt_compute_quantized_decomposed_quantize_per_channel_group(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  DO(&t, check_bounds(a[3].i, a[4].i, a[5].i));
  tensor_t *groups = view_groups(&t, a[0].pointer, a[1].pointer, a[6].i);
  tensor_t *scales = view_column(&t, a[1].pointer), *zeros = view_column(&t, a[2].pointer);
  check_nan(&t, groups);
  tensor_t *made = quantize(&t, groups, scales, zeros, a[3].i, a[4].i, (tensor_dtype)a[5].i);
  lt_return(&t, view_as(&t, made, a[0].pointer), r);
  return lt_finish(&t, r);
}

// input, scales, zero_points, quant_min, quant_max, dtype, group_size, output_dtype
tensor_status lt_compute_quantized_decomposed_dequantize_per_channel_group(lt_value *a,
                                                                           lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *groups = view_groups(&t, a[0].pointer, a[1].pointer, a[6].i);
  tensor_t *scales = view_column(&t, a[1].pointer);
  tensor_t *zeros = a[2].pointer ? view_column(&t, a[2].pointer) : NULL;
  tensor_t *made = view_as(&t, dequantize(&t, groups, scales, zeros), a[0].pointer);
  RUN(&t, made, lt_convert_dtype(made, (tensor_dtype)a[7].i, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// -------------------------------------------------------------------------------------- channels

// Returns an argument as a dtype, without its gradient, broadcast with 'input' along an axis.
static tensor_t *take_parameter(lt_temporaries *t, const char *name, const tensor_t *vector,
                                const tensor_t *input, int64_t axis, tensor_dtype dtype) {
  tensor_t *made = NULL;
  RUN(t, made, tensor_detach(vector, &made));
  RUN(t, made, lt_convert_dtype(made, dtype, &made));
  return t->status ? NULL : lt_view_along_axis(t, name, made, input, axis);
}

// input, scales, zero_points, axis, quant_min, quant_max. Elements outside of the range have no
// gradient; those inside have that of the result.
tensor_status lt_compute_quantized_decomposed_fake_quant_per_channel(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  const tensor_t *input = a[0].pointer;
  const tensor_scalar low = tensor_int(a[4].i), high = tensor_int(a[5].i), one = tensor_int(1);
  tensor_t *fixed = NULL, *levels = NULL, *made = NULL, *inside = NULL, *below = NULL,
           *through = NULL;
  if (tensor_get_dtype(input) != TENSOR_FLOAT32)
    DO(&t, lt_reject(TENSOR_ERROR_TYPE, "argument 'input' has dtype %s; float32 is required",
                     tensor_dtype_name(tensor_get_dtype(input))));
  tensor_t *scales = take_parameter(&t, "scales", a[1].pointer, input, a[3].i, TENSOR_FLOAT32);
  tensor_t *zeros = take_parameter(&t, "zero_points", a[2].pointer, input, a[3].i, TENSOR_INT32);
  RUN(&t, fixed, tensor_detach(input, &fixed));
  RUN(&t, levels, tensor_reciprocal(scales, &levels));
  RUN(&t, levels, tensor_mul(fixed, levels, &levels));
  RUN(&t, levels, tensor_round(levels, 0, &levels));
  RUN(&t, levels, tensor_add(levels, zeros, one, &levels));
  RUN(&t, made, tensor_clamp(levels, low, high, &made));
  RUN(&t, made, tensor_sub(made, zeros, one, &made));
  RUN(&t, made, tensor_mul(made, scales, &made));
  RUN(&t, inside, tensor_ge_scalar(levels, low, &inside));
  RUN(&t, below, tensor_le_scalar(levels, high, &below));
  RUN(&t, inside, tensor_logical_and(inside, below, &inside));
  // 0, with the gradient of the elements inside.
  RUN(&t, through, tensor_sub(fixed, input, one, &through));
  RUN(&t, through, tensor_where_scalar(inside, through, tensor_float(0), &through));
  RUN(&t, made, tensor_sub(made, through, one, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// input, dtype
tensor_status lt_compute_quantized_decomposed_convert_element_type_no_fuse(lt_value *a,
                                                                           lt_value *r) {
  RETURN_TENSOR(tensor_to_options(a[0].pointer, (tensor_dtype)a[1].i, TENSOR_LAYOUT_NONE,
                                  tensor_device_default(), false, true, TENSOR_PRESERVE, &made));
}
