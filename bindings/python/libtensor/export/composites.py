"""Functions of nn.functional and torch as ATen's own composite operators, which programs keep whole."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import bool as torch_bool
from .. import ones_like as torch_ones_like
from .. import stft as _torch_stft
from .. import tensordot as _torch_tensordot
from .. import zeros_like as torch_zeros_like
from .._core.tensor import Tensor
from .._gen import gen_nn_functional
from ..library.lowering import bind, list_overloads
from ..nn import _reduction
from ..nn import functional as F

__all__ = ["COMPOSED", "KEPT", "RULES"]

Call = Callable[..., Any]
RULES: dict[Callable[..., Any], Callable[..., Any]] = {}

# Operators with the parameters of the functions: PyTorch decomposes them for autograd, but a program keeps them.
KEPT = frozenset(
    [
        "linear",
        "matmul",
        "reshape",
        "flatten",
        "layer_norm",
        "group_norm",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "scaled_dot_product_attention",
        "softmax",
        "log_softmax",
        "max_pool1d",
        "max_pool2d",
        "max_pool3d",
        "adaptive_avg_pool1d",
        "adaptive_avg_pool2d",
    ]
)
# Functions whose operator has parameters of the same names, but for self, train and the number of a reduction.
NAMED = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "alpha_dropout",
    "avg_pool1d",
    "bilinear",
    "cosine_embedding_loss",
    "ctc_loss",
    "feature_alpha_dropout",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "pairwise_distance",
    "pdist",
    "poisson_nll_loss",
    "triplet_margin_loss",
]
PAIRS = {"adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"}  # operators that return indices, too


def rule(function: Callable[..., Any]) -> Callable[..., Any]:
    """Registers the rule of a function of nn.functional."""
    RULES[getattr(F, function.__name__)] = function
    return function


@functools.cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(getattr(F, name))


def call_by_names(name: str, call: Call, *args: Any, **kwargs: Any) -> Any:
    """Calls the operator of a function with the function's arguments, by their names."""
    bound = _signature(name).bind(*args, **kwargs)
    bound.apply_defaults()
    given = dict(bound.arguments)
    average, reduce = given.pop("size_average", None), given.pop("reduce", None)
    if average is not None or reduce is not None:
        given["reduction"] = _reduction.legacy_get_string(average, reduce)
    batches = name == "kl_div" and given["reduction"] == "batchmean"
    if batches:
        given["reduction"] = "sum"
    if "reduction" in given:
        given["reduction"] = _reduction.get_enum(given["reduction"])
    indices = given.pop("return_indices", False)
    if "training" in given:
        given["train"] = given.pop("training")
    if given.pop("inplace", False):
        name += "_"
    operator = f"{name}_with_indices" if indices and name not in PAIRS else name
    for op, arguments in list_overloads(operator):
        names = {a.name for a in arguments}
        values = {"self" if k in ("input", "log_probs") and k not in names else k: v for k, v in given.items()}
        optional = {a.name for a in arguments if a.kind.endswith("?")}
        values = {k: v for k, v in values.items() if v is not None or k in optional}
        if set(values) <= names:
            found = bind(arguments, (), values)
            if found is not None:
                result = call(op, *found[0], **found[1])
                result = result[0] if operator in PAIRS and not indices else result
                return call("div.Tensor", result, args[0].shape[0]) if batches else result
    raise NotImplementedError(f"export: {name} with these arguments is no operator of ATen")


for _name in NAMED:
    RULES[getattr(F, _name)] = functools.partial(call_by_names, _name)


