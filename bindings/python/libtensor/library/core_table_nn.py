"""The decompositions of core_table.py for operators of neural networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import arange
from .. import float32 as torch_float32
from .. import int64 as torch_int64
from .._core.tensor import Tensor
from .core_table import TABLE, apply_rule, aten, decomposition, scalar, split
from .decompositions import as_list

__all__ = ["TABLE"]

# ------------------------------------------------------------------------------------------------------------ normalization

decomposition("layer_norm")(
    lambda x, shape, weight=None, bias=None, eps=1e-5, *_, **__: apply_rule("layer_norm", x, shape, weight, bias, eps)
)
decomposition("group_norm")(
    lambda x, groups, weight=None, bias=None, eps=1e-5, *_, **__: apply_rule("group_norm", x, groups, weight, bias, eps)
)
decomposition("rms_norm")(lambda x, shape, weight=None, eps=None: apply_rule("rms_norm", x, shape, weight, eps))


@decomposition("native_batch_norm")
def native_batch_norm(x: Tensor, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float) -> Any:
    if mean is None:
        return aten._native_batch_norm_legit.no_stats(x, weight, bias, True, momentum, eps)
    if not training:
        return aten._native_batch_norm_legit_no_training.default(x, weight, bias, mean, var, momentum, eps)
    made = aten._native_batch_norm_legit_functional.default(x, weight, bias, mean, var, True, momentum, eps)
    aten.copy_.default(mean, made[3])
    aten.copy_.default(var, made[4])
    return made[:3]


@decomposition("batch_norm")
def batch_norm(
    x: Tensor, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float, *_: Any, **__: Any
) -> Any:
    if training and x.numel() == 0:
        return x.clone()
    return native_batch_norm(x, weight, bias, mean, var, training, momentum, eps)[0]


@decomposition("instance_norm")
def instance_norm(
    x: Tensor, weight: Any, bias: Any, mean: Any, var: Any, use_input_stats: bool, momentum: float, eps: float, *_: Any, **__: Any
) -> Any:
    n, c = x.shape[:2]
    if not use_input_stats:
        return native_batch_norm(x, weight, bias, mean, var, False, momentum, eps)[0]
    if mean is not None:  # a batch normalization of N * C channels, whose running statistics are averaged over N
        each = (None if t is None else aten.repeat.default(t, [n]) for t in (weight, bias, mean, var))
        joined = aten.reshape.default(x, [1, n * c, *x.shape[2:]])
        made = aten._native_batch_norm_legit_functional.default(joined, *each, True, momentum, eps)
        for to, value in ((mean, made[3]), (var, made[4])):
            aten.copy_.default(to, aten.mean.dim(value.view([n, c]), [0]))
        return made[0].view(list(x.shape))
    made = aten.group_norm.default(x, c, None, None, eps)
    sizes = [1, c, *[1] * (x.dim() - 2)]
    made = made if weight is None else made * weight.view(sizes)
    return made if bias is None else made + bias.view(sizes)


for _name in ("softmax", "log_softmax"):

    def _softmax(x: Tensor, dim: int, dtype: Any = None, *, _name: str = _name) -> Any:
        return getattr(aten, f"_{_name}").default(x if dtype in (None, x.dtype) else x.to(dtype), dim, False)

    TABLE[f"{_name}.int"] = _softmax


@decomposition("_safe_softmax")
def safe_softmax(x: Tensor, dim: int, dtype: Any = None) -> Any:
    masked = aten.logical_not.default(aten.any.dim(x != -math.inf, dim, True))
    made = aten._softmax.default(x if dtype is None else x.to(dtype), dim, False)
    return aten.where.self(masked, scalar(0, made), made)


# -------------------------------------------------------------------------------------------------- convolutions and pooling


def _convolution(dims: int) -> None:
    def convolve(x: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
        return run(x, weight, bias, stride, padding, dilation, False, 0, groups)

    def transposed(
        x: Tensor,
        weight: Tensor,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        return run(x, weight, bias, stride, padding, dilation, True, output_padding, groups)

    def named(
        x: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: str = "valid", dilation: Any = 1, groups: int = 1
    ) -> Any:
        if padding == "valid":
            return convolve(x, weight, bias, stride, 0, dilation, groups)
        totals = [d * (k - 1) for d, k in zip(as_list(dilation, dims), weight.shape[2:], strict=True)]
        if any(total % 2 for total in totals):
            x = aten.constant_pad_nd.default(x, [n for total in reversed(totals) for n in (0, total % 2)])
        return convolve(x, weight, bias, stride, [total // 2 for total in totals], dilation, groups)

    def run(
        x: Tensor,
        weight: Tensor,
        bias: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        is_transposed: bool,
        output_padding: Any,
        groups: int,
    ) -> Any:
        is_single = x.dim() == dims + 1
        lists = [as_list(v, dims) for v in (stride, padding, dilation, output_padding)]
        x = x.unsqueeze(0) if is_single else x
        made = aten.convolution.default(x, weight, bias, *lists[:3], is_transposed, lists[3], groups)
        return aten.squeeze.dim(made, 0) if is_single else made

    TABLE[f"conv{dims}d.default"], TABLE[f"conv{dims}d.padding"] = convolve, named
    TABLE["conv_transpose1d.default" if dims == 1 else f"conv_transpose{dims}d.input"] = transposed


def _max_pool(dims: int) -> None:
    def pool(x: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Any:
        lists = [as_list(v, dims) for v in (kernel_size, stride or kernel_size, padding, dilation)]
        return getattr(aten, f"max_pool{dims}d_with_indices").default(x, *lists, ceil_mode)[0]

    TABLE[f"max_pool{dims}d.default"] = pool


for _dims in (1, 2, 3):
    _convolution(_dims)
for _dims in (2, 3):
    _max_pool(_dims)


@decomposition("max_pool1d_with_indices")
def max_pool1d_with_indices(
    x: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    lists = [[first, *as_list(v, 1)] for first, v in ((1, kernel_size), (1, stride or kernel_size), (0, padding), (1, dilation))]
    made = aten.max_pool2d_with_indices.default(x.unsqueeze(-2), *lists, ceil_mode)
    return tuple(aten.squeeze.dim(v, -2) for v in made)


decomposition("max_pool1d")(lambda *args, **kwargs: max_pool1d_with_indices(*args, **kwargs)[0])


@decomposition("adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_avg_pool(x: Tensor, output_size: Sequence[int]) -> Any:
    dims = len(output_size)
    if all(n == 1 for n in output_size):
        return aten.mean.dim(x, list(range(-dims, 0)), True)
    return getattr(aten, f"_adaptive_avg_pool{dims}d").default(x, list(output_size))


@decomposition("adaptive_max_pool1d")
def adaptive_max_pool1d(x: Tensor, output_size: Any) -> Any:
    made = aten.adaptive_max_pool2d.default(x.unsqueeze(-2), [1, *as_list(output_size, 1)])
    return tuple(aten.squeeze.dim(v, -2) for v in made)


def _upsample(name: str, has_corners: bool) -> None:
    def upsample(x: Tensor, output_size: Any, *args: Any, **kwargs: Any) -> Any:
        corners, scales = args[:has_corners], args[has_corners:] or tuple(kwargs.values())
        if all(scale is None for scale in scales):
            return getattr(aten, name).vec(x, list(output_size), *corners, None)
        if None in scales or [int(n * scale) for n, scale in zip(x.shape[2:], scales, strict=True)] != list(output_size):
            return NotImplemented
        return getattr(aten, name).vec(x, None, *corners, list(scales))

    TABLE[f"{name}.default"] = upsample


_upsample("upsample_nearest2d", False)
_upsample("upsample_bilinear2d", True)


@decomposition("pad")
def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    if mode == "constant":
        return aten.constant_pad_nd.default(x, list(pad), value or 0)
    dims = len(pad) // 2
    if mode == "circular":
        for i in range(dims):
            before, after, dim = pad[2 * i], pad[2 * i + 1], x.dim() - 1 - i
            size = x.size(dim)
            if min(before, after) < 0:
                return NotImplemented
            parts = (
                [aten.slice.Tensor(x, dim, size - before, size)] * bool(before) + [x] + [aten.slice.Tensor(x, dim, 0, after)] * bool(after)
            )
            x = aten.cat.default(parts, dim)
        return x
    name = {"reflect": "reflection", "replicate": "replication"}[mode]
    return getattr(aten, f"{name}_pad{dims}d").default(x, list(pad))


@decomposition("im2col")
def im2col(x: Tensor, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    kernel, spread, padding, step = (as_list(v, 2) for v in (kernel_size, dilation, padding, stride))
    is_single = x.dim() == 3
    x = x.unsqueeze(0) if is_single else x
    if any(padding):
        x = aten.constant_pad_nd.default(x, [padding[1], padding[1], padding[0], padding[0]])
    batch, channels = x.shape[:2]
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in zip(x.shape[2:], kernel, spread, step, strict=True)]
    grids = [
        (arange(k, dtype=torch_int64) * d).unsqueeze(1) + arange(c, dtype=torch_int64) * s
        for k, d, c, s in zip(kernel, spread, counts, step, strict=True)
    ]
    made = aten.index.Tensor(x, [None, None, grids[0].view([kernel[0], counts[0], 1, 1]), grids[1].view([kernel[1], counts[1]])])
    made = aten.permute.default(made, [0, 1, 2, 4, 3, 5])
    made = aten.reshape.default(made, [batch, channels * math.prod(kernel), math.prod(counts)])
    return aten.squeeze.dim(made, 0) if is_single else made


@decomposition("pixel_shuffle")
def pixel_shuffle(x: Tensor, upscale_factor: int) -> Any:
    *batch, c, h, w = x.shape
    r, n = upscale_factor, len(batch)
    wide = aten.view.default(x.contiguous(), [*batch, c // (r * r), r, r, h, w])
    turned = aten.permute.default(wide, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return aten.view.default(turned.clone(memory_format=contiguous()), [*batch, c // (r * r), h * r, w * r])


@decomposition("pixel_unshuffle")
def pixel_unshuffle(x: Tensor, downscale_factor: int) -> Any:
    *batch, c, h, w = x.shape
    r, n = downscale_factor, len(batch)
    wide = aten.view.default(x.contiguous(), [*batch, c, h // r, r, w // r, r])
    turned = aten.permute.default(wide, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return aten.view.default(turned.clone(memory_format=contiguous()), [*batch, c * r * r, h // r, w // r])


@decomposition("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(x: Tensor, groups: int) -> Any:
    n, c, *rest = x.shape
    wide = aten.view.default(x.contiguous(), [n, groups, c // groups, *rest])
    turned = aten.permute.default(wide, [0, 2, 1, *range(3, x.dim() + 1)])
    return aten.view.default(turned.clone(memory_format=contiguous()), [n, c, *rest])


def contiguous() -> Any:
    from .. import contiguous_format

    return contiguous_format


@decomposition("grid_sampler")
def grid_sampler(x: Tensor, grid: Tensor, mode: int, padding_mode: int, align_corners: bool) -> Any:
    sampler = aten.grid_sampler_2d if x.dim() == 4 else aten.grid_sampler_3d
    return sampler.default(x, grid, mode, padding_mode, align_corners)


@decomposition("affine_grid_generator")
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Any:
    sizes = size[2:]
    columns: list[Tensor] = []
    for d, n in enumerate(sizes):
        steps = arange(n, dtype=theta.dtype)
        line = steps * (2 / (n - 1)) - 1 if align_corners and n > 1 else steps * 0 if align_corners else (steps * 2 + 1) / n - 1
        columns.insert(0, aten.expand.default(line.view([n, *[1] * (len(sizes) - 1 - d)]), list(sizes)))
    columns.append(aten.full.default(list(sizes), 1, dtype=theta.dtype))
    grid = aten.reshape.default(aten.stack.default(columns, -1), [1, math.prod(sizes), len(sizes) + 1])
    grid = aten.expand.default(grid, [size[0], math.prod(sizes), len(sizes) + 1])
    made = aten.bmm.default(grid, aten.permute.default(theta, [0, 2, 1]))
    return aten.view.default(made, [size[0], *sizes, len(sizes)])


# ------------------------------------------------------------------------------------------------- dropout and embeddings

decomposition("dropout")(lambda x, p, train: aten.native_dropout.default(x, p, True)[0] if train and p else x)
decomposition("feature_dropout", "alpha_dropout", "feature_alpha_dropout")(lambda x, p, train: NotImplemented if train and p else x)


@decomposition("embedding_bag", "embedding_bag.padding_idx")
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    rest = scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, -1 if padding_idx is None else padding_idx
    return aten._embedding_bag.default(weight, indices, offsets, *rest)


# ----------------------------------------------------------------------------------------------------------------- attention


@decomposition("scaled_dot_product_attention")
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    if dropout_p:
        return NotImplemented
    if enable_gqa and key.size(-3) != query.size(-3):
        times = query.size(-3) // key.size(-3)
        key, value = (aten.repeat_interleave.self_int(x, times, -3) for x in (key, value))
    root = math.sqrt(1 / math.sqrt(query.size(-1)) if scale is None else scale)
    scores = aten.matmul.default(query * root, aten.transpose.int(key, -2, -1) * root)
    if is_causal:
        rows, columns = (arange(n, dtype=torch_int64) for n in scores.shape[-2:])
        attn_mask = columns <= rows.unsqueeze(1)
    if attn_mask is not None and not attn_mask.is_floating_point():
        attn_mask = aten.where.self(attn_mask, scalar(0, scores), scalar(-math.inf, scores))
    weights = aten._softmax.default(scores, -1, False) if attn_mask is None else aten._safe_softmax.default(scores + attn_mask, -1)
    return aten.matmul.default(weights, value)


@decomposition("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Any:
    if dropout_p:
        return NotImplemented
    made = attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale)
    return made, aten.full.default(list(query.shape[:-1]), 0, dtype=torch_float32)


# -------------------------------------------------------------------------------------------------------------------- losses


def reduced(loss: Any, reduction: int) -> Any:
    return loss if reduction == 0 else aten.mean.default(loss) if reduction == 1 else loss.sum()


decomposition("mse_loss")(lambda x, target, reduction=1: reduced((x - target) * (x - target), reduction))
decomposition("l1_loss")(lambda x, target, reduction=1: reduced((x - target).abs(), reduction))
decomposition("soft_margin_loss")(lambda x, target, reduction=1: reduced((target.neg() * x).exp().log1p(), reduction))


@decomposition("smooth_l1_loss")
def smooth_l1_loss(x: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Any:
    distance = (x - target).abs()
    if beta == 0:
        return reduced(distance, reduction)
    return reduced(aten.where.self(distance < beta, distance * distance * 0.5 / beta, distance - 0.5 * beta), reduction)


@decomposition("huber_loss")
def huber_loss(x: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Any:
    distance = (x - target).abs()
    return reduced(aten.where.self(distance < delta, distance * distance * 0.5, (distance - 0.5 * delta) * delta), reduction)


@decomposition("binary_cross_entropy")
def binary_cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1) -> Any:
    loss = (target - 1) * x.neg().log1p().clamp(min=-100) - target * x.log().clamp(min=-100)
    return reduced(loss if weight is None else loss * weight, reduction)


@decomposition("binary_cross_entropy_with_logits")
def bce_with_logits(x: Tensor, target: Tensor, weight: Any = None, pos_weight: Any = None, reduction: int = 1) -> Any:
    logs = aten.log_sigmoid.default(x)
    loss = (1 - target) * x - (logs if pos_weight is None else ((pos_weight - 1) * target + 1) * logs)
    return reduced(loss if weight is None else loss * weight, reduction)


@decomposition("kl_div")
def kl_div(x: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Any:
    loss = target.exp() * (target - x) if log_target else aten.xlogy.Tensor(target, target) - target * x
    return reduced(loss, reduction)


@decomposition("poisson_nll_loss")
def poisson_nll_loss(x: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    loss = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        sterling = target * target.log() - target + (target * (2 * math.pi)).log() * 0.5
        loss = loss + aten.where.self(target <= 1, scalar(0, sterling), sterling)
    return reduced(loss, reduction)


@decomposition("hinge_embedding_loss")
def hinge_embedding_loss(x: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Any:
    zero = scalar(0, x)
    return reduced(aten.where.self(target != 1, (margin - x).clamp(min=0), zero) + aten.where.self(target != -1, x, zero), reduction)


@decomposition("margin_ranking_loss")
def margin_ranking_loss(first: Tensor, second: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1) -> Any:
    return reduced((target.neg() * (first - second) + margin).clamp(min=0), reduction)


@decomposition("nll_loss_nd", "nll_loss", "nll_loss2d")
def nll_loss(x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100) -> Any:
    dim = 1 if x.dim() > 1 else 0
    is_kept = target != ignore_index
    index = aten.where.self(is_kept, target, scalar(0, target)).unsqueeze(dim)
    chosen = aten.squeeze.dim(aten.gather.default(x, dim, index), dim).neg()
    if weight is None:
        factor = is_kept.to(x.dtype)
    else:
        sizes = [1] * x.dim()
        sizes[dim] = -1
        rows = aten.expand.default(weight.view(sizes), list(x.shape))
        picked = aten.squeeze.dim(aten.gather.default(rows, dim, index), dim)
        factor = aten.where.self(is_kept, picked, scalar(0, picked))
    loss = aten.where.self(is_kept, chosen if weight is None else chosen * factor, scalar(0, chosen))
    return loss.sum() / factor.sum() if reduction == 1 else reduced(loss, reduction)


@decomposition("cross_entropy_loss")
def cross_entropy_loss(
    x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100, label_smoothing: float = 0.0
) -> Any:
    dim = 1 if x.dim() > 1 else 0
    logs = aten._log_softmax.default(x, dim, False)
    sizes = [1] * x.dim()
    sizes[dim] = -1
    if target.is_floating_point():
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / x.size(dim)
        logs = logs if weight is None else logs * weight.view(sizes)
        loss = (logs * target).sum([dim]).neg()
        return loss.sum() / (x.numel() // x.size(dim)) if reduction == 1 else reduced(loss, reduction)
    if label_smoothing == 0:
        return nll_loss(logs, target, weight, reduction, ignore_index)
    if weight is not None:
        return NotImplemented
    is_kept = target != ignore_index
    smooth = logs.sum([dim]).neg() / x.size(dim)
    smooth = aten.where.self(is_kept, smooth, scalar(0, smooth))
    smooth = smooth.sum() / is_kept.to(x.dtype).sum() if reduction == 1 else reduced(smooth, reduction)
    return nll_loss(logs, target, None, reduction, ignore_index) * (1 - label_smoothing) + smooth * label_smoothing


@decomposition("cosine_similarity")
def cosine_similarity(first: Tensor, second: Tensor, dim: int = 1, eps: float = 1e-8) -> Any:
    norms = [aten.linalg_vector_norm.default(x, 2, [dim], True).clamp(min=eps) for x in (first, second)]
    return ((first / norms[0]) * (second / norms[1])).sum([dim])


@decomposition("pairwise_distance")
def pairwise_distance(first: Tensor, second: Tensor, p: float = 2, eps: float = 1e-6, keepdim: bool = False) -> Any:
    return aten.linalg_vector_norm.default(first - second + eps, p, [-1], keepdim)


@decomposition("cdist")
def cdist(first: Tensor, second: Tensor, p: float = 2, compute_mode: int | None = None) -> Any:
    return aten._cdist_forward.default(first, second, p, compute_mode)


decomposition("pdist")(lambda x, p=2: aten._pdist_forward.default(x, p))


@decomposition("bilinear")
def bilinear(first: Tensor, second: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    rows = [x.flatten(0, -2) if x.dim() > 1 else x.unsqueeze(0) for x in (first, second)]
    made = aten.einsum.default("ni,oij,nj->no", [rows[0], weight, rows[1]])
    made = aten.view.default(made, [*first.shape[:-1], weight.size(0)])
    return made if bias is None else made + bias


# ----------------------------------------------------------------------------------------------------------------- recurrences


def lstm_step(x: Tensor, state: Sequence[Tensor], hidden_weight: Tensor, hidden_bias: Any) -> list[Tensor]:
    """Returns the state after a step. `x` is the product of the input with its weights."""
    gates = x + aten.linear.default(state[0], hidden_weight, hidden_bias)
    i, f, g, o = split(gates, gates.size(-1) // 4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return [o.sigmoid() * cell.tanh(), cell]


def gru_step(x: Tensor, state: Sequence[Tensor], hidden_weight: Tensor, hidden_bias: Any) -> list[Tensor]:
    size = x.size(-1) // 3
    inputs, hidden = split(x, size, -1), split(aten.linear.default(state[0], hidden_weight, hidden_bias), size, -1)
    reset, update = ((a + b).sigmoid() for a, b in zip(inputs[:2], hidden[:2], strict=True))
    new = (inputs[2] + reset * hidden[2]).tanh()
    return [(state[0] - new) * update + new]


def tanh_step(x: Tensor, state: Sequence[Tensor], hidden_weight: Tensor, hidden_bias: Any) -> list[Tensor]:
    return [(x + aten.linear.default(state[0], hidden_weight, hidden_bias)).tanh()]


def relu_step(x: Tensor, state: Sequence[Tensor], hidden_weight: Tensor, hidden_bias: Any) -> list[Tensor]:
    return [(x + aten.linear.default(state[0], hidden_weight, hidden_bias)).relu()]


def _recurrence(name: str, step: Any, count: int) -> None:
    """Registers the decomposition of a recurrence, whose state is `count` tensors, and of its cell."""

    def run(
        x: Tensor,
        hx: Any,
        params: Any,
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        state = list(hx) if count > 1 else [hx]
        width, directions = 4 if has_biases else 2, 2 if bidirectional else 1
        if (train and dropout) or len(params) != width * num_layers * directions or x.dim() != 3:
            return NotImplemented  # with projections, or dropout between layers
        if batch_first:
            x = aten.permute.default(x, [1, 0, 2])
        last: list[list[Tensor]] = []
        for layer in range(num_layers):
            made = []
            for direction in range(directions):
                at = layer * directions + direction
                weights = params[at * width : (at + 1) * width]
                biases = weights[2:] if has_biases else (None, None)
                inputs = aten.unbind.int(aten.linear.default(x, weights[0], biases[0]), 0)
                now, outputs = [aten.select.int(s, 0, at) for s in state], []
                for one in reversed(inputs) if direction else inputs:
                    now = step(one, now, weights[1], biases[1])
                    outputs.append(now[0])
                made.append(aten.stack.default(outputs[::-1] if direction else outputs, 0))
                last.append(now)
            x = made[0] if directions == 1 else aten.cat.default(made, -1)
        if batch_first:
            x = aten.permute.default(x, [1, 0, 2])
        return x, *(aten.stack.default(list(parts), 0) for parts in zip(*last, strict=True))

    def cell(x: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None) -> Any:
        made = step(aten.linear.default(x, w_ih, b_ih), list(hx) if count > 1 else [hx], w_hh, b_hh)
        return tuple(made) if count > 1 else made[0]

    TABLE[f"{name}.input"], TABLE[f"{name}_cell.default"] = run, cell


_recurrence("lstm", lstm_step, 2)
_recurrence("gru", gru_step, 1)
_recurrence("rnn_tanh", tanh_step, 1)
_recurrence("rnn_relu", relu_step, 1)

# --------------------------------------------------------------------------------------------------------------------- Fourier

NORMS = {None: (0, 2), "backward": (0, 2), "ortho": (1, 1), "forward": (2, 0)}  # of the transform and its inverse, for _fft_c2c


def resized(x: Tensor, n: int | None, dim: int) -> Tensor:
    """Returns a tensor with n elements along a dimension: the first ones, or with zeros behind them."""
    size = x.size(dim)
    if n is None or n == size:
        return x
    if n < size:
        return aten.slice.Tensor(x, dim, 0, n)  # type: ignore[no-any-return]
    return aten.constant_pad_nd.default(x, [0, 0] * (x.dim() - 1 - dim % x.dim()) + [0, n - size])  # type: ignore[no-any-return]


@decomposition("fft_rfft")
def rfft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    if not x.is_floating_point():
        return NotImplemented
    return aten._fft_r2c.default(resized(x, n, dim), [dim % x.dim()], NORMS[norm][0], True)


@decomposition("fft_irfft")
def irfft(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    if not x.is_complex():
        return NotImplemented
    n = 2 * (x.size(dim) - 1) if n is None else n
    return aten._fft_c2r.default(resized(x, n // 2 + 1, dim), [dim % x.dim()], NORMS[norm][1], n)


def _complex_transform(name: str, is_inverse: bool) -> None:
    def transform(x: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        if x.is_complex():
            return aten._fft_c2c.default(resized(x, n, dim), [dim % x.dim()], NORMS[norm][is_inverse], not is_inverse)
        if is_inverse or not x.is_floating_point():
            return NotImplemented
        return aten._fft_r2c.default(resized(x, n, dim), [dim % x.dim()], NORMS[norm][0], False)

    TABLE[f"{name}.default"] = transform


_complex_transform("fft_fft", False)
_complex_transform("fft_ifft", True)


@decomposition("stft.center")
def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    if x.is_complex() or align_to_window or not return_complex or (window is not None and window.is_complex()):
        return NotImplemented
    is_single = x.dim() == 1
    x = x.unsqueeze(0) if is_single else x
    if center:
        half = n_fft // 2
        x = aten.squeeze.dim(aten.pad.default(x.unsqueeze(1), [half, half], pad_mode), 1)
    hop, length = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if window is not None and length < n_fft:
        left = (n_fft - length) // 2
        window = aten.constant_pad_nd.default(window, [left, n_fft - length - left])
    elif window is None and length < n_fft:
        return NotImplemented
    frames = arange((x.size(1) - n_fft) // hop + 1, dtype=torch_int64) * hop
    made = aten.index.Tensor(x, [None, frames.unsqueeze(1) + arange(n_fft, dtype=torch_int64)])
    made = made if window is None else made * window
    made = aten._fft_r2c.default(made, [2], 1 if normalized else 0, onesided is not False)
    made = aten.permute.default(made, [0, 2, 1])
    return aten.squeeze.dim(made, 0) if is_single else made


@decomposition("stft")
def stft_without_center(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    return stft(x, n_fft, hop_length, win_length, window, False, "constant", normalized, onesided, return_complex, align_to_window)
