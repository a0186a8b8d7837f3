// ATen's operators of neural networks that are composed of others.
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "composites.h"

#define LIST(v) (v).list.data, (v).list.length

static tensor_dtype dtype_of(const lt_value *a) { return tensor_get_dtype(a->pointer); }

// ----------------------------------------------------------------------------------- convolution

// input, weight, bias, stride, padding, dilation, transposed, output_padding, groups. The number of
// dimensions is that of the weight.
static tensor_status run_convolution(const lt_value *a, const tensor_t *input,
                                     const tensor_t *weight, const tensor_t *bias, tensor_t **out) {
  const int64_t dims = tensor_dim(weight) - 2, groups = a[8].i;
  if (a[6].i) {
    switch (dims) {
      case 1:
        return tensor_conv_transpose1d(input, weight, bias, LIST(a[3]), LIST(a[4]), LIST(a[7]),
                                       groups, LIST(a[5]), out);
      case 2:
        return tensor_conv_transpose2d(input, weight, bias, LIST(a[3]), LIST(a[4]), LIST(a[7]),
                                       groups, LIST(a[5]), out);
      case 3:
        return tensor_conv_transpose3d(input, weight, bias, LIST(a[3]), LIST(a[4]), LIST(a[7]),
                                       groups, LIST(a[5]), out);
    }
  } else {
    switch (dims) {
      case 1:
        return tensor_conv1d(input, weight, bias, LIST(a[3]), LIST(a[4]), LIST(a[5]), groups, out);
      case 2:
        return tensor_conv2d(input, weight, bias, LIST(a[3]), LIST(a[4]), LIST(a[5]), groups, out);
      case 3:
        return tensor_conv3d(input, weight, bias, LIST(a[3]), LIST(a[4]), LIST(a[5]), groups, out);
    }
  }
  if (dims < 0)
    return tensor_conv1d(input, weight, bias, LIST(a[3]), LIST(a[4]), LIST(a[5]), groups, out);
  return lt_reject(TENSOR_ERROR_RUNTIME,
                   "argument 'weight' has %lld dimensions; a convolution needs 3, 4 or 5",
                   (long long)dims + 2);
}

tensor_status lt_compute_convolution(lt_value *a, lt_value *r) {
  RETURN_TENSOR(run_convolution(a, a[0].pointer, a[1].pointer, a[2].pointer, &made));
}
tensor_status lt_compute_convolution_overrideable(lt_value *a, lt_value *r) {
  return lt_compute_convolution(a, r);
}
tensor_status lt_compute__convolution(lt_value *a, lt_value *r) {
  return lt_compute_convolution(a, r);
}

static tensor_status convolve_inputs(const lt_value *a, tensor_t *const *inputs, tensor_t **out) {
  return run_convolution(a, inputs[0], inputs[1], inputs[2], out);
}

// grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
// groups, output_mask
tensor_status lt_compute_convolution_backward(lt_value *a, lt_value *r) {
  const lt_value of[] = {a[1], a[2], {0}, a[4], a[5], a[6], a[7], a[8], a[9]};
  lt_temporaries t = {0};
  tensor_t *bias = NULL;
  const bool *mask = a[10].list.data;
  if (a[10].list.length != 3)
    return lt_reject(TENSOR_ERROR_VALUE, "argument 'output_mask' has %lld items; 3 are required",
                     (long long)a[10].list.length);
  if (mask[2] && a[3].list.data)
    RUN(&t, bias,
        tensor_zeros(LIST(a[3]), dtype_of(a + 2), TENSOR_LAYOUT_NONE,
                     tensor_get_device(a[2].pointer), &bias));
  tensor_t *inputs[] = {a[1].pointer, a[2].pointer, bias};
  DO(&t, lt_differentiate(of, convolve_inputs, inputs, 3, mask, a[0].pointer, r));
  return lt_finish(&t, r);
}

// --------------------------------------------------------------------------------- interpolation

