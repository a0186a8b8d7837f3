// ATen's derivatives: they are computed by the backward pass of the function, or composed.
#include <stddef.h>

#include "composites.h"

#define LIST(v) (v).list.data, (v).list.length

// Makes the leaves of a graph, runs the function and its backward pass.
static tensor_status run_backward(const lt_value *a, lt_forward forward, tensor_t *const *inputs,
                                  int count, const bool *mask, const tensor_t *gradient,
                                  lt_value *r) {
  enum { MOST = 4 };
  lt_temporaries t = {0};
  tensor_t *leaves[MOST] = {NULL}, *out = NULL;
  const tensor_t *wanted[MOST];
  int place[MOST], n = 0;
  for (int i = 0; i < count && i < MOST; i++) {
    if (!inputs[i]) continue;
    RUN(&t, leaves[i], tensor_detach(inputs[i], leaves + i));
    if (mask && !mask[i]) continue;
    DO(&t, tensor_set_requires_grad(leaves[i], true));
    place[n] = i, wanted[n++] = leaves[i];
  }
  tensor_t **gradients = NULL;
  int64_t length = 0;
  if (n) {
    RUN(&t, out, forward(a, leaves, &out));
    const tensor_t *const outs[] = {out};
    DO(&t, tensor_autograd_grad(outs, 1, wanted, n, &gradient, 1, -1, false, true, true, &gradients,
                                &length));
  }
  for (int i = 0; !t.status && i < length; i++) {
    r[place[i]].pointer = gradients[i];
    gradients[i] = NULL;
  }
  tensor_list_free(gradients, length);
  return lt_finish(&t, r);
}

tensor_status lt_differentiate(const lt_value *a, lt_forward forward, tensor_t *const *inputs,
                               int count, const bool *mask, const tensor_t *gradient, lt_value *r) {
  bool before = true;
  tensor_status status = tensor_is_grad_enabled(&before);
  if (!status && !before) status = tensor_set_grad_enabled(true);
  if (status) return status;
  status = run_backward(a, forward, inputs, count, mask, gradient, r);
  if (!before) tensor_set_grad_enabled(false);
  return status;
}

// A derivative by one input, a[1], of a function whose other arguments follow.
#define DERIVATIVE(name, call)                                                                 \
  static tensor_status forward_##name(const lt_value *a, tensor_t *const *x, tensor_t **out) { \
    (void)a;                                                                                   \
    return call;                                                                               \
  }                                                                                            \
  tensor_status lt_compute_##name(lt_value *a, lt_value *r) {                                  \
    tensor_t *const inputs[] = {a[1].pointer};                                                 \
    return lt_differentiate(a, forward_##name, inputs, 1, NULL, a[0].pointer, r);              \
  }

// The sizes of the gradient without the dimensions that are not pooled.
static tensor_status pool_adaptively(const lt_value *a, tensor_t *const *x, int64_t n,
                                     tensor_t **out) {
  const int64_t dims = tensor_dim(a[0].pointer);
  if (dims < n)
    return lt_reject(TENSOR_ERROR_RUNTIME,
                     "argument 'grad_output' has %lld dimensions; at least %lld are required",
                     (long long)dims, (long long)n);
  const int64_t *sizes = tensor_sizes(a[0].pointer) + dims - n;
  return n == 2 ? tensor_nn_adaptive_avg_pool2d(x[0], sizes, n, out)
                : tensor_nn_adaptive_avg_pool3d(x[0], sizes, n, out);
}

static double real_of(const lt_value *v) {
  return v->scalar.kind == TENSOR_SCALAR_FLOAT ? v->scalar.value.f.re : (double)v->scalar.value.i;
}

DERIVATIVE(_adaptive_avg_pool2d_backward, pool_adaptively(a, x, 2, out))
DERIVATIVE(_adaptive_avg_pool3d_backward, pool_adaptively(a, x, 3, out))
DERIVATIVE(avg_pool2d_backward, tensor_nn_avg_pool2d(x[0], LIST(a[2]), LIST(a[3]), LIST(a[4]),
                                                     a[5].i != 0, a[6].i != 0, a[7].i, out))
DERIVATIVE(avg_pool3d_backward, tensor_nn_avg_pool3d(x[0], LIST(a[2]), LIST(a[3]), LIST(a[4]),
                                                     a[5].i != 0, a[6].i != 0, a[7].i, out))
