"""Arguments of every operator that run_decompositions() decomposes, by overload."""

import math

import libtensor as torch

LINES = """
__and__.Scalar: i(4), 6
__and__.Tensor: i(4), i(4)
__or__.Scalar: i(4), 6
__or__.Tensor: i(4), i(4)
__xor__.Scalar: i(4), 6
__xor__.Tensor: i(4), i(4)
_prelu_kernel.default: f(2, 3), p(2, 3)
_reshape_alias.default: f(2, 3), [6], [1]
_safe_softmax.default: masked(), -1
_scaled_dot_product_flash_attention_for_cpu.default: f(1, 2, 3, 4), f(1, 2, 5, 4), f(1, 2, 5, 4)
_unsafe_index.Tensor: f(3, 4), [i(2)]
_unsafe_index_put.default: f(3, 4), [i(2)], f(2, 4)
_unsafe_view.default: f(2, 3), [3, 2]
absolute.default: f(4)
adaptive_avg_pool2d.default: f(1, 2, 6, 5), [1, 1] | f(1, 2, 6, 5), [3, 2]
adaptive_avg_pool3d.default: f(1, 2, 4, 6, 5), [1, 1, 1] | f(1, 2, 4, 6, 5), [2, 3, 2]
adaptive_max_pool1d.default: f(2, 3, 7), [3]
addcdiv.default: f(4), f(4), p(4) | f(4), f(4), p(4), value=2 | f(4).half(), f(4).half(), p(4).half(), value=3.14
addcmul.default: f(4), f(4), f(4) | f(4), f(4), f(4), value=2 | f(4).bfloat16(), f(4).bfloat16(), f(4).bfloat16(), value=3.14
addmv.default: f(2), f(2, 3), f(3) | f(2), f(2, 3), f(3), beta=2, alpha=3 | i(2), i(2, 3), i(3), beta=0.4, alpha=1.6
addr.default: f(2, 3), f(2), f(3) | f(2, 3), f(2), f(3), beta=0, alpha=3
affine_grid_generator.default: f(2, 2, 3), [2, 1, 3, 4], False | f(2, 2, 3), [2, 1, 3, 4], True | f(2, 3, 4), [2, 1, 3, 4, 2], False
alias_copy.default: f(4)
all.default: b(4)
all.dim: b(3, 4), 1
all.dims: b(3, 4), [0, 1], True
alpha_dropout.default: f(4), 0.5, False
aminmax.default: f(3, 4) | f(3, 4), dim=1, keepdim=True
arange.default: 5
arange.start: 2, 7
arccos.default: u(4)
arccosh.default: p(4) + 1
arcsin.default: u(4)
arcsinh.default: f(4)
arctan.default: f(4)
arctan2.default: f(4), f(4)
arctanh.default: u(4) * 0.9
argsort.default: f(3, 5) | f(3, 5), 0, True
argsort.stable: f(3, 5), stable=True
baddbmm.default: f(2, 3, 4), f(2, 3, 5), f(2, 5, 4) | f(2, 3, 4), f(2, 3, 5), f(2, 5, 4), beta=0.5, alpha=2
baddbmm.default: i(1, 2), i(1, 1, 1), i(1, 1, 2), beta=2
batch_norm.default: f(4, 3), p(3), f(3), f(3), p(3), False, 0.1, 1e-5, True | f(4, 3, 5), p(3), f(3), None, None, True, 0.1, 1e-5, True
bilinear.default: f(4, 3), f(4, 5), f(2, 3, 5), f(2) | f(3), f(5), f(2, 3, 5), f(2)
binary_cross_entropy.default: u(4).abs(), u(4).abs() | u(4).abs(), u(4).abs(), p(4), 2
binary_cross_entropy_with_logits.default: f(4), u(4).abs() | f(4), u(4).abs(), p(4), p(4), 0
broadcast_tensors.default: [f(3, 1), f(4)]
broadcast_to.default: f(3, 1), [2, 3, 4]
cdist.default: f(3, 4), f(5, 4)
celu.default: f(4), 2.0
channel_shuffle.default: f(1, 6, 2, 2), 3
chunk.default: f(7, 2), 3
clamp_max.Tensor: f(4), f(4)
clamp_max.default: f(4), 0.25
clamp_min.Tensor: f(4), f(4)
clamp_min.default: f(4), 0.25
clip.Tensor: f(4), f(4) - 2, f(4) + 2
clip.default: f(4), -0.5, 0.5
concat.default: [f(2, 3), f(1, 3)]
concatenate.default: [f(2, 3), f(2, 1)], 1
contiguous.default: f(3, 4).t() | f(3, 4)
conv1d.default: f(2, 4, 9), f(6, 2, 3), f(6), [2], [1], [1], 2 | f(4, 9), f(6, 4, 3)
conv1d.padding: f(2, 4, 9), f(6, 4, 4), None, [1], 'same' | f(2, 4, 9), f(6, 4, 3), f(6), [2], 'valid'
conv2d.default: f(2, 4, 7, 6), f(6, 4, 3, 3), f(6), [2, 1], [1, 1]
conv2d.padding: f(2, 4, 7, 6), f(6, 4, 3, 3), None, [1, 1], 'same'
conv3d.default: f(1, 2, 4, 5, 4), f(3, 2, 2, 2, 2)
conv3d.padding: f(1, 2, 4, 5, 4), f(3, 2, 3, 2, 3), None, [1, 1, 1], 'same'
conv_transpose1d.default: f(2, 4, 5), f(4, 3, 3), f(3), [2], [1], [1]
conv_transpose2d.input: f(2, 4, 5, 4), f(4, 3, 3, 3)
conv_transpose3d.input: f(1, 4, 2, 3, 2), f(4, 3, 2, 2, 2)
cosine_similarity.default: f(3, 4), f(3, 4) | f(3, 4), f(4), -1
count_nonzero.default: i(3, 4) | i(3, 4), 1
count_nonzero.dim_IntList: i(3, 4), [0, 1]
cross_entropy_loss.default: f(4, 3), i(4) | f(4, 3), i(4), p(3), 2, 1 | f(4, 3), i(4), None, 1, -100, 0.1 | f(2, 3, 4), p(2, 3, 4), p(3), 1
deg2rad.default: f(4)
detach.default: f(4)
diag.default: f(3) | f(3, 4), 1 | f(3), -2
diag_embed.default: f(2, 3) | f(2, 3), 1 | f(2, 3), -2
diagonal_copy.default: f(3, 4)
divide.Scalar: f(4), 2
divide.Scalar_mode: f(4), 0.3, rounding_mode='trunc'
divide.Tensor: f(4), p(4)
divide.Tensor_mode: f(4), p(4), rounding_mode='floor'
dot.default: f(4), f(4) | i(4).int(), i(4).int()
dropout.default: f(4), 0.5, False
einsum.default: 'bij,bjk->bik', [f(2, 3, 4), f(2, 4, 5)] | 'ij,jk,kl', [f(2, 3), f(3, 4), f(4, 2)]
einsum.default: 'ij->j', [f(2, 3)] | 'i,j', [f(2), f(3)]
embedding_bag.default: f(5, 3), i(4), torch.tensor([0, 2])
embedding_bag.padding_idx: f(5, 3), i(4), torch.tensor([0, 2]), False, 1, False, None, False, None
empty_like.default: f(2, 0)
expand_as.default: f(3, 1), f(3, 4)
expand_copy.default: f(3, 1), [3, 4]
eye.default: 3 | 3, dtype=torch.int64
eye.m: 3, 4
feature_alpha_dropout.default: f(2, 3), 0.5, False
feature_dropout.default: f(2, 3), 0.5, False
fft_fft.default: c(6) | c(6), 8, -1, 'ortho' | f(6), 4
fft_ifft.default: c(6) | c(6), 4, -1, 'forward'
fft_irfft.default: c(5) | c(5), 7
fft_rfft.default: f(2, 6) | f(6, 2), 8, 0, 'forward'
fill.Tensor: f(3, 4), torch.tensor(2)
fix.default: f(4) * 3
flatten.using_ints: f(2, 3, 4), 1 | f(2, 3, 4).transpose(0, 1)
fliplr.default: f(2, 3)
flipud.default: f(2, 3)
float_power.Tensor_Scalar: p(4), 2
float_power.Tensor_Tensor: p(4), f(4)
floor_divide.Scalar: f(4), 0.3
floor_divide.default: i(4), i(4) + 1
frac.default: f(4) * 3
frobenius_norm.dim: f(3, 4), [1], True
ger.default: f(2), f(3)
glu.default: f(2, 6) | f(4, 3), 0
greater.Scalar: f(4), 0
greater.Tensor: f(4), f(4)
greater_equal.Scalar: f(4), 0
greater_equal.Tensor: f(4), f(4)
grid_sampler.default: f(1, 2, 4, 5), u(1, 3, 3, 2), 0, 0, False | f(1, 2, 3, 4, 5), u(1, 2, 3, 3, 3), 1, 1, True
group_norm.default: f(2, 6, 5), 3, p(6), f(6)
gru.input: f(5, 2, 3), f(2, 2, 4), rnn(3, 3, 4, 2), True, 1, 0.0, False, True, False
gru_cell.default: f(2, 3), f(2, 4), f(12, 3), f(12, 4), f(12), f(12)
hann_window.default: 6
hann_window.periodic: 6, False
hardshrink.default: f(4)
hardsigmoid.default: f(4) * 4
hardswish.default: f(4) * 4
heaviside.default: torch.tensor([-1.0, 0.0, 2.0]), f(3)
hinge_embedding_loss.default: f(4), torch.tensor([1, -1, 1, -1])
hstack.default: [f(2), f(3)] | [f(2, 1), f(2, 3)]
huber_loss.default: f(4) * 3, f(4), 1, 0.5
im2col.default: f(2, 3, 5, 6), [2, 3], [1, 2], [1, 0], [2, 1] | f(3, 5, 6), [2, 2], [1, 1], [0, 0], [1, 1]
index_add.default: f(3, 4), 0, i(5), f(5, 4) | f(3, 4), 1, i(5), f(3, 5), alpha=2 | f(), 0, i(1) * 0, f()
index_copy.default: f(3, 4), 1, torch.tensor([2, 0]), f(3, 2) | f(), 0, i(1) * 0, f()
index_fill.int_Scalar: f(3, 4), 1, i(2), 2.5 | f(), 0, i(1) * 0, 2
index_fill.int_Tensor: f(3, 4), 0, i(2), torch.tensor(2.5)
inner.default: f(2, 4), f(3, 4)
instance_norm.default: f(2, 3, 5), p(3), f(3), None, None, True, 0.1, 1e-5, True
instance_norm.default: f(2, 3, 5), p(3), f(3), f(3), p(3), False, 0.1, 1e-5, True
isclose.default: f(4), f(4) | odd(), odd(), 1e-5, 1e-8, True
isfinite.default: odd() | i(4)
isneginf.default: odd()
isposinf.default: odd()
kl_div.default: f(4), u(4).abs() | f(4), f(4), 2, log_target=True
l1_loss.default: f(4), f(4)
layer_norm.default: f(2, 3, 4), [3, 4], p(3, 4), f(3, 4)
lerp.Scalar: f(4), f(4), 0.3 | f(4), f(4), 0.8
lerp.Tensor: f(4), f(4), u(4)
less.Scalar: f(4), 0
less.Tensor: f(4), f(4)
less_equal.Scalar: f(4), 0
less_equal.Tensor: f(4), f(4)
lift.default: f(4)
lift_fresh.default: f(4)
lift_fresh_copy.default: f(4)
linalg_matmul.default: f(2, 3, 4), f(4, 5)
linalg_norm.default: f(3, 4) | f(3, 4), 1, [1], True
linalg_vector_norm.default: f(3, 4) | f(3, 4), 1, [0] | f(3, 4), 0 | f(3, 4), math.inf, [1], True | f(3, 4), -math.inf | f(3, 4), 3, [1]
linear.default: f(2, 3), f(4, 3), f(4) | f(5, 2, 3), f(4, 3) | f(3), f(4, 3), f(4)
linspace.default: 0, 1, 7 | -2.5, 3, 4 | 1, 2, 1
log_sigmoid.default: f(4) * 20
log_softmax.int: f(3, 4), 1 | f(3, 4), 0, torch.float64
logaddexp.default: f(4), f(4)
logit.default: u(4).abs() | u(4), 0.1 | i(4) * 0
logsumexp.default: f(3, 4), [1] | masked(), [1], True | f(3, 4), [0, 1]
lstm.input: f(2, 5, 3), [f(2, 2, 4), f(2, 2, 4)], rnn(4, 3, 4, 1) + rnn(4, 4, 4, 1), True, 2, 0.0, False, False, True
lstm_cell.default: f(2, 3), [f(2, 4), f(2, 4)], f(16, 3), f(16, 4), f(16), f(16)
mT.default: f(2, 3, 4)
margin_ranking_loss.default: f(4), f(4), torch.tensor([1, -1, 1, -1])
masked_fill.Scalar: f(4), b(4), 2
masked_fill.Tensor: f(4), b(4), torch.tensor(2.0)
matmul.default: f(3), f(3) | f(2, 3), f(3) | f(3), f(3, 2) | f(2, 3), f(3, 2) | f(4, 2, 3), f(3) | f(4, 1, 2, 3), f(5, 3, 2)
max.other: f(4), f(4)
max_pool1d.default: f(2, 3, 9), [3] | f(2, 3, 9), [3], [2], [1], [1], True
max_pool1d_with_indices.default: f(2, 3, 9), [3], [2], [1]
max_pool2d.default: f(2, 3, 9, 8), [3, 2] | f(2, 3, 9, 8), [3, 3], [2, 2], [1, 1]
max_pool3d.default: f(1, 2, 4, 5, 6), [2, 2, 2]
meshgrid.default: [f(2), f(3)]
meshgrid.indexing: [f(2), f(3)], indexing='xy'
min.other: f(4), f(4)
mish.default: f(4) * 10
moveaxis.int: f(2, 3, 4), 0, -1
moveaxis.intlist: f(2, 3, 4), [0, 1], [2, 0]
movedim.int: f(2, 3, 4), 2, 0
movedim.intlist: f(2, 3, 4), [0, 1], [1, 2]
mse_loss.default: f(4), f(4) | f(4), f(4), 0
msort.default: f(4, 2)
multiply.Scalar: f(4), 2
multiply.Tensor: f(4), f(4)
mv.default: f(2, 3), f(3)
nan_to_num.default: odd() | odd(), 1.0, 2.0, 3.0
nansum.default: odd()[:2] | odd()[:2], [0], True
narrow.default: f(5, 2), 0, 1, 3 | f(5, 2), 0, -2, 2
native_batch_norm.default: f(4, 3), p(3), f(3), f(3), p(3), False, 0.1, 1e-5
native_channel_shuffle.default: f(1, 6, 2, 2), 2
negative.default: f(4)
new_empty.default: f(4), [2, 0]
new_full.default: f(4), [2, 3], 7
new_ones.default: i(4), [2, 3]
new_zeros.default: f(4), [2, 3], dtype=torch.int64
nll_loss.default: f(4, 3), i(4), p(3), 1, 1
nll_loss2d.default: f(2, 3, 4, 2), i(2, 4, 2)
nll_loss_nd.default: f(4, 3), i(4), None, 0 | f(3), torch.tensor(1)
norm.Scalar: f(3, 4), 2
norm.ScalarOpt_dim: f(3, 4), None, [1]
norm.ScalarOpt_dim_dtype: f(3, 4), 1, [1], True, dtype=torch.float64
not_equal.Scalar: i(4), 1
not_equal.Tensor: i(4), i(4)
numpy_T.default: f(2, 3, 4)
one_hot.default: i(4), 3
ones.default: [2, 3] | [2], dtype=torch.int64
ones_like.default: i(4) | f(4), dtype=torch.int64
outer.default: f(2), f(3)
pad.default: f(2, 3), [1, 2] | f(2, 3, 4), [1, 2], 'reflect' | f(2, 3, 4, 5), [1, 2, 0, 1], 'replicate' | f(2, 3, 4), [1, 2], 'circular'
pairwise_distance.default: f(3, 4), f(3, 4) | f(3, 4), f(3, 4), 1.0, 1e-6, True
pdist.default: f(4, 3)
permute_copy.default: f(2, 3), [1, 0]
pixel_shuffle.default: f(1, 8, 2, 3), 2
pixel_unshuffle.default: f(1, 2, 4, 6), 2
poisson_nll_loss.default: f(4), p(4) * 3, True, True, 1e-8, 1 | p(4), p(4), False, False, 1e-8, 0
prelu.default: f(2, 3, 4), p(3) | f(4), p(1)
rad2deg.default: f(4)
ravel.default: f(2, 3) | f(2, 3).t()
relu6.default: f(4) * 8
repeat_interleave.self_int: f(2, 3), 2 | f(2, 3), 3, 1 | f(2, 3, 4).transpose(1, 2), 3, 1
reshape.default: f(2, 6), [3, 4] | f(2, 6).t(), [3, 4]
reshape_as.default: f(2, 6), f(3, 4)
resolve_conj.default: f(4)
resolve_neg.default: f(4)
rms_norm.default: f(2, 3), [3], p(3) | f(2, 3), [3], None, 1e-3
rnn_relu.input: f(5, 2, 3), f(1, 2, 4), rnn(1, 3, 4, 1), True, 1, 0.0, False, False, False
rnn_relu_cell.default: f(2, 3), f(2, 4), f(4, 3), f(4, 4)
rnn_tanh.input: f(5, 2, 3), f(1, 2, 4), rnn(1, 3, 4, 1), True, 1, 0.0, False, False, False
rnn_tanh_cell.default: f(2, 3), f(2, 4), f(4, 3), f(4, 4), f(4), f(4)
roll.default: f(3, 4), [1] | f(3, 4), [1, -2], [0, 1]
row_stack.default: [f(3), f(2, 3)]
rsub.Scalar: f(4), 2 | f(4), 2, 3
rsub.Tensor: f(4), f(4), alpha=2
scaled_dot_product_attention.default: f(2, 4, 3, 8), f(2, 4, 5, 8), f(2, 4, 5, 6)
scaled_dot_product_attention.default: f(1, 4, 5, 8), f(1, 2, 5, 8), f(1, 2, 5, 8), enable_gqa=True
select_copy.int: f(2, 3), 1, 2
selu.default: f(4)
sgn.default: f(4)
silu.default: f(4) * 4 | (f(4) * 4).half()
sinc.default: torch.tensor([0.0, 0.3, -1.5])
slice_copy.Tensor: f(5, 2), 0, 1, 4
smooth_l1_loss.default: f(4) * 3, f(4) | f(4), f(4), 2, 0.0
soft_margin_loss.default: f(4), torch.tensor([1.0, -1.0, 1.0, -1.0])
softmax.int: f(3, 4), 1 | f(3, 4).half(), 0, torch.float32
softplus.default: f(4) * 30 | f(4), 2, 0.5
softshrink.default: f(4) | f(4), 0.1
special_erf.default: f(4)
special_expit.default: f(4)
special_expm1.default: f(4)
special_log1p.default: p(4)
special_logit.default: u(4).abs()
special_logsumexp.default: f(3, 4), [0]
special_sinc.default: f(4)
special_xlogy.default: torch.tensor([0.0, 1.0, 0.0]), torch.tensor([0.0, 2.0, math.nan])
split.Tensor: f(7, 2), 3
split.sizes: f(7, 2), [3, 4]
square.default: f(4) | b(4)
squeeze.default: f(1, 3, 1)
squeeze_copy.default: f(1, 3, 1)
squeeze_copy.dim: f(1, 3, 1), 0
squeeze_copy.dims: f(1, 3, 1), [0, 2]
stack.default: [f(2, 3), f(2, 3)], -1
std.correction: f(3, 4), [1], correction=0
std.default: f(3, 4)
std.dim: f(3, 4), [1], False, True
std_mean.correction: f(3, 4), [0, 1]
std_mean.default: f(3, 4)
std_mean.dim: f(3, 4), [1]
stft.center: f(2, 40), 8, 4, 6, p(6), True, 'reflect', False, True, True
stft.default: f(40), 8, 4, 8, p(8), True, True, True
subtract.Scalar: f(4), 2
subtract.Tensor: f(4), f(4)
sum.default: f(3, 4) | i(3, 4), dtype=torch.float32
swapaxes.default: f(2, 3, 4), 0, 2
swapdims.default: f(2, 3, 4), 0, 2
t.default: f(2, 3) | f(3)
t_copy.default: f(2, 3)
take.default: f(2, 3), i(4)
take_along_dim.default: f(3, 4), i(3, 2), 1 | f(3, 4), i(5) | f(3, 4), i(3, 2) - 2, 1 | f(3, 4), i(5) - 2
tensordot.default: f(2, 3, 4), f(4, 3, 5), [1, 2], [1, 0]
threshold.default: f(4), 0.1, -7
tile.default: f(2, 3), [2] | f(2), [2, 3]
to.device: f(4), torch.device('cpu'), torch.float64
to.dtype: f(4), torch.float64 | f(4), torch.float32 | f(4), torch.float32, False, True
to.dtype_layout: f(4), dtype=torch.int64
to.other: f(4), i(1)
trace.default: f(3, 4)
transpose.int: f(2, 3, 4), 0, -1
transpose_copy.int: f(2, 3), 0, 1
tril.default: f(3, 4), -1
triu.default: f(2, 3, 4), 1
true_divide.Scalar: f(4), 2
true_divide.Tensor: f(4), p(4)
type_as.default: f(4), i(1)
unbind.int: f(3, 2), 1
unflatten.int: f(2, 6), 1, [2, 3]
unfold_copy.default: f(6), 0, 3, 2
unsafe_chunk.default: f(6, 2), 3
unsafe_split.Tensor: f(7, 2), 3
unsafe_split_with_sizes.default: f(7, 2), [3, 4]
unsqueeze_copy.default: f(4), 0
upsample_bilinear2d.default: f(1, 2, 3, 4), [6, 5], False | f(1, 2, 3, 4), [6, 5], True | f(1, 2, 3, 4), [6, 6], False, 2.0, 1.5
upsample_nearest2d.default: f(1, 2, 3, 4), [6, 5]
var.default: f(3, 4), False
var_mean.correction: f(3, 4), [1], correction=2, keepdim=True
var_mean.default: f(3, 4)
var_mean.dim: f(3, 4), [0, 1]
vdot.default: f(4), f(4) | i(4).int(), i(4).int()
view_as.default: f(2, 6), f(3, 4)
view_copy.default: f(2, 6), [12]
vstack.default: [f(3), f(2, 3)]
where.Scalar: b(4), 1.5, 2.5
where.ScalarOther: b(4), f(4), 0.5
where.ScalarSelf: b(4), 0.5, f(4)
xlogy.Tensor: torch.tensor([0.0, 1.0, 0.0]), torch.tensor([0.0, 2.0, math.nan])
zero.default: f(3, 4)
zeros.default: [2, 3] | [2], dtype=torch.bool
zeros_like.default: i(4)
"""