// Resizes `self`. The scales are the factors of coordinates, unless these are aligned to corners.
// Rejects scales that do not lead to the size.
static tensor_status resize_image(const lt_value *a, const char *mode, bool aligns, bool antialias,
                                  lt_value *r) {
  enum { MOST = 3 };
  const int64_t n = a[1].list.length, *size = a[1].list.data, *from = tensor_sizes(a[0].pointer);
  const lt_value *scales = a + (aligns ? 3 : 2);
  double factors[MOST];
  const int32_t align = aligns ? a[2].i != 0 : -1;
  const bool known = from && n <= MOST && n + 2 == tensor_dim(a[0].pointer) && align <= 0;
  bool scaled = false;
  for (int64_t i = 0; known && i < n; i++) {
    const double *factor = scales[i].pointer, ratio = (double)size[i] / (double)from[i + 2];
    const bool given = factor && *factor > 0 && *factor != ratio;
    factors[i] = given ? *factor : ratio;
    scaled |= given;
  }
  for (int64_t i = 0; scaled && i < n; i++)
    if (floor((double)from[i + 2] * factors[i]) != (double)size[i])
      return lt_reject(TENSOR_ERROR_NOT_IMPLEMENTED,
                       "the size %lld times the scale %g is not %lld, which argument "
                       "'output_size' requires; omit the scales",
                       (long long)from[i + 2], factors[i], (long long)size[i]);
  RETURN_TENSOR(tensor_nn_interpolate(a[0].pointer, scaled ? NULL : size, scaled ? 0 : n,
                                      scaled ? factors : NULL, scaled ? n : 0, mode, align, -1,
                                      antialias, &made));
}

#define RESIZE(name, mode, aligns, antialias)                 \
  tensor_status lt_compute_##name(lt_value *a, lt_value *r) { \
    return resize_image(a, mode, aligns, antialias, r);       \
  }
RESIZE(upsample_nearest1d, "nearest", false, false)
RESIZE(upsample_nearest2d, "nearest", false, false)
RESIZE(upsample_nearest3d, "nearest", false, false)
RESIZE(_upsample_nearest_exact1d, "nearest-exact", false, false)
RESIZE(_upsample_nearest_exact2d, "nearest-exact", false, false)
RESIZE(_upsample_nearest_exact3d, "nearest-exact", false, false)
RESIZE(upsample_linear1d, "linear", true, false)
RESIZE(upsample_bilinear2d, "bilinear", true, false)
RESIZE(upsample_trilinear3d, "trilinear", true, false)
RESIZE(upsample_bicubic2d, "bicubic", true, false)
RESIZE(_upsample_bilinear2d_aa, "bilinear", true, true)
RESIZE(_upsample_bicubic2d_aa, "bicubic", true, true)

// ----------------------------------------------------------------------------------- activations

tensor_status lt_compute__softmax(lt_value *a, lt_value *r) {
  RETURN_TENSOR(
      tensor_softmax(a[0].pointer, a[1].i, a[2].i ? TENSOR_FLOAT32 : TENSOR_DTYPE_NONE, &made));
}
tensor_status lt_compute__log_softmax(lt_value *a, lt_value *r) {
  RETURN_TENSOR(
      tensor_log_softmax(a[0].pointer, a[1].i, a[2].i ? TENSOR_FLOAT32 : TENSOR_DTYPE_NONE, &made));
}