DERIVATIVE(gelu_backward, tensor_nn_gelu(x[0], a[2].text, out))
DERIVATIVE(silu_backward, tensor_nn_silu(x[0], out))
DERIVATIVE(mish_backward, tensor_nn_mish(x[0], out))
DERIVATIVE(hardswish_backward, tensor_nn_hardswish(x[0], out))
DERIVATIVE(hardsigmoid_backward, tensor_nn_hardsigmoid(x[0], out))
DERIVATIVE(hardtanh_backward, tensor_nn_hardtanh(x[0], a[2].scalar, a[3].scalar, out))
DERIVATIVE(softplus_backward, tensor_nn_softplus(x[0], real_of(a + 2), real_of(a + 3), out))

// -------------------------------------------------------------------------------------- nll_loss

static tensor_status sum_losses(const lt_value *a, tensor_t *const *x, tensor_t **out) {
  return tensor_nn_nll_loss(x[0], a[2].pointer, a[3].pointer, -1, a[5].i, -1,
                            a[4].i == 0 ? "none" : "sum", out);
}

// grad_output, self, target, weight, reduction, ignore_index, total_weight. The gradient of the
// mean is that of the sum, divided by the total weight.
tensor_status lt_compute_nll_loss_backward(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *const inputs[] = {a[1].pointer};
  tensor_t *gradient = a[0].pointer;
  if (a[4].i < 0 || a[4].i > 2)
    return lt_reject(TENSOR_ERROR_VALUE,
                     "argument 'reduction' is %lld; it must be 0 (none), 1 (mean) or 2 (sum)",
                     (long long)a[4].i);
  if (a[4].i == 1) RUN(&t, gradient, tensor_div(gradient, a[6].pointer, NULL, &gradient));
  DO(&t, lt_differentiate(a, sum_losses, inputs, 1, NULL, gradient, r));
  return lt_finish(&t, r);
}
tensor_status lt_compute_nll_loss2d_backward(lt_value *a, lt_value *r) {
  return lt_compute_nll_loss_backward(a, r);
}

// ---------------------------------------------------------------------- normalization, embedding

// The eps of the forward pass, which rstd = 1 / sqrt(var + eps) contains, does not matter where the
// statistics are given: normalized = (input - mean) * rstd. The gradients are composed from it.
static tensor_status normalized_gradients(const tensor_t *gradient, const tensor_t *input,
                                          const tensor_t *mean, const tensor_t *rstd,
                                          const tensor_t *weight, const int64_t *dims, int64_t n,
                                          tensor_t **by_input, tensor_t **normalized) {
  lt_temporaries t = {0};
  tensor_t *centered = NULL, *x = NULL, *g = (tensor_t *)gradient, *mean_g = NULL, *product = NULL,
           *mean_p = NULL;
  tensor_t *first = NULL, *second = NULL, *difference = NULL, *made = NULL;
  lt_value kept[2] = {{0}};
  RUN(&t, centered, tensor_sub(input, mean, tensor_int(1), &centered));
  RUN(&t, x, tensor_mul(centered, rstd, &x));
  if (weight) RUN(&t, g, tensor_mul(gradient, weight, &g));
  RUN(&t, mean_g, tensor_mean(g, dims, n, true, TENSOR_DTYPE_NONE, &mean_g));
  RUN(&t, product, tensor_mul(g, x, &product));
  RUN(&t, mean_p, tensor_mean(product, dims, n, true, TENSOR_DTYPE_NONE, &mean_p));
  RUN(&t, first, tensor_sub(g, mean_g, tensor_int(1), &first));
  RUN(&t, second, tensor_mul(x, mean_p, &second));
  RUN(&t, difference, tensor_sub(first, second, tensor_int(1), &difference));
  RUN(&t, made, tensor_mul(difference, rstd, &made));
  lt_return(&t, made, kept);
  lt_return(&t, x, kept + 1);
  if (!t.status) *by_input = kept[0].pointer, *normalized = kept[1].pointer;
  lt_value none[LT_MOST_RESULTS] = {{0}};
  return lt_finish(&t, none);
}

// grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
tensor_status lt_compute_native_layer_norm_backward(lt_value *a, lt_value *r) {
  enum { MOST = 64 };
  const tensor_t *gradient = a[0].pointer, *input = a[1].pointer;
  const int64_t dims = tensor_dim(input), n = a[2].list.length, outer = dims - n;
  const bool *mask = a[7].list.data;
  int64_t inner[MOST], rest[MOST];
  if (a[7].list.length != 3 || n < 1 || outer < 0 || dims > MOST)
    return lt_reject(TENSOR_ERROR_RUNTIME,
                     "argument 'normalized_shape' has %lld items for a tensor of %lld dimensions, "
                     "and 'output_mask' %lld; 3 are required",
                     (long long)n, (long long)dims, (long long)a[7].list.length);
  for (int64_t i = 0; i < n; i++) inner[i] = outer + i;
  for (int64_t i = 0; i < outer; i++) rest[i] = i;
  lt_temporaries t = {0};
  tensor_t *by_input = NULL, *x = NULL, *product = NULL, *by_weight = NULL, *by_bias = NULL;
  RUN(&t, by_input,
      normalized_gradients(gradient, input, a[3].pointer, a[4].pointer, a[5].pointer, inner, n,
                           &by_input, &x));
  if (!t.status) lt_hold(&t, x);
  if (mask[1] && a[5].pointer) {
    RUN(&t, product, tensor_mul(gradient, x, &product));
    if (outer)
      RUN(&t, by_weight, tensor_sum(product, rest, outer, false, TENSOR_DTYPE_NONE, &by_weight));
    else
      by_weight = product;
  }
  if (mask[2] && a[6].pointer) {
    if (outer)
      RUN(&t, by_bias, tensor_sum(gradient, rest, outer, false, TENSOR_DTYPE_NONE, &by_bias));
    else
      RUN(&t, by_bias, tensor_clone(gradient, TENSOR_PRESERVE, &by_bias));
  }
  lt_return(&t, mask[0] ? by_input : NULL, r);
  lt_return(&t, by_weight, r + 1);
  lt_return(&t, by_bias, r + 2);
  return lt_finish(&t, r);
}

// grad_out, input, normalized_shape, rstd, weight, output_mask. Floats of 16 bits are computed in
// the dtype of rstd, float32.
tensor_status lt_compute__fused_rms_norm_backward(lt_value *a, lt_value *r) {
  enum { MOST = 64 };
  tensor_t *const rstd = a[3].pointer, *const weight = a[4].pointer;
  const tensor_dtype dtype = tensor_get_dtype(a[1].pointer), wide = tensor_get_dtype(rstd);
  const int64_t dims = tensor_dim(a[1].pointer), n = a[2].list.length, outer = dims - n;
  const bool *mask = a[5].list.data;
  int64_t inner[MOST], rest[MOST];
  if (a[5].list.length != 2 || n < 1 || outer < 0 || dims > MOST)
    return lt_reject(TENSOR_ERROR_RUNTIME,
                     "argument 'normalized_shape' has %lld items for a tensor of %lld dimensions, "
                     "and 'output_mask' %lld; 2 are required",
                     (long long)n, (long long)dims, (long long)a[5].list.length);
  for (int64_t i = 0; i < n; i++) inner[i] = outer + i;
  for (int64_t i = 0; i < outer; i++) rest[i] = i;
  lt_temporaries t = {0};
  tensor_t *g = NULL, *x = NULL, *product = NULL, *mean = NULL, *by_input = NULL, *by_weight = NULL;
  RUN(&t, g, lt_convert_dtype(a[0].pointer, wide, &g));
  RUN(&t, x, lt_convert_dtype(a[1].pointer, wide, &x));
  RUN(&t, x, tensor_mul(x, rstd, &x));
  RUN(&t, product, tensor_mul(g, x, &product));
  if (mask[1] && weight) {
    by_weight = product;
    if (outer)
      RUN(&t, by_weight, tensor_sum(product, rest, outer, false, TENSOR_DTYPE_NONE, &by_weight));
    RUN(&t, by_weight, lt_convert_dtype(by_weight, tensor_get_dtype(weight), &by_weight));
  }
  if (mask[0]) {
    if (weight) RUN(&t, g, tensor_mul(g, weight, &g));
    RUN(&t, product, tensor_mul(g, x, &product));
    RUN(&t, mean, tensor_mean(product, inner, n, true, TENSOR_DTYPE_NONE, &mean));
    RUN(&t, product, tensor_mul(x, mean, &product));
    RUN(&t, by_input, tensor_sub(g, product, tensor_int(1), &by_input));
    RUN(&t, by_input, tensor_mul(by_input, rstd, &by_input));
    RUN(&t, by_input, lt_convert_dtype(by_input, dtype, &by_input));
  }
  lt_return(&t, by_input, r);
  lt_return(&t, by_weight, r + 1);
  return lt_finish(&t, r);
}

// grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask
tensor_status lt_compute_native_group_norm_backward(lt_value *a, lt_value *r) {
  const int64_t N = a[5].i, C = a[6].i, inner = a[7].i, groups = a[8].i;
  const bool *mask = a[9].list.data;
  if (a[9].list.length != 3 || groups < 1 || C % groups)
    return lt_reject(TENSOR_ERROR_RUNTIME,
                     "argument 'C' is %lld, which 'group' (%lld) must divide, and 'output_mask' "
                     "has %lld items; 3 are required",
                     (long long)C, (long long)groups, (long long)a[9].list.length);
  const int64_t grouped[] = {N, groups, C / groups, inner}, statistic[] = {N, groups, 1, 1},
                per_group[] = {1, groups, C / groups, 1}, per_channel[] = {C}, over[] = {2, 3},
                rest[] = {0, 3};
  lt_temporaries t = {0};
  tensor_t *g = NULL, *x = NULL, *mean = NULL, *rstd = NULL, *weight = NULL, *by_input = NULL,
           *normalized = NULL;
  tensor_t *product = NULL, *by_weight = NULL, *by_bias = NULL;
  RUN(&t, g, tensor_reshape(a[0].pointer, grouped, 4, &g));
  RUN(&t, x, tensor_reshape(a[1].pointer, grouped, 4, &x));
  RUN(&t, mean, tensor_reshape(a[2].pointer, statistic, 4, &mean));
  RUN(&t, rstd, tensor_reshape(a[3].pointer, statistic, 4, &rstd));
  if (a[4].pointer) RUN(&t, weight, tensor_reshape(a[4].pointer, per_group, 4, &weight));
  RUN(&t, by_input,
      normalized_gradients(g, x, mean, rstd, weight, over, 2, &by_input, &normalized));
  if (!t.status) lt_hold(&t, normalized);
  RUN(&t, by_input, tensor_view_as(by_input, a[1].pointer, &by_input));
  if (mask[1] && a[4].pointer) {
    RUN(&t, product, tensor_mul(g, normalized, &product));
    RUN(&t, by_weight, tensor_sum(product, rest, 2, false, TENSOR_DTYPE_NONE, &by_weight));
    RUN(&t, by_weight, tensor_reshape(by_weight, per_channel, 1, &by_weight));
  }
  if (mask[2]) {
    RUN(&t, by_bias, tensor_sum(g, rest, 2, false, TENSOR_DTYPE_NONE, &by_bias));
    RUN(&t, by_bias, tensor_reshape(by_bias, per_channel, 1, &by_bias));
  }
  lt_return(&t, mask[0] ? by_input : NULL, r);
  lt_return(&t, by_weight, r + 1);
  lt_return(&t, by_bias, r + 2);
  return lt_finish(&t, r);
}

static tensor_status look_up(const lt_value *a, tensor_t *const *x, tensor_t **out) {
  return tensor_embedding(x[0], a[1].pointer, a[3].i, a[4].i != 0, false, out);
}

// grad_output, indices, num_weights, padding_idx, scale_grad_by_freq
tensor_status lt_compute_embedding_dense_backward(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  const int64_t dims = tensor_dim(a[0].pointer);
  if (dims < 1)
    return lt_reject(
        TENSOR_ERROR_RUNTIME,
        "argument 'grad_output' has no dimensions; its last one is that of the embedding");
  const int64_t sizes[] = {a[2].i, tensor_sizes(a[0].pointer)[dims - 1]};
  tensor_t *weight = NULL;
  RUN(&t, weight,
      tensor_zeros(sizes, 2, tensor_get_dtype(a[0].pointer), TENSOR_LAYOUT_NONE,
                   tensor_get_device(a[0].pointer), &weight));
  tensor_t *const inputs[] = {weight};
  DO(&t, lt_differentiate(a, look_up, inputs, 1, NULL, a[0].pointer, r));
  return lt_finish(&t, r);
}

// --------------------------------------------------------------------------------------- pooling

