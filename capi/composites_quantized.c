// The operators quantized_decomposed of PyTorch's exported programs: tensors of integers, with
// scales and zero points as arguments.
#include <math.h>
#include <stddef.h>

#include "composites.h"

// Converts float32, float16 or bfloat16 to float32; other dtypes return TENSOR_ERROR_TYPE.
static tensor_status convert_to_float32(const tensor_t *t, tensor_t **out) {
  const tensor_dtype dtype = tensor_get_dtype(t);
  if (dtype != TENSOR_FLOAT32 && dtype != TENSOR_FLOAT16 && dtype != TENSOR_BFLOAT16)
    return lt_reject(TENSOR_ERROR_TYPE,
                     "argument 'input' has dtype %s; float32, float16 or bfloat16 is required",
                     tensor_dtype_name(dtype));
  return lt_convert_dtype(t, TENSOR_FLOAT32, out);
}

static double read_number(lt_temporaries *t, const tensor_t *tensor) {
  tensor_scalar s = tensor_int(0);
  DO(t, tensor_item(tensor, &s));
  return s.kind == TENSOR_SCALAR_FLOAT ? s.value.f.re : (double)s.value.i;
}

// round(input * inverse) + zero_point, clamped, as a dtype. `inverse` and `zero` are tensors, or
// the numbers if they are NULL.
static tensor_status quantize(lt_temporaries *t, const tensor_t *input, const tensor_t *inverse,
                              double factor, const tensor_t *zero, int64_t zero_point, int64_t low,
                              int64_t high, tensor_dtype dtype, lt_value *r) {
  tensor_t *made = NULL;
  RUN(t, made, convert_to_float32(input, &made));
  if (inverse)
    RUN(t, made, tensor_mul(made, inverse, &made));
  else
    RUN(t, made, tensor_mul_scalar(made, tensor_float(factor), &made));
  RUN(t, made, tensor_round(made, 0, &made));
  if (zero)
    RUN(t, made, tensor_add(made, zero, tensor_int(1), &made));
  else
    RUN(t, made, tensor_add_scalar(made, tensor_int(zero_point), tensor_int(1), &made));
  RUN(t, made, tensor_clamp(made, tensor_int(low), tensor_int(high), &made));
  RUN(t, made, lt_convert_dtype(made, dtype, &made));
  lt_return(t, made, r);
  return lt_finish(t, r);
}

// input, scale, zero_point, quant_min, quant_max, dtype
tensor_status lt_compute_quantized_decomposed_quantize_per_tensor(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  return quantize(&t, a[0].pointer, NULL, 1 / a[1].f, NULL, a[2].i, a[3].i, a[4].i,
                  (tensor_dtype)a[5].i, r);
}

tensor_status lt_compute_quantized_decomposed_quantize_per_tensor_tensor(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  const double scale = read_number(&t, a[1].pointer), zero = read_number(&t, a[2].pointer);
  return quantize(&t, a[0].pointer, NULL, 1 / scale, NULL, (int64_t)zero, a[3].i, a[4].i,
                  (tensor_dtype)a[5].i, r);
}

tensor_status lt_compute_quantized_decomposed_quantize_per_tensor_tensor2(lt_value *a,
                                                                          lt_value *r) {
  lt_temporaries t = {0};
  double numbers[4];
  for (int i = 0; i < 4; i++) numbers[i] = read_number(&t, a[1 + i].pointer);
  return quantize(&t, a[0].pointer, NULL, 1 / numbers[0], NULL, (int64_t)numbers[1],
                  (int64_t)numbers[2], (int64_t)numbers[3], (tensor_dtype)a[5].i, r);
}

// (input - zero_point) * scale, with an input of the dtype `out`.
static tensor_status dequantize(lt_temporaries *t, const tensor_t *input, double scale,
                                int64_t zero_point, int64_t out, lt_value *r) {
  tensor_t *made = NULL;
  RUN(t, made, lt_convert_dtype(input, out < 0 ? TENSOR_FLOAT32 : (tensor_dtype)out, &made));
  RUN(t, made, tensor_add_scalar(made, tensor_int(-zero_point), tensor_int(1), &made));
  RUN(t, made, tensor_mul_scalar(made, tensor_float(scale), &made));
  lt_return(t, made, r);
  return lt_finish(t, r);
}

// input, scale, zero_point, quant_min, quant_max, dtype, out_dtype
tensor_status lt_compute_quantized_decomposed_dequantize_per_tensor(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  return dequantize(&t, a[0].pointer, a[1].f, a[2].i, a[6].i, r);
}

tensor_status lt_compute_quantized_decomposed_dequantize_per_tensor_tensor(lt_value *a,
                                                                           lt_value *r) {
  lt_temporaries t = {0};
  const double scale = read_number(&t, a[1].pointer), zero = read_number(&t, a[2].pointer);
  return dequantize(&t, a[0].pointer, scale, (int64_t)zero, a[6].i, r);
}