// Slices of which all elements are -inf become 0.
tensor_status lt_compute__safe_softmax(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *soft = NULL, *low = NULL, *masked = NULL, *made = NULL;
  RUN(&t, soft, tensor_softmax(a[0].pointer, a[1].i, (tensor_dtype)a[2].i, &soft));
  RUN(&t, low, tensor_eq_scalar(a[0].pointer, tensor_float(-INFINITY), &low));
  RUN(&t, masked, tensor_all(low, &a[1].i, 1, true, &masked));
  RUN(&t, made, tensor_masked_fill_scalar(soft, masked, tensor_float(0), &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

static double real_of(const lt_value *v) {
  return v->scalar.kind == TENSOR_SCALAR_FLOAT ? v->scalar.value.f.re : (double)v->scalar.value.i;
}

// scale * x where x > 0, scale * alpha * (exp(input_scale * x) - 1) elsewhere
tensor_status lt_compute_elu(lt_value *a, lt_value *r) {
  const double alpha = real_of(a + 1), scale = real_of(a + 2), input_scale = real_of(a + 3);
  lt_temporaries t = {0};
  tensor_t *x = a[0].pointer, *inner = NULL, *low = NULL, *high = NULL, *positive = NULL,
           *made = NULL;
  if (scale == 1 && input_scale == 1) {
    RUN(&t, made, tensor_nn_elu(x, alpha, &made));
  } else {
    RUN(&t, inner, tensor_mul_scalar(x, tensor_float(input_scale), &inner));
    RUN(&t, low, tensor_expm1(inner, &low));
    RUN(&t, low, tensor_mul_scalar(low, tensor_float(alpha * scale), &low));
    RUN(&t, high, tensor_mul_scalar(x, tensor_float(scale), &high));
    RUN(&t, positive, tensor_gt_scalar(x, tensor_int(0), &positive));
    RUN(&t, made, tensor_where(positive, high, low, &made));
  }
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

tensor_status lt_compute__prelu_kernel(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *low = NULL, *positive = NULL, *made = NULL;
  RUN(&t, low, tensor_mul(a[0].pointer, a[1].pointer, &low));
  RUN(&t, positive, tensor_gt_scalar(a[0].pointer, tensor_int(0), &positive));
  RUN(&t, made, tensor_where(positive, a[0].pointer, low, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// The buffer, which the derivative of PyTorch's CPU kernel reads, is exp(-abs(self)).
tensor_status lt_compute_log_sigmoid_forward(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *made = NULL, *size = NULL, *buffer = NULL;
  RUN(&t, made, tensor_nn_logsigmoid(a[0].pointer, &made));
  RUN(&t, size, tensor_abs(a[0].pointer, &size));
  RUN(&t, size, tensor_neg(size, &size));
  RUN(&t, buffer, tensor_exp(size, &buffer));
  lt_return(&t, made, r);
  lt_return(&t, buffer, r + 1);
  return lt_finish(&t, r);
}

tensor_status lt_compute_native_dropout(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  const double keep = 1 - a[1].f;
  const bool training = a[2].i != 0;  // -1 represents None
  tensor_t *mask = NULL, *made = NULL;
  RUN(&t, mask,
      tensor_ones_like(a[0].pointer, TENSOR_BOOL, TENSOR_LAYOUT_NONE, tensor_device_default(),
                       TENSOR_PRESERVE, &mask));
  if (training) {
    DO(&t, tensor_bernoulli_(mask, keep, NULL));
    RUN(&t, made, tensor_mul(a[0].pointer, mask, &made));
    DO(&t, tensor_mul_scalar_(made, tensor_float(keep == 0 ? 0 : 1 / keep)));
  } else {
    RUN(&t, made, tensor_clone(a[0].pointer, TENSOR_PRESERVE, &made));
  }
  lt_return(&t, made, r);
  lt_return(&t, mask, r + 1);
  return lt_finish(&t, r);
}

// --------------------------------------------------------------------------------- normalization

// The running statistics are copies, and results.
tensor_status lt_compute__native_batch_norm_legit_functional(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *mean = NULL, *var = NULL, *out = NULL, *save_mean = NULL, *save_invstd = NULL;
  RUN(&t, mean, tensor_clone(a[3].pointer, TENSOR_PRESERVE, &mean));
  RUN(&t, var, tensor_clone(a[4].pointer, TENSOR_PRESERVE, &var));
  RUN(&t, out,
      tensor_native_batch_norm(a[0].pointer, a[1].pointer, a[2].pointer, mean, var, a[5].i != 0,
                               a[6].f, a[7].f, &out, &save_mean, &save_invstd));
  if (!t.status) lt_hold(&t, save_mean), lt_hold(&t, save_invstd);
  tensor_t *const all[] = {out, save_mean, save_invstd, mean, var};
  for (int i = 0; i < 5; i++) lt_return(&t, all[i], r + i);
  return lt_finish(&t, r);
}

// --------------------------------------------------------------------------------------------
// Fourier

// The factor of a transform of n points: 0 none, 1 by the square root of n, 2 by n.
static double factor_of(int64_t normalization, double n) {
  return normalization == 0 ? 1 : normalization == 1 ? 1 / sqrt(n) : 1 / n;
}

// The number of points of the dimensions of a transform, 1 for invalid dimensions.
static double count_points(const tensor_t *self, const int64_t *dim, int64_t n) {
  const int64_t dims = tensor_dim(self), *sizes = tensor_sizes(self);
  double points = 1;
  for (int64_t i = 0; sizes && i < n; i++)
    if (dim[i] >= -dims && dim[i] < dims)
      points *= (double)sizes[dim[i] < 0 ? dim[i] + dims : dim[i]];
  return points;
}

tensor_status lt_compute__fft_r2c(lt_value *a, lt_value *r) {
  const int64_t n = a[1].list.length, *dim = a[1].list.data;
  const double factor = factor_of(a[2].i, count_points(a[0].pointer, dim, n));
  lt_temporaries t = {0};
  tensor_t *half = NULL, *made = NULL;
  if (a[3].i || n < 2) {  // both halves are computed for one dimension
    RUN(&t, made, tensor_fft_r2c(a[0].pointer, dim, n, a[3].i != 0, factor, &made));
  } else {
    RUN(&t, half, tensor_fft_r2c(a[0].pointer, dim + n - 1, 1, false, factor, &half));
    RUN(&t, made, tensor_fft_c2c(half, dim, n - 1, true, 1, &made));
  }
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}
tensor_status lt_compute__fft_c2c(lt_value *a, lt_value *r) {
  const double factor = factor_of(a[2].i, count_points(a[0].pointer, LIST(a[1])));
  RETURN_TENSOR(tensor_fft_c2c(a[0].pointer, LIST(a[1]), a[3].i != 0, factor, &made));
}
tensor_status lt_compute__fft_c2r(lt_value *a, lt_value *r) {
  const int64_t n = a[1].list.length, *dim = a[1].list.data;
  lt_temporaries t = {0};
  tensor_t *x = a[0].pointer, *made = NULL;
  if (!n)
    return lt_reject(TENSOR_ERROR_RUNTIME, "argument 'dim' is empty; at least one is required");
  const double factor = factor_of(a[2].i, count_points(x, dim, n - 1) * (double)a[3].i);
  if (n > 1) RUN(&t, x, tensor_fft_c2c(a[0].pointer, dim, n - 1, false, 1, &x));
  RUN(&t, made, tensor_fft_c2r(x, dim[n - 1], a[3].i, factor, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// Frames are not centered.
tensor_status lt_compute_stft(lt_value *a, lt_value *r) {
  RETURN_TENSOR(tensor_stft(a[0].pointer, a[1].i, a[2].i, a[3].i, a[4].pointer, false, "constant",
                            a[5].i != 0, (int32_t)a[6].i, (int32_t)a[7].i, (int32_t)a[8].i, &made));
}

// ------------------------------------------------------------------------------------- attention

// The scores: query @ key^T * scale, with the mask.
static tensor_t *compute_scores(lt_temporaries *t, const tensor_t *query, const tensor_t *key,
                                const tensor_t *mask, bool is_causal, const double *scale) {
  tensor_t *turned = NULL, *scores = NULL, *allowed = NULL;
  const int64_t n = tensor_dim(query);
  if (!t->status && n < 2) {
    t->status = lt_reject(TENSOR_ERROR_RUNTIME,
                          "argument 'query' has %lld dimensions; 2 are required", (long long)n);
    return NULL;
  }
  const double factor = scale       ? *scale
                        : t->status ? 1
                                    : 1 / sqrt((double)tensor_sizes(query)[n - 1]);
  RUN(t, turned, tensor_transpose(key, -2, -1, &turned));
  RUN(t, scores, tensor_matmul(query, turned, &scores));
  DO(t, tensor_mul_scalar_(scores, tensor_float(factor)));
  if (is_causal && !t->status) {
    const int64_t m = tensor_dim(scores), *sizes = tensor_sizes(scores);
    RUN(t, allowed,
        tensor_ones(sizes + m - 2, 2, TENSOR_BOOL, TENSOR_LAYOUT_NONE, tensor_get_device(scores),
                    &allowed));
    RUN(t, allowed, tensor_tril(allowed, 0, &allowed));
    mask = allowed;
  }
  if (!mask || t->status) return scores;
  tensor_t *blocked = NULL, *made = NULL;
  if (tensor_get_dtype(mask) == TENSOR_BOOL) {
    RUN(t, blocked, tensor_logical_not(mask, &blocked));
    RUN(t, made, tensor_masked_fill_scalar(scores, blocked, tensor_float(-INFINITY), &made));
  } else {
    RUN(t, made, tensor_add(scores, mask, tensor_int(1), &made));
  }
  return made;
}

tensor_status lt_compute__scaled_dot_product_flash_attention_for_cpu(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  const int64_t last = -1;
  tensor_t *out = NULL, *logs = NULL;
  RUN(&t, out,
      tensor_nn_scaled_dot_product_attention(a[0].pointer, a[1].pointer, a[2].pointer, a[5].pointer,
                                             a[3].f, a[4].i != 0, a[6].pointer, false, &out));
  tensor_t *scores =
      compute_scores(&t, a[0].pointer, a[1].pointer, a[5].pointer, a[4].i != 0, a[6].pointer);
  RUN(&t, logs, tensor_logsumexp(scores, &last, 1, false, &logs));
  lt_return(&t, out, r);
  lt_return(&t, logs, r + 1);
  return lt_finish(&t, r);
}

// query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa
tensor_status lt_compute__scaled_dot_product_attention_math(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *out = NULL, *weights = NULL;
  if (a[6].pointer)
    return lt_reject(TENSOR_ERROR_NOT_IMPLEMENTED, "argument 'dropout_mask' is not supported");
  if (a[8].i)
    return lt_reject(
        TENSOR_ERROR_NOT_IMPLEMENTED,
        "argument 'enable_gqa' is not supported; use aten::scaled_dot_product_attention");
  tensor_t *scores =
      compute_scores(&t, a[0].pointer, a[1].pointer, a[3].pointer, a[5].i != 0, a[7].pointer);
  RUN(&t, weights, tensor_softmax(scores, -1, TENSOR_DTYPE_NONE, &weights));
  if (a[4].f > 0) RUN(&t, weights, tensor_dropout(weights, a[4].f, true, NULL, &weights));
  RUN(&t, out, tensor_matmul(weights, a[2].pointer, &out));
  lt_return(&t, out, r);
  lt_return(&t, weights, r + 1);
  return lt_finish(&t, r);
}

// query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale
tensor_status lt_compute__scaled_dot_product_efficient_attention(lt_value *a, lt_value *r) {
  lt_value of[] = {a[0], a[1], a[2], a[5], a[6], a[3], a[7]};
  lt_value both[LT_MOST_RESULTS] = {{0}};
  lt_temporaries t = {0};
  tensor_t *seed = NULL, *offset = NULL;
  DO(&t, lt_compute__scaled_dot_product_flash_attention_for_cpu(of, both));
  if (!t.status) lt_hold(&t, both[0].pointer), lt_hold(&t, both[1].pointer);
  const tensor_device cpu = {TENSOR_CPU, -1};
  RUN(&t, seed, tensor_zeros(NULL, 0, TENSOR_INT64, TENSOR_LAYOUT_NONE, cpu, &seed));
  RUN(&t, offset, tensor_zeros(NULL, 0, TENSOR_INT64, TENSOR_LAYOUT_NONE, cpu, &offset));
  tensor_t *const all[] = {both[0].pointer, both[1].pointer, seed, offset};
  for (int i = 0; i < 4; i++) lt_return(&t, all[i], r + i);
  return lt_finish(&t, r);
}

// ---------------------------------------------------------------------------------------- losses

// self, target, weight, reduction, ignore_index
tensor_status lt_compute_nll_loss_forward(lt_value *a, lt_value *r) {
  static const char *const reductions[] = {"none", "mean", "sum"};
  lt_temporaries t = {0};
  tensor_t *out = NULL, *counted = NULL, *kept = NULL, *weights = NULL, *total = NULL;
  if (a[3].i < 0 || a[3].i > 2)
    return lt_reject(TENSOR_ERROR_VALUE,
                     "argument 'reduction' is %lld; it must be 0 (none), 1 (mean) or 2 (sum)",
                     (long long)a[3].i);
  const tensor_t *target = a[1].pointer;
  RUN(&t, out,
      tensor_nn_nll_loss(a[0].pointer, target, a[2].pointer, -1, a[4].i, -1, reductions[a[3].i],
                         &out));
  if (!t.status && a[3].i == 0) {
    RUN(&t, total,
        tensor_zeros(NULL, 0, dtype_of(a), TENSOR_LAYOUT_NONE, tensor_get_device(a[0].pointer),
                     &total));
  } else {
    RUN(&t, counted, tensor_ne_scalar(target, tensor_int(a[4].i), &counted));
    if (a[2].pointer) {
      RUN(&t, kept, tensor_mul(target, counted, &kept));
      RUN(&t, kept, tensor_flatten(kept, 0, -1, &kept));
      RUN(&t, weights, tensor_index_select(a[2].pointer, 0, kept, &weights));
      RUN(&t, counted, tensor_flatten(counted, 0, -1, &counted));
      RUN(&t, counted, tensor_mul(weights, counted, &counted));
    }
    RUN(&t, total,
        tensor_sum(counted, NULL, 0, false, t.status ? TENSOR_DTYPE_NONE : dtype_of(a), &total));
  }
  lt_return(&t, out, r);
  lt_return(&t, total, r + 1);
  return lt_finish(&t, r);
}
tensor_status lt_compute_nll_loss2d_forward(lt_value *a, lt_value *r) {
  return lt_compute_nll_loss_forward(a, r);
}

// -------------------------------------------------------------------------------- embedding bags

// weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
// include_last_offset, padding_idx: -1 represents none
tensor_status lt_compute__embedding_bag(lt_value *a, lt_value *r) {
  tensor_t *made[4] = {NULL};
  const tensor_status status = tensor_embedding_bag(
      a[0].pointer, a[1].pointer, a[2].pointer, a[3].i != 0, a[4].i, a[5].i != 0, a[6].pointer,
      a[7].i != 0, a[8].i == -1 ? TENSOR_NONE : a[8].i, made, made + 1, made + 2, made + 3);
  for (int i = 0; i < 4; i++) r[i].pointer = made[i];
  return status;
}
tensor_status lt_compute__embedding_bag_forward_only(lt_value *a, lt_value *r) {
  return lt_compute__embedding_bag(a, r);
}

// ------------------------------------------------------------------------------------ max_unpool

// Writes self to the indices of a tensor of zeros with the output size, in the last n dimensions.
static tensor_status unpool_max(const lt_value *a, int64_t n, lt_value *r) {
  enum { MOST = 8 };
  lt_temporaries t = {0};
  int64_t sizes[MOST];
  const int64_t dims = tensor_dim(a[0].pointer);
  if (dims < n || dims > n + 2 || a[2].list.length != n)
    return lt_reject(TENSOR_ERROR_RUNTIME,
                     "argument 'output_size' has %lld items; %lld are required, and a tensor of "
                     "%lld or %lld dimensions",
                     (long long)a[2].list.length, (long long)n, (long long)n + 1, (long long)n + 2);
  memcpy(sizes, tensor_sizes(a[0].pointer), (size_t)(dims - n) * sizeof *sizes);
  memcpy(sizes + dims - n, a[2].list.data, (size_t)n * sizeof *sizes);
  tensor_t *zeros = NULL, *flat = NULL, *indices = NULL, *values = NULL, *made = NULL;
  RUN(&t, zeros,
      tensor_zeros(sizes, dims, dtype_of(a), TENSOR_LAYOUT_NONE, tensor_get_device(a[0].pointer),
                   &zeros));
  RUN(&t, flat, tensor_flatten(zeros, -n, -1, &flat));
  RUN(&t, indices, tensor_flatten(a[1].pointer, -n, -1, &indices));
  RUN(&t, values, tensor_flatten(a[0].pointer, -n, -1, &values));
  RUN(&t, flat, tensor_scatter_src(flat, -1, indices, values, &flat));
  RUN(&t, made, tensor_reshape(flat, sizes, dims, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}
tensor_status lt_compute_max_unpool2d(lt_value *a, lt_value *r) { return unpool_max(a, 2, r); }
tensor_status lt_compute_max_unpool3d(lt_value *a, lt_value *r) { return unpool_max(a, 3, r); }

// ---------------------------------------------------------------------------- weight norm, rrelu

// v, g, dim: adds v * g / norm as the result `product`, and the norms over all other dimensions as
// `norms`, in float32 for floats of 16 bits. Either can be NULL. dim -1 is the norm of the tensor.
static tensor_status normalize_weight(lt_value *a, bool whole, lt_value *product, lt_value *norms) {
  lt_temporaries t = {0};
  const tensor_t *v = a[0].pointer;
  const tensor_dtype dtype = tensor_get_dtype(v);
  const tensor_dtype norm_dtype =
      dtype == TENSOR_FLOAT16 || dtype == TENSOR_BFLOAT16 ? TENSOR_FLOAT32 : dtype;
  const int64_t n = tensor_dim(v), kept = a[2].i < 0 ? a[2].i + n : a[2].i;
  int64_t dims[64], count = 0;
  tensor_t *wide = NULL, *norm = NULL, *scale = NULL, *made = NULL;
  if (kept < 0 || kept >= n) return lt_reject_dim(TENSOR_ERROR_INDEX, "dim", a[2].i, n);
  for (int64_t i = 0; i < n; i++)
    if (i != kept || whole) dims[count++] = i;
  RUN(&t, wide, lt_convert_dtype(v, norm_dtype, &wide));
  if (count)
    RUN(&t, norm,
        tensor_linalg_vector_norm(wide, tensor_float(2), dims, count, !whole, TENSOR_DTYPE_NONE,
                                  &norm));
  else
    RUN(&t, norm, tensor_abs(wide, &norm));
  RUN(&t, scale, tensor_div(a[1].pointer, norm, NULL, &scale));
  RUN(&t, made, tensor_mul(wide, scale, &made));
  RUN(&t, made, lt_convert_dtype(made, dtype, &made));
  lt_return(&t, made, product);
  if (norms) lt_return(&t, norm, norms);
  return lt_finish(&t, product);
}

tensor_status lt_compute__weight_norm(lt_value *a, lt_value *r) {
  return normalize_weight(a, a[2].i == -1, r, NULL);
}

tensor_status lt_compute__weight_norm_interface(lt_value *a, lt_value *r) {
  return normalize_weight(a, false, r, r + 1);
}

static double read_scalar(tensor_scalar s) {
  return s.kind == TENSOR_SCALAR_FLOAT ? s.value.f.re : (double)s.value.i;
}

// self, noise, lower, upper, training, generator. The noise is the slope of each element, which
// rrelu draws for those that are not positive.
tensor_status lt_compute_rrelu_with_noise_functional(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  const tensor_t *x = a[0].pointer;
  const double lower = read_scalar(a[2].scalar), upper = read_scalar(a[3].scalar);
  tensor_t *made = NULL, *noise = NULL, *low = NULL, *signs = NULL;
  if (!a[4].i) {
    RUN(&t, made, tensor_rrelu(x, lower, upper, false, NULL, &made));
    RUN(&t, noise, tensor_clone(a[1].pointer, TENSOR_FORMAT_NONE, &noise));
  } else {
    RUN(&t, low, tensor_le_scalar(x, tensor_int(0), &low));
    RUN(&t, signs,
        tensor_ones_like(x, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, tensor_device_default(),
                         TENSOR_FORMAT_NONE, &signs));
    RUN(&t, signs, tensor_masked_fill_scalar(signs, low, tensor_float(-1), &signs));
    RUN(&t, noise, tensor_rrelu(signs, lower, upper, true, a[5].pointer, &noise));
    RUN(&t, noise, tensor_abs(noise, &noise));
    RUN(&t, made, tensor_mul(x, noise, &made));
  }
  lt_return(&t, made, r);
  lt_return(&t, noise, r + 1);
  return lt_finish(&t, r);
}

// As rrelu_with_noise_functional, but the noise is written to the argument in training.
tensor_status lt_compute_rrelu_with_noise(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  lt_value both[LT_MOST_RESULTS] = {{0}};
  DO(&t, lt_compute_rrelu_with_noise_functional(a, both));
  if (!t.status) lt_hold(&t, both[0].pointer), lt_hold(&t, both[1].pointer);
  if (a[4].i) DO(&t, tensor_copy_(a[1].pointer, both[1].pointer, false));
  lt_return(&t, both[0].pointer, r);
  return lt_finish(&t, r);
}

// ------------------------------------------------------------------------------------- rms_norm

// input, normalized_shape, weight, eps: adds the reciprocal root mean square, of float32 for floats
// of 16 bits. The default of eps is the least difference from 1 of that dtype.
tensor_status lt_compute__fused_rms_norm(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  const tensor_t *x = a[0].pointer;
  const tensor_dtype dtype = tensor_get_dtype(x);
  const bool is_half = dtype == TENSOR_FLOAT16 || dtype == TENSOR_BFLOAT16;
  const double least =
      dtype == TENSOR_FLOAT64 || dtype == TENSOR_COMPLEX128 ? DBL_EPSILON : FLT_EPSILON;
  const double *eps = a[3].pointer ? a[3].pointer : &least;
  const int64_t n = a[1].list.length;
  int64_t dims[64];
  tensor_t *out = NULL, *wide = NULL, *mean = NULL, *rstd = NULL;
  RUN(&t, out, tensor_rms_norm(x, a[1].list.data, n, a[2].pointer, eps, &out));
  for (int64_t i = 0; i < n && i < 64; i++) dims[i] = i - n;
  RUN(&t, wide, lt_convert_dtype(x, is_half ? TENSOR_FLOAT32 : dtype, &wide));
  RUN(&t, mean, tensor_square(wide, &mean));
  RUN(&t, mean, tensor_mean(mean, dims, n, true, TENSOR_DTYPE_NONE, &mean));
  RUN(&t, mean, tensor_add_scalar(mean, tensor_float(*eps), tensor_int(1), &mean));
  RUN(&t, rstd, tensor_rsqrt(mean, &rstd));
  lt_return(&t, out, r);
  lt_return(&t, rstd, r + 1);
  return lt_finish(&t, r);
}