def f(*sizes):
    return torch.randn(sizes)


def u(*sizes):
    return torch.rand(sizes) * 2 - 1


def p(*sizes):
    return torch.rand(sizes) + 0.1


def i(*sizes):
    return torch.randint(0, 3, sizes)


def b(*sizes):
    return torch.rand(sizes) > 0.3


def c(*sizes):
    return torch.complex(f(*sizes), f(*sizes))


def odd():
    return torch.tensor([1.0, math.nan, math.inf, -math.inf])


def masked():
    """A tensor with a row of -inf, for which softmax has no result."""
    return torch.tensor([[0.5, -math.inf, 1.0], [-math.inf] * 3])


def rnn(gates, width, hidden, directions):
    """The parameters of a layer of a recurrence."""
    one = [(gates * hidden, width), (gates * hidden, hidden), (gates * hidden,), (gates * hidden,)]
    return [f(*sizes) for sizes in one * directions]


def call(*args, **kwargs):
    return args, kwargs


def list_samples():
    """Returns (overload, the text of a call's arguments) for each sample."""
    pairs = (line.split(": ", 1) for line in LINES.strip().splitlines())
    return [(name, text.strip()) for name, texts in pairs for text in texts.split(" | ")]


def make_arguments(text):
    torch.manual_seed(0)
    return eval(f"call({text})")