tensor_t *lt_view_along_axis(lt_temporaries *t, const char *name, const tensor_t *vector,
                             const tensor_t *input, int64_t axis) {
  int64_t shape[64];
  const int64_t n = tensor_dim(input), dim = axis < 0 ? axis + n : axis;
  tensor_t *made = NULL;
  for (int64_t i = 0; i < n; i++) shape[i] = 1;
  if (dim < 0 || dim >= n)
    DO(t, lt_reject_dim(TENSOR_ERROR_VALUE, "axis", axis, n));
  else if (tensor_numel(vector) != tensor_sizes(input)[dim])
    DO(t, lt_reject(TENSOR_ERROR_VALUE,
                    "argument '%s' has %lld elements; dimension %lld of 'input' has %lld", name,
                    (long long)tensor_numel(vector), (long long)dim,
                    (long long)tensor_sizes(input)[dim]));
  else
    shape[dim] = tensor_numel(vector);
  RUN(t, made, tensor_reshape(vector, shape, n, &made));
  return made;
}

// input, scales, zero_points, axis, quant_min, quant_max, dtype
tensor_status lt_compute_quantized_decomposed_quantize_per_channel(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  const tensor_t *input = a[0].pointer;
  tensor_t *scales = lt_view_along_axis(&t, "scales", a[1].pointer, input, a[3].i), *inverse = NULL;
  tensor_t *zeros = lt_view_along_axis(&t, "zero_points", a[2].pointer, input, a[3].i);
  RUN(&t, inverse, tensor_reciprocal(scales, &inverse));
  return quantize(&t, input, inverse, 1, zeros, 0, a[4].i, a[5].i, (tensor_dtype)a[6].i, r);
}

// input, scales, zero_points, axis, quant_min, quant_max, dtype, out_dtype
tensor_status lt_compute_quantized_decomposed_dequantize_per_channel(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  const tensor_t *input = a[0].pointer;
  tensor_t *scales = lt_view_along_axis(&t, "scales", a[1].pointer, input, a[3].i), *zeros = NULL,
           *made = NULL;
  if (a[2].pointer) {
    zeros = lt_view_along_axis(&t, "zero_points", a[2].pointer, input, a[3].i);
    RUN(&t, made, tensor_sub(input, zeros, tensor_int(1), &made));
  }
  RUN(&t, made, tensor_mul(made ? made : input, scales, &made));
  RUN(&t, made, lt_convert_dtype(made, a[7].i < 0 ? TENSOR_FLOAT32 : (tensor_dtype)a[7].i, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// Adds a scale, in float64, and a zero point as results of one element each.
static void return_parameters(lt_temporaries *t, double scale, int64_t zero, lt_value *r) {
  const int64_t one = 1;
  tensor_t *made = NULL;
  RUN(t, made,
      tensor_full(&one, 1, tensor_float(scale), TENSOR_FLOAT64, TENSOR_LAYOUT_NONE,
                  tensor_device_default(), &made));
  lt_return(t, made, r);
  RUN(t, made,
      tensor_full(&one, 1, tensor_int(zero), TENSOR_INT64, TENSOR_LAYOUT_NONE,
                  tensor_device_default(), &made));
  lt_return(t, made, r + 1);
}

// input, quant_min, quant_max, eps, dtype. The range is that of the elements and 0.
static tensor_status choose_parameters(lt_value *a, bool symmetric, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *wide = NULL, *least = NULL, *most = NULL;
  RUN(&t, wide, convert_to_float32(a[0].pointer, &wide));
  RUN(&t, least, tensor_aminmax(wide, TENSOR_NONE, false, &least, &most));
  if (!t.status) lt_hold(&t, most);
  const float low = t.status ? 0 : fminf((float)read_number(&t, least), 0);
  const float high = t.status ? 0 : fmaxf((float)read_number(&t, most), 0);
  const int64_t least_value = a[1].i, most_value = a[2].i;
  const float range = (float)(most_value - least_value), eps = (float)a[3].f;
  if (symmetric) {
    const float scale = fmaxf(fmaxf(-low, high) / (range / 2), eps);
    return_parameters(&t, scale, (tensor_dtype)a[4].i == TENSOR_UINT8 ? 128 : 0, r);
  } else {
    const float scale = fmaxf((high - low) / range, eps);
    const float steps = nearbyintf(low / scale);
    int64_t zero = least_value - (fabsf(steps) < 1e15F ? (int64_t)steps : 0);
    zero = zero < least_value ? least_value : zero > most_value ? most_value : zero;
    return_parameters(&t, scale, zero, r);
  }
  return lt_finish(&t, r);
}

tensor_status lt_compute_quantized_decomposed_choose_qparams_tensor(lt_value *a, lt_value *r) {
  return choose_parameters(a, false, r);
}

tensor_status lt_compute_quantized_decomposed_choose_qparams_symmetric_tensor(lt_value *a,
                                                                              lt_value *r) {
  return choose_parameters(a, true, r);
}