@rule
def affine_grid(call: Call, theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Any:
    return call("affine_grid_generator.default", theta, list(size), bool(align_corners))


@rule
def grid_sample(
    call: Call, input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return call("grid_sampler.default", input, grid, modes.index(mode), paddings.index(padding_mode), bool(align_corners))


def tensordot(call: Call, a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Any:
    if isinstance(dims, int):
        dims = (list(range(a.dim() - dims, a.dim())), list(range(dims)))
    elif isinstance(dims, Tensor):
        dims = dims.tolist()
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    return call("tensordot.default", a, b, first, second)


@rule
def embedding_bag(call: Call, *args: Any, **kwargs: Any) -> Any:
    given = _signature("embedding_bag").bind(*args, **kwargs)
    given.apply_defaults()
    x, weight, offsets, max_norm, _, scale, mode, sparse, weights, last, padding = given.arguments.values()
    if max_norm is not None:
        raise NotImplementedError("export: embedding_bag with max_norm is no operator of ATen")
    if x.dim() == 2:
        offsets = call("arange.start_step", 0, x.numel(), x.shape[1])
        x = call("reshape.default", x, [-1])
        weights = None if weights is None else call("reshape.default", weights, [-1])
    modes = ("sum", "mean", "max")
    return call("embedding_bag.padding_idx", weight, x, offsets, scale, modes.index(mode), sparse, weights, last, padding)[0]


@rule
def dropout(call: Call, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    return call("dropout_.default" if inplace else "dropout.default", input, p, True) if training and p else input


def _drop_channels(dims: int, call: Call, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if not training or not p:
        return input
    is_single = input.dim() == dims + 1 and dims != 2
    x = call("unsqueeze.default", input, 0) if is_single else input
    made = call("feature_dropout_.default" if inplace else "feature_dropout.default", x, p, True)
    return call("squeeze.dim", made, 0) if is_single else made


for _dims in (1, 2, 3):
    RULES[getattr(F, f"dropout{_dims}d")] = functools.partial(_drop_channels, _dims)


@rule
def instance_norm(
    call: Call,
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    return call("instance_norm.default", input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


def stft(call: Call, *args: Any, **kwargs: Any) -> Any:
    given = inspect.signature(_torch_stft).bind(*args, **kwargs)
    given.apply_defaults()
    values = dict(given.arguments)
    values["self"] = values.pop("input")
    ((op, arguments),) = [found for found in list_overloads("stft") if found[0].overload == "center"]
    return call(op, *[values[a.name] for a in arguments if not a.kwarg_only])


@rule
def unfold(call: Call, input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    return call("im2col.default", input, *(_pair(x) for x in (kernel_size, dilation, padding, stride)))


@rule
def fold(call: Call, input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    return call("col2im.default", input, *(_pair(x) for x in (output_size, kernel_size, dilation, padding, stride)))


def _pair(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


def _unpool(
    dims: int, call: Call, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    kernel, steps, pads = (_repeat(x, dims) for x in (kernel_size, kernel_size if stride is None else stride, padding))
    if output_size is None:
        size = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-dims:], steps, pads, kernel, strict=True)]
    else:
        size = list(output_size)[-dims:]
    if dims == 3:
        return call("max_unpool3d.default", input, indices, size, steps, pads)
    if dims == 2:
        return call("max_unpool2d.default", input, indices, size)
    wide = (call("unsqueeze.default", x, -1) for x in (input, indices))
    return call("squeeze.dim", call("max_unpool2d.default", *wide, [*size, 1]), -1)


def _repeat(value: Any, count: int) -> list[int]:
    items = [value] if isinstance(value, int) else list(value)
    return items * count if len(items) == 1 else items


RULES |= {getattr(F, f"max_unpool{dims}d"): functools.partial(_unpool, dims) for dims in (1, 2, 3)}


@rule
def threshold(call: Call, input: Tensor, threshold: float, value: float, inplace: bool = False) -> Any:
    return call(f"threshold{'_' * inplace}.default", input, threshold, value)


@rule
def rrelu(call: Call, input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    return call(f"rrelu{'_' * inplace}.default", input, lower, upper, training)


@rule
def logsigmoid(call: Call, input: Tensor) -> Any:
    return call("log_sigmoid.default", input)


# Functions that ATen does not have, by others. They run with the recording switched on.
COMPOSED: dict[Callable[..., Any], Callable[..., Any]] = {}


def composed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Registers a composition for the function of its name of nn.functional."""
    COMPOSED[getattr(F, function.__name__)] = function
    return function


@composed
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return F.softmax(-input, dim, _stacklevel, dtype)


@composed
def softsign(input: Tensor) -> Tensor:
    return input / (input.abs() + 1)


@composed
def tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()


@composed
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    if input.numel() == 0:
        return input
    squares = (input * input).unsqueeze(1)
    if input.dim() > 3:
        squares = squares.flatten(3)
    squares = F.pad(squares, (0, 0, size // 2, (size - 1) // 2))
    squares = F.avg_pool2d(squares, (size, 1), 1).squeeze(1)
    return input / (squares.reshape(input.shape) * alpha + k).pow(beta)


@composed
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    if not isinstance(var, Tensor):
        var = var * torch_ones_like(input)
    elif var.shape != input.shape and input.shape[:-1] == var.shape:
        var = var.unsqueeze(-1)
    var = var.clamp(min=eps)
    loss: Tensor = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


@composed
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    loss = -(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input))
    loss = (loss if weight is None else loss * weight).sum(-1) / input.size(-1)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


@composed
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    pooled = F.avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (pooled.sign() * F.relu(pooled.abs()) * kernel_size).pow(1.0 / norm_type)


@composed
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    pooled = F.avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (pooled.sign() * F.relu(pooled.abs()) * math.prod(_pair(kernel_size))).pow(1.0 / norm_type)


@composed
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:
    has_masks = key_padding_mask is not None or attn_mask is not None
    if bias_k is not None or static_k is not None or static_v is not None or add_zero_attn:
        raise NotImplementedError("export: multi-head attention with add_bias_kv, add_zero_attn or static keys is not supported")
    if query is key and key is value and query.dim() == 3 and not (has_masks or use_separate_proj_weight or (training and dropout_p)):
        return NotImplemented  # self-attention, which has a rule
    is_batched = query.dim() == 3
    if not is_batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    weights: Any = separate if use_separate_proj_weight else in_proj_weight.chunk(3)
    biases: Any = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    projected = [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]
    q, k, v = (x.reshape(x.size(0), batch, num_heads, width // num_heads).permute(1, 2, 0, 3) for x in projected)
    masks: list[Tensor] = []
    if attn_mask is not None:
        added = _add_mask(attn_mask, q)
        masks.append(added if added.dim() == 2 else added.reshape(batch, num_heads, length, key.size(0)))
    if key_padding_mask is not None:
        masks.append(_add_mask(key_padding_mask, q).reshape(batch, 1, 1, key.size(0)))
    mask: Tensor | None = masks[0] + masks[1] if len(masks) == 2 else masks[0] if masks else None
    p = dropout_p if training else 0.0
    if need_weights:
        scores = q * math.sqrt(num_heads / width) @ k.transpose(-2, -1)
        probabilities = F.dropout((scores if mask is None else scores + mask).softmax(-1), p)
        made = probabilities @ v
    else:
        made = F.scaled_dot_product_attention(q, k, v, None if mask is None else mask.expand(batch, num_heads, length, key.size(0)), p)
    made = F.linear(made.permute(2, 0, 1, 3).reshape(length, batch, width), out_proj_weight, out_proj_bias)
    made = made if is_batched else made.squeeze(1)
    if not need_weights:
        return made, None
    probabilities = probabilities.mean(1) if average_attn_weights else probabilities
    return made, probabilities if is_batched else probabilities.squeeze(0)


def _add_mask(mask: Tensor, like: Tensor) -> Tensor:
    """Returns a mask of attention as a tensor that is added to the scores: minus infinity where a bool mask is True."""
    return torch_zeros_like(mask, dtype=like.dtype).masked_fill(mask, -math.inf) if mask.dtype == torch_bool else mask


COMPOSED[gen_nn_functional.softmin] = softmin  # which the function of nn.functional calls
RULES |= {_torch_stft: stft, _torch_tensordot: tensordot}