// Adds the gradient at the indices of the last n dimensions.
static tensor_status scatter_gradient(const lt_value *a, const tensor_t *indices, int64_t n,
                                      lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *zeros = NULL, *flat = NULL, *at = NULL, *values = NULL, *made = NULL;
  RUN(&t, zeros,
      tensor_zeros_like(a[1].pointer, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE,
                        tensor_device_default(), TENSOR_CONTIGUOUS, &zeros));
  RUN(&t, flat, tensor_flatten(zeros, -n, -1, &flat));
  RUN(&t, at, tensor_flatten(indices, -n, -1, &at));
  RUN(&t, values, tensor_flatten(a[0].pointer, -n, -1, &values));
  RUN(&t, flat, tensor_scatter_add(flat, -1, at, values, &flat));
  RUN(&t, made, tensor_view_as(flat, zeros, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}
tensor_status lt_compute_max_pool2d_with_indices_backward(lt_value *a, lt_value *r) {
  return scatter_gradient(a, a[7].pointer, 2, r);
}
tensor_status lt_compute_max_pool3d_with_indices_backward(lt_value *a, lt_value *r) {
  return scatter_gradient(a, a[7].pointer, 3, r);
}

// --------------------------------------------------------------------- derivatives by the result

// grad_output * output * (1 - output)
tensor_status lt_compute_sigmoid_backward(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *rest = NULL, *product = NULL, *made = NULL;
  RUN(&t, rest, tensor_rsub_scalar(a[1].pointer, tensor_int(1), tensor_int(1), &rest));
  RUN(&t, product, tensor_mul(a[1].pointer, rest, &product));
  RUN(&t, made, tensor_mul(a[0].pointer, product, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// grad_output * (1 - output^2)
tensor_status lt_compute_tanh_backward(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *square = NULL, *rest = NULL, *made = NULL;
  RUN(&t, square, tensor_mul(a[1].pointer, a[1].pointer, &square));
  RUN(&t, rest, tensor_rsub_scalar(square, tensor_int(1), tensor_int(1), &rest));
  RUN(&t, made, tensor_mul(a[0].pointer, rest, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// grad_output where self > threshold, 0 elsewhere
tensor_status lt_compute_threshold_backward(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *low = NULL, *made = NULL;
  RUN(&t, low, tensor_le_scalar(a[1].pointer, a[2].scalar, &low));
  RUN(&t, made, tensor_masked_fill_scalar(a[0].pointer, low, tensor_int(0), &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// With a result the slope decides in the same way, since it is not negative.
static tensor_status scale_negative(const tensor_t *gradient, const tensor_t *self,
                                    tensor_scalar slope, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *positive = NULL, *low = NULL, *made = NULL;
  RUN(&t, positive, tensor_gt_scalar(self, tensor_int(0), &positive));
  RUN(&t, low, tensor_mul_scalar(gradient, slope, &low));
  RUN(&t, made, tensor_where(positive, gradient, low, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

tensor_status lt_compute_leaky_relu_backward(lt_value *a, lt_value *r) {
  return scale_negative(a[0].pointer, a[1].pointer, a[2].scalar, r);
}

// grad_output, self, noise, lower, upper, training, self_is_result. In training the noise has the
// slopes of all elements.
tensor_status lt_compute_rrelu_with_noise_backward(lt_value *a, lt_value *r) {
  if (!a[5].i) {
    const double slope = (real_of(a + 3) + real_of(a + 4)) / 2;
    return scale_negative(a[0].pointer, a[1].pointer, tensor_float(slope), r);
  }
  RETURN_TENSOR(tensor_mul(a[0].pointer, a[2].pointer, &made));
}

// grad_output, alpha, scale, input_scale, is_result, self_or_result
tensor_status lt_compute_elu_backward(lt_value *a, lt_value *r) {
  const double alpha = real_of(a + 1), scale = real_of(a + 2), input_scale = real_of(a + 3);
  lt_temporaries t = {0};
  tensor_t *x = a[5].pointer, *positive = NULL, *low = NULL, *high = NULL, *made = NULL;
  RUN(&t, positive, tensor_gt_scalar(x, tensor_int(0), &positive));
  if (a[4].i) {
    RUN(&t, low, tensor_add_scalar(x, tensor_float(alpha * scale), tensor_int(1), &low));
    RUN(&t, low, tensor_mul_scalar(low, tensor_float(input_scale), &low));
  } else {
    RUN(&t, low, tensor_mul_scalar(x, tensor_float(input_scale), &low));
    RUN(&t, low, tensor_exp(low, &low));
    RUN(&t, low, tensor_mul_scalar(low, tensor_float(alpha * scale * input_scale), &low));
  }
  RUN(&t, low, tensor_mul(a[0].pointer, low, &low));
  RUN(&t, high, tensor_mul_scalar(a[0].pointer, tensor_float(scale), &high));
  RUN(&t, made, tensor_where(positive, high, low, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// (grad_output - sum(grad_output * output)) * output, converted to input_dtype
tensor_status lt_compute__softmax_backward_data(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *product = NULL, *total = NULL, *scaled = NULL, *made = NULL;
  RUN(&t, product, tensor_mul(a[0].pointer, a[1].pointer, &product));
  RUN(&t, total, tensor_sum(product, &a[2].i, 1, true, TENSOR_DTYPE_NONE, &total));
  RUN(&t, scaled, tensor_mul(a[1].pointer, total, &scaled));
  RUN(&t, scaled, tensor_sub(product, scaled, tensor_int(1), &scaled));
  RUN(&t, made,
      tensor_to_options(scaled, (tensor_dtype)a[3].i, TENSOR_LAYOUT_NONE, tensor_device_default(),
                        false, true, TENSOR_FORMAT_NONE, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// grad_output - exp(output) * sum(grad_output), converted to input_dtype
tensor_status lt_compute__log_softmax_backward_data(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *soft = NULL, *total = NULL, *scaled = NULL, *made = NULL;
  RUN(&t, soft, tensor_exp(a[1].pointer, &soft));
  RUN(&t, total, tensor_sum(a[0].pointer, &a[2].i, 1, true, TENSOR_DTYPE_NONE, &total));
  RUN(&t, scaled, tensor_mul(soft, total, &scaled));
  RUN(&t, scaled, tensor_sub(a[0].pointer, scaled, tensor_int(1), &scaled));
  RUN(&t, made,
      tensor_to_options(scaled, (tensor_dtype)a[3].i, TENSOR_LAYOUT_NONE, tensor_device_default(),
                        false, true, TENSOR_FORMAT_NONE, &made));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

static tensor_status measure_squares(const lt_value *a, tensor_t *const *x, tensor_t **out) {
  static const char *const reductions[] = {"none", "mean", "sum"};
  if (a[3].i < 0 || a[3].i > 2)
    return lt_reject(TENSOR_ERROR_VALUE,
                     "argument 'reduction' is %lld; it must be 0 (none), 1 (mean) or 2 (sum)",
                     (long long)a[3].i);
  return tensor_nn_mse_loss(x[0], a[2].pointer, -1, -1, reductions[a[3].i], NULL, out);
}
tensor_status lt_compute_mse_loss_backward(lt_value *a, lt_value *r) {
  tensor_t *const inputs[] = {a[1].pointer};
  return lt_differentiate(a, measure_squares, inputs, 1, NULL, a[0].pointer, r);
}

// grad_output, mask, scale
tensor_status lt_compute_native_dropout_backward(lt_value *a, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *made = NULL;
  RUN(&t, made, tensor_mul(a[0].pointer, a[1].pointer, &made));
  DO(&t, tensor_mul_scalar_(made, tensor_float(a[2].f)));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}

// -------------------------------------------------------------------------- derivatives of views

// Copies the gradient to a part of a tensor of zeros.
static tensor_status embed_gradient(const lt_value *a, bool slice, lt_value *r) {
  lt_temporaries t = {0};
  tensor_t *made = NULL, *part = NULL;
  RUN(&t, made,
      tensor_zeros(LIST(a[1]), tensor_get_dtype(a[0].pointer), TENSOR_LAYOUT_NONE,
                   tensor_get_device(a[0].pointer), &made));
  if (slice)
    RUN(&t, part, tensor_slice(made, a[2].i, a[3].i, a[4].i, a[5].i, &part));
  else
    RUN(&t, part, tensor_select(made, a[2].i, a[3].i, &part));
  DO(&t, tensor_copy_(part, a[0].pointer, false));
  lt_return(&t, made, r);
  return lt_finish(&t, r);
}
tensor_status lt_compute_slice_backward(lt_value *a, lt_value *r) {
  return embed_gradient(a, true, r);
}
tensor_status lt_compute_select_backward(lt_value *a, lt_value *r) {
  return embed_gradient(a, false, r);
}
