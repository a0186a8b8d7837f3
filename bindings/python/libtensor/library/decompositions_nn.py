"""The rules of decompositions.py for functions of neural networks."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import contiguous_format
from .._base.dtypes import dtype as _dtype
from .._core.tensor import Tensor
from ..nn import _reduction
from .decompositions import RULES, Call, as_list, make_contiguous, matmul, reshaped, rule, to, without_defaults

__all__ = ["RULES"]

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduction_of(size_average: Any, reduce: Any, reduction: str) -> str:
    """Returns the reduction that the arguments of a loss mean, of which the first two are deprecated."""
    return reduction if size_average is None and reduce is None else _reduction.legacy_get_string(size_average, reduce)


@rule("linear")
def _linear(call: Call, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if bias is not None and weight.dim() == 2 and input.dim() >= 2 and input.is_contiguous() or (bias is not None and input.dim() == 2):
        flat = (
            input
            if input.dim() == 2
            else call("view.default", input, [-1 if input.numel() == 0 else input.numel() // input.size(-1), input.size(-1)])
        )
        out = call("addmm.default", bias, flat, call("t.default", weight))
        return out if input.dim() == 2 else call("_unsafe_view.default", out, [*input.shape[:-1], weight.size(0)])
    out = matmul(call, input, call("t.default", weight))
    return out if bias is None else call("add.Tensor", out, bias)


def _softmax(name: str) -> Callable[..., Any]:
    def apply(call: Call, input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None, **_: Any) -> Any:
        if isinstance(_stacklevel, _dtype):
            dtype = _stacklevel
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return call(f"{name}.default", input if dtype is None else to(call, input, dtype), dim, False)

    return apply


RULES["softmax"], RULES["log_softmax"] = _softmax("_softmax"), _softmax("_log_softmax")


@rule("layer_norm")
def _layer_norm(call: Call, input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    return call("native_layer_norm.default", input, as_list(normalized_shape, 1), weight, bias, eps)[0]


@rule("group_norm")
def _group_norm(call: Call, input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    rest = math.prod(input.shape[2:])
    input = make_contiguous(call, input)
    return call("native_group_norm.default", input, weight, bias, input.size(0), input.size(1), rest, num_groups, eps)[0]


@rule("batch_norm")
def _batch_norm(
    call: Call,
    input: Tensor,
    mean: Any,
    var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if training and input.numel() == 0:
        return call("clone.default", input)
    return call("native_batch_norm.default", input, weight, bias, mean, var, training, momentum, eps)[0]


@rule("rms_norm")
def _rms_norm(call: Call, input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    from .. import finfo

    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    mean = call("mean.dim", call("pow.Tensor_Scalar", input, 2), dims, True)
    scale = call("rsqrt.default", call("add_.Scalar", mean, finfo(input.dtype).eps if eps is None else eps))
    made = call("mul.Tensor", input, scale)
    return made if weight is None else call("mul.Tensor", made, weight)


@rule("feature_dropout")
def _feature_dropout(call: Call, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if not training or p == 0:
        return input
    noise = call("new_empty.default", input, [*input.shape[:2], *[1] * (input.dim() - 2)])
    return _scaled(call, input, noise, p, inplace)


def _channel_dropout(dims: int) -> None:
    """Registers the rule of dropout1d, dropout2d or dropout3d, which accept inputs without a batch, except for two dimensions."""

    def apply(call: Call, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        is_single = dims != 2 and input.dim() == dims + 1
        made = _feature_dropout(call, call("unsqueeze.default", input, 0) if is_single else input, p, training, inplace)
        return call("squeeze.dim", made, 0) if is_single else made

    RULES[f"dropout{dims}d"] = apply


for _dims in (1, 2, 3):
    _channel_dropout(_dims)


@rule("dropout")
def _dropout(call: Call, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if not training or p == 0:
        return input
    return _scaled(call, input, call("empty_like.default", input), p, inplace)


def _scaled(call: Call, input: Tensor, noise: Tensor, p: float, inplace: bool) -> Any:
    """Returns the elements of a tensor that are kept with the probability 1 - p, divided by it. Overwrites noise."""
    kept = call("bernoulli_.float", noise, 1 - p)
    if p == 1:
        return call("mul_.Tensor" if inplace else "mul.Tensor", input, kept)
    return call("mul_.Tensor" if inplace else "mul.Tensor", input, call("div_.Scalar", kept, 1 - p))


@rule("nll_loss", "nll_loss_nd")
def _nll_loss(
    call: Call,
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    reduction = reduction_of(size_average, reduce, reduction)
    rest = weight, REDUCTIONS[reduction], ignore_index
    if input.dim() <= 2:
        return call("nll_loss_forward.default", input, target, *rest)[0]
    if input.dim() == 4:
        return call("nll_loss2d_forward.default", input, target, *rest)[0]
    classes = input.size(0), input.size(1), 1, math.prod(input.shape[2:])
    planes = call("reshape", input, list(classes)), call("reshape", target, [classes[0], 1, classes[3]])
    made = call("nll_loss2d_forward.default", *planes, *rest)[0]
    return call("view.default", made, list(target.shape)) if reduction == "none" else made


@rule("cross_entropy")
def _cross_entropy(
    call: Call,
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    if label_smoothing or target.dtype.is_floating_point:
        number = REDUCTIONS[reduction_of(size_average, reduce, reduction)]
        return call("cross_entropy_loss.default", input, target, weight, number, ignore_index, label_smoothing)
    scores = call("_log_softmax.default", input, 0 if input.dim() == 1 else 1, False)
    return _nll_loss(call, scores, target, weight, size_average, ignore_index, reduce, reduction)


def functional() -> Any:
    """Returns the module nn.functional, which is imported after this one."""
    from ..nn import functional

    return functional


def _loss(name: str, *extra: str) -> None:
    """Registers the rule of a loss whose operator has the reduction as a number."""

    def apply(call: Call, *args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(getattr(functional(), name)).bind(*args, **kwargs)
        bound.apply_defaults()
        given: dict[str, Any] = bound.arguments
        if given.get("weight") is not None:
            raise NotImplementedError(f"{name}: weight is not known as an operator of ATen, which TorchDispatchMode and make_fx need")
        input, target = given["input"], given["target"]
        reduction = reduction_of(given.get("size_average"), given.get("reduce"), given["reduction"])
        given = {k: v for k, v in given.items() if k in extra and v != 1.0}
        rest = [REDUCTIONS[reduction]] if reduction != "mean" or given else []
        return call(f"{name}.default", input, target, *rest, **given)

    RULES[name] = apply


_loss("mse_loss")
_loss("smooth_l1_loss", "beta")
_loss("huber_loss", "delta")
_loss("soft_margin_loss")


@rule("l1_loss")
def _l1_loss(
    call: Call, input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    if weight is not None:
        raise NotImplementedError("l1_loss: weight is not known as an operator of ATen, which TorchDispatchMode and make_fx need")
    reduction = reduction_of(size_average, reduce, reduction)
    made = call("abs.default", call("sub.Tensor", input, target))
    return made if reduction == "none" else call(f"{reduction}.default", made)


@rule("binary_cross_entropy_with_logits")
def _bce_with_logits(
    call: Call,
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    reduction = reduction_of(size_average, reduce, reduction)
    given = (
        [weight, pos_weight, REDUCTIONS[reduction]]
        if reduction != "mean"
        else [weight, pos_weight]
        if pos_weight is not None
        else [weight][: weight is not None]
    )
    return call("binary_cross_entropy_with_logits.default", input, target, *given)


@rule("binary_cross_entropy")
def _bce(
    call: Call, input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    reduction = reduction_of(size_average, reduce, reduction)
    given = [weight, REDUCTIONS[reduction]] if reduction != "mean" else [weight][: weight is not None]
    return call("binary_cross_entropy.default", input, target, *given)


@rule("normalize")
def _normalize(call: Call, input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    norm = call("linalg_vector_norm.default", input, p, [dim], True)
    floor = call("clamp_min.default", norm, eps)
    return call("div.Tensor", input, call("expand.default", floor, list(input.shape)))


@rule("cosine_similarity")
def _cosine_similarity(call: Call, x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Any:
    if x1.shape != x2.shape:
        x1, x2 = call("broadcast_tensors", x1, x2)
    norms = [call("clone.default", call("linalg_vector_norm.default", x, 2, [dim], True)) for x in (x1, x2)]
    floor = call("scalar_tensor.default", eps, dtype=x1.dtype, device=x1.device)
    first, second = (call("clamp_min_.Tensor", norm, floor) for norm in norms)
    right = call("div.Tensor", x2, second)
    return call("sum.dim_IntList", call("mul.Tensor", call("div.Tensor", x1, first), right), [dim])


def _pad_convolution(call: Call, input: Tensor, weight: Tensor, padding: str, stride: Any, dilation: list[int]) -> tuple[Tensor, list[int]]:
    """Returns the input and the padding of a convolution with padding "valid" or "same". The input is padded at the end where the sides
    differ."""
    dims = len(dilation)
    if padding == "valid":
        return input, [0] * dims
    if padding != "same":
        raise RuntimeError(f"conv{dims}d: Invalid padding string: '{padding}'; it must be 'valid' or 'same', or use numbers")
    if any(step != 1 for step in as_list(stride, dims)):
        raise RuntimeError(f"conv{dims}d: padding='same' is not supported for strided convolutions; the stride is {stride}")
    total = [d * (size - 1) for d, size in zip(dilation, weight.shape[2:], strict=True)]
    if any(n % 2 for n in total):
        input = call("constant_pad_nd.default", input, [x for n in reversed(total) for x in (0, n % 2)])
    return input, [n // 2 for n in total]


def _convolution(dims: int, transposed: bool) -> Callable[..., Any]:
    def apply(
        call: Call, input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int
    ) -> Any:
        is_single = input.dim() == dims + 1
        if is_single:
            input = call("unsqueeze.default", input, 0)
        if isinstance(padding, str):
            input, padding = _pad_convolution(call, input, weight, padding, stride, as_list(dilation, dims))
        lists = [as_list(v, dims) for v in (stride, padding, dilation, output_padding)]
        made = call("convolution.default", input, weight, bias, lists[0], lists[1], lists[2], transposed, lists[3], groups)
        return call("squeeze.dim", made, 0) if is_single else made

    if transposed:
        return lambda call, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1: apply(
            call, input, weight, bias, stride, padding, output_padding, dilation, groups
        )
    return lambda call, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1: apply(
        call, input, weight, bias, stride, padding, 0, dilation, groups
    )


for _dims in (1, 2, 3):
    RULES[f"conv{_dims}d"] = _convolution(_dims, False)
    RULES[f"conv_transpose{_dims}d"] = _convolution(_dims, True)


def _max_pool(dims: int) -> None:
    def apply(
        call: Call,
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        rest: list[Any] = [
            [] if stride is None or stride == [] else as_list(stride, dims),
            as_list(padding, dims),
            as_list(dilation, dims),
            ceil_mode,
        ]
        rest = without_defaults(rest, [[], [0] * dims, [1] * dims, False])
        made = call(f"max_pool{dims}d_with_indices.default", input, as_list(kernel_size, dims), *rest)
        return made if return_indices else made[0]

    RULES[f"max_pool{dims}d"] = apply


_max_pool(2)
_max_pool(3)


def _average_pool(dims: int) -> None:
    def apply(
        call: Call,
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        rest: list[Any] = [
            [] if stride is None or stride == [] else as_list(stride, dims),
            as_list(padding, dims),
            ceil_mode,
            count_include_pad,
        ]
        rest.append(divisor_override)
        return call(
            f"avg_pool{dims}d.default", input, as_list(kernel_size, dims), *without_defaults(rest, [[], [0] * dims, False, True, None])
        )

    RULES[f"avg_pool{dims}d"] = apply


_average_pool(2)
_average_pool(3)


@rule("interpolate", "upsample")
def _interpolate(
    call: Call,
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    dims = input.dim() - 2
    names = {
        "nearest": "nearest",
        "nearest-exact": "_nearest_exact",
        "linear": "linear",
        "bilinear": "bilinear",
        "bicubic": "bicubic",
        "trilinear": "trilinear",
    }
    if mode not in names and mode != "area":
        raise NotImplementedError(f"interpolate: mode={mode!r} is not known as operators of ATen, which TorchDispatchMode and make_fx need")
    scales: list[Any] = [None] * dims if scale_factor is None else [float(scale) for scale in as_list(scale_factor, dims)]
    sizes = [int(n * s) for n, s in zip(input.shape[2:], scales, strict=True)] if size is None else as_list(size, dims)
    if recompute_scale_factor:
        scales = [None] * dims
    if mode == "area":
        return call(f"adaptive_avg_pool{dims}d", input, sizes)
    if antialias:
        return call(f"_upsample_{mode}2d_aa.default", input, sizes, bool(align_corners), *without_defaults(scales, [None] * dims))
    name = f"_upsample_nearest_exact{dims}d" if mode == "nearest-exact" else f"upsample_{names[mode]}{dims}d"
    corners = [] if mode.startswith("nearest") else [bool(align_corners)]
    return call(f"{name}.default", input, sizes, *corners, *without_defaults(scales, [None] * dims))


@rule("adaptive_avg_pool2d")
def _adaptive_avg_pool2d(call: Call, input: Tensor, output_size: Any) -> Any:
    sizes = as_list(output_size, 2)
    sizes = [input.size(i - 2) if size is None else size for i, size in enumerate(sizes)]
    if sizes == [1, 1]:
        return call("mean.dim", input, [-1, -2], True)
    return call("_adaptive_avg_pool2d.default", input, sizes)


@rule("pad")
def _pad(call: Call, input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    if mode == "constant":
        return call("constant_pad_nd.default", input, list(pad), 0.0 if value is None else value)
    if mode == "circular":
        return call("_pad_circular.default", input, list(pad))
    name = {"reflect": "reflection", "replicate": "replication"}.get(mode)
    if name is None:
        raise NotImplementedError(f"pad: mode={mode!r} is not known as operators of ATen, which TorchDispatchMode and make_fx need")
    return call(f"{name}_pad{len(pad) // 2}d.default", input, list(pad))


@rule("scaled_dot_product_attention")
def _attention(
    call: Call,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    if dropout_p or enable_gqa or query.dim() != 4:
        raise NotImplementedError(
            "scaled_dot_product_attention: dropout_p, enable_gqa and other than four dimensions are not known as operators of ATen, which "
            "TorchDispatchMode and make_fx need"
        )
    named = {} if attn_mask is None else {"attn_mask": attn_mask}
    rest = [dropout_p, True] if is_causal else []
    if scale is not None:
        named["scale"] = scale
    return call("_scaled_dot_product_flash_attention_for_cpu.default", query, key, value, *rest, **named)[0]


@rule("multi_head_attention_forward")
def _multi_head_attention(
    call: Call,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    **_: Any,
) -> Any:
    unknown = {"bias_k": bias_k, "bias_v": bias_v, "key_padding_mask": key_padding_mask, "attn_mask": attn_mask}
    is_known = in_proj_weight is not None and query is key and key is value and query.dim() == 3 and not use_separate_proj_weight
    if not is_known or any(v is not None for v in unknown.values()) or add_zero_attn or (training and dropout_p):
        raise NotImplementedError(
            "multi_head_attention_forward: other than self-attention of batches without masks, biases of keys and dropout is not known as "
            "operators "
            "of ATen, which TorchDispatchMode and make_fx need"
        )
    length, batch, width = query.shape
    head = width // num_heads
    packed = call("view.default", _linear(call, query, in_proj_weight, in_proj_bias), [length, batch, 3, width])
    packed = call("squeeze.dim", call("transpose.int", call("unsqueeze.default", packed, 0), 0, -2), -2)
    packed = call("clone.default", packed, memory_format=contiguous_format)
    q, k, v = [call("select.int", packed, 0, i) for i in range(3)]
    q, k, v = [call("transpose.int", call("view.default", t, [length, batch * num_heads, head]), 0, 1) for t in (q, k, v)]
    if need_weights:
        scores = call("bmm.default", call("mul.Tensor", q, math.sqrt(1.0 / head)), call("transpose.int", k, -2, -1))
        weights = call("_softmax.default", scores, -1, False)
        made = call("transpose.int", call("bmm.default", weights, v), 0, 1)
        made = reshaped(call, made, [length * batch, width])
    else:
        q, k, v = [call("view.default", t, [batch, num_heads, length, head]) for t in (q, k, v)]
        made = call("_scaled_dot_product_flash_attention_for_cpu.default", q, k, v)[0]
        made = reshaped(call, call("permute.default", made, [2, 0, 1, 3]), [length * batch, width])
    made = call("view.default", _linear(call, made, out_proj_weight, out_proj_bias), [length, batch, width])
    if not need_weights:
        return made, None
    weights = call("view.default", weights, [batch, num_heads, length, length])
    return made, call("mean.dim", weights, [1]) if average_attn_weights else weights


@rule("embedding")
def _embedding(
    call: Call,
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    if max_norm is not None:
        call("embedding_renorm_.default", weight, input, max_norm, norm_type)
    rest = without_defaults([-1 if padding_idx is None else padding_idx % weight.size(0), scale_grad_by_freq, sparse], [-1, False, False])
    return call("embedding.default", weight, input, *rest)


def _activation(name: str, operator: str = "", **defaults: Any) -> None:
    """Registers the rule of an activation with parameters, and `inplace` after them."""

    def apply(call: Call, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        given = {**defaults, "inplace": False, **dict(zip([*defaults, "inplace"], args, strict=False)), **kwargs}
        inplace = given.pop("inplace")
        values = list(given.values())
        return call(f"{operator or name}{'_' if inplace else ''}.default", input, *values)

    RULES[name] = apply


for _plain in ("relu", "selu", "silu", "mish", "hardswish", "hardsigmoid"):
    _activation(_plain)
_activation("elu", alpha=1.0)
_activation("celu", alpha=1.0)
_activation("hardtanh", min_val=-1.0, max_val=1.0)
_activation("relu6", operator="hardtanh")
RULES["relu6"] = lambda call, input, inplace=False: call(f"hardtanh{'_' if inplace else ''}.default", input, 0, 6)


@rule("leaky_relu")
def _leaky_relu(call: Call, input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    return call(f"leaky_relu{'_' if inplace else ''}.default", input, *([negative_slope] if negative_slope != 0.01 else []))


@rule("prelu")
def _prelu(call: Call, input: Tensor, weight: Tensor) -> Any:
    if weight.dim() == 1 and input.dim() > 1:
        weight = call("view.default", weight, [1, -1 if weight.numel() == 0 else weight.numel(), *[1] * (input.dim() - 2)])
    return call("_prelu_kernel.default", input, weight)
