"""The functions that PyTorch decomposes into other operators before a TorchDispatchMode receives them: a rule for each, which makes the same calls.

A rule has the function's parameters after `call(name, *args, **kwargs)`, which emits an overload (`"view.default"`), or the overload of a name that
the arguments fit, or applies the rule of that name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import bool as _bool
from .. import contiguous_format, get_default_dtype, tensor
from .._base.device import device as _device
from .._base.dtypes import dtype as _dtype
from .._core.tensor import Tensor

__all__ = ["RULES"]

Call = Callable[..., Any]
RULES: dict[str, Callable[..., Any]] = {}
LAST = 2**63 - 1
REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that registers the rule of functions."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(names or (function.__name__.rstrip("_"),), function))
        return function

    return register


def _sizes(given: Sequence[Any]) -> list[int]:
    return list(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else list(given)


def _list(value: Any, count: int) -> list[Any]:
    return [value] * count if isinstance(value, int | float) else list(value) * (count if len(value) == 1 else 1)


def _without_defaults(values: Sequence[Any], defaults: Sequence[Any]) -> list[Any]:
    """Returns values without those at the end that are defaults."""
    kept = list(values)
    while kept and kept[-1] == defaults[len(kept) - 1]:
        kept.pop()
    return kept


@rule("T", "numpy_T")
def _t(call: Call, self: Tensor) -> Any:
    return call("permute.default", self, list(range(self.dim()))[::-1])


@rule("mT", "matrix_T", "adjoint")
def _mt(call: Call, self: Tensor) -> Any:
    return call("transpose.int", self, -2, -1)


@rule("reshape")
def _reshape(call: Call, self: Tensor, *shape: Any) -> Any:
    return _reshaped(call, self, _infer(self, _sizes(shape)))


def _infer(self: Tensor, sizes: list[int]) -> list[int]:
    """Returns sizes with the one that is -1."""
    return list(self.detach().reshape(sizes).shape)


def _reshaped(call: Call, self: Tensor, sizes: list[int]) -> Any:
    try:
        self.detach().view(sizes)
    except RuntimeError:
        return call("_unsafe_view.default", call("clone.default", self, memory_format=contiguous_format), sizes)
    return call("view.default", self, sizes)


@rule("flatten")
def _flatten(call: Call, self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    sizes = list(self.detach().flatten(start_dim, end_dim).shape)
    return self if sizes == list(self.shape) else _reshaped(call, self, sizes)


@rule("unflatten")
def _unflatten(call: Call, self: Tensor, dim: int, sizes: Sequence[int]) -> Any:
    return call("view.default", self, list(self.detach().unflatten(dim, sizes).shape))


@rule("contiguous")
def _make_contiguous(call: Call, self: Tensor, memory_format: Any = None) -> Any:
    memory_format = memory_format or contiguous_format
    return self if self.is_contiguous(memory_format=memory_format) else call("clone.default", self, memory_format=memory_format)


@rule("view_as", "reshape_as")
def _view_as(call: Call, self: Tensor, other: Tensor) -> Any:
    return _reshaped(call, self, list(other.shape))


@rule("expand_as")
def _expand_as(call: Call, self: Tensor, other: Tensor) -> Any:
    return call("expand.default", self, list(other.shape))


@rule("to")
def _to(call: Call, self: Tensor, *args: Any, **kwargs: Any) -> Any:
    options: dict[str, Any] = {}
    for value in args[:2]:
        if isinstance(value, Tensor):
            options |= {"dtype": value.dtype, "device": value.device}
        elif isinstance(value, _dtype):
            options["dtype"] = value
        elif isinstance(value, str | _device | int) and not isinstance(value, bool):
            options["device"] = _device(value)
    copies = kwargs.pop("copy", False)
    kwargs.pop("non_blocking", None)
    options |= {k: _device(v) if k == "device" else v for k, v in kwargs.items() if v is not None}
    options = {k: v for k, v in options.items() if copies or getattr(self, k, None) != v}
    return call("_to_copy.default", self, **options) if options or copies else self


@rule("type_as")
def _type_as(call: Call, self: Tensor, other: Tensor) -> Any:
    if self.dtype == other.dtype and self.device == other.device:
        return self
    return call("_to_copy.default", self, dtype=other.dtype, layout=other.layout, device=other.device)


def _cast_to(name: str) -> None:
    def cast(call: Call, self: Tensor, memory_format: Any = None) -> Any:
        from .. import _C

        return _to(call, self, getattr(_C._VariableFunctions, name))

    RULES[name] = cast


for _name in ("float", "double", "half", "bfloat16", "int", "long", "short", "bool"):
    _cast_to(_name)


@rule("sub", "subtract")
def _sub(call: Call, self: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    if not isinstance(self, Tensor):
        return call("rsub.Scalar", other, self, **({} if alpha == 1 else {"alpha": alpha}))
    return call("sub.Tensor", self, other, **({} if alpha == 1 else {"alpha": alpha}))


@rule("div", "divide", "true_divide")
def _div(call: Call, self: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    if not isinstance(self, Tensor):
        return call("mul.Tensor", call("reciprocal.default", other), self)
    if rounding_mode is None:
        return call("div.Tensor", self, other)
    return call("div.Tensor_mode", self, other, rounding_mode=rounding_mode)


@rule("floor_divide")
def _floor_divide(call: Call, self: Any, other: Any, *, out: Any = None) -> Any:
    if not isinstance(self, Tensor):
        self = call("scalar_tensor.default", self, dtype=other.dtype, device=other.device)
    return call("floor_divide.default", self, other)


def _commutative(name: str) -> None:
    def apply(call: Call, self: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
        self, other = (self, other) if isinstance(self, Tensor) else (other, self)
        return call(f"{name}.Tensor", self, other, **({} if alpha == 1 else {"alpha": alpha}))

    RULES[name] = apply


_commutative("add")
_commutative("mul")


@rule("__getitem__")
def _getitem(call: Call, self: Tensor, index: Any) -> Any:
    selected, indices = _views_of(call, self, index)
    if not any(i is not None for i in indices):
        return selected
    return call("index.Tensor", selected, indices)


def _views_of(call: Call, self: Tensor, index: Any) -> tuple[Tensor, list[Any]]:
    """Returns the tensor after integers, slices, None and Ellipsis of an index, and the tensors of the index by dimension."""
    items = list(index) if isinstance(index, tuple) else [index]
    indices: list[Any] = []
    dim = 0  # of the tensor after the selections
    for at, item in enumerate(items):
        if item is Ellipsis:
            skipped = self.dim() - dim - sum(map(_width, items[at + 1 :]))
            indices += [None] * skipped
            dim += skipped
        elif item is None:
            self = call("unsqueeze.default", self, dim)
            indices.append(None)
            dim += 1
        elif isinstance(item, bool):
            raise NotImplementedError("__getitem__: a bool as an index is not known as operators of ATen, which TorchDispatchMode and make_fx need")
        elif isinstance(item, slice):
            if item != slice(None):
                start, stop, step = item.start or 0, LAST if item.stop is None else item.stop, item.step or 1
                self = call("slice.Tensor", self, dim, start, stop, *([step] if step != 1 else []))
            indices.append(None)
            dim += 1
        elif isinstance(item, int) or (hasattr(item, "__index__") and not isinstance(item, Tensor)):
            self = call("select.int", self, dim, int(item))
        else:
            item = item if isinstance(item, Tensor) else tensor(item)
            indices.append(item)
            dim += _width(item)
    while indices and indices[-1] is None:
        indices.pop()
    return self, indices


def _width(item: Any) -> int:
    """Returns the number of dimensions that an item of an index stands for."""
    if item is None or item is Ellipsis:
        return 0
    return item.dim() if isinstance(item, Tensor) and item.dtype == _bool else 1


@rule("__setitem__")
def _setitem(call: Call, self: Tensor, index: Any, value: Any) -> None:
    view, indices = _views_of(call, self, index)
    if any(i is not None for i in indices):
        value = value if isinstance(value, Tensor) else call("scalar_tensor.default", value, dtype=self.dtype, device=self.device)
        call("index_put_.default", view, indices, value)
    elif isinstance(value, Tensor):
        call("copy_.default", view, value)
    else:
        call("fill_.Scalar", view, value)


@rule("einsum")
def _einsum(call: Call, equation: str, *operands: Any) -> Any:
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    return call("einsum.default", equation, list(given))


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
    out = _matmul(call, input, call("t.default", weight))
    return out if bias is None else call("add.Tensor", out, bias)


@rule("matmul", "__matmul__")
def _matmul(call: Call, self: Tensor, other: Tensor, out: Any = None) -> Any:
    a, b = self.dim(), other.dim()
    if a == 1 and b == 1:
        return call("dot.default", self, other)
    if a == 2 and b == 1:
        return call("mv.default", self, other)
    if a == 1 and b == 2:
        return call("squeeze_.dim", call("mm.default", call("unsqueeze.default", self, 0), other), 0)
    if a == 2 and b == 2:
        return call("mm.default", self, other)
    if a >= 3 and b <= 2:
        flat = _reshaped(call, self, [self.numel() // self.size(-1), self.size(-1)])
        if b == 1:
            return call("_unsafe_view.default", call("mv.default", flat, other), list(self.shape[:-1]))
        return call("_unsafe_view.default", call("mm.default", flat, other), [*self.shape[:-1], other.size(1)])
    from .. import broadcast_shapes

    first = self if a > 1 else call("unsqueeze.default", self, 0)
    second = other if b > 1 else call("unsqueeze.default", other, 1)
    n, m, p = first.size(-2), first.size(-1), second.size(-1)
    batch = list(broadcast_shapes(first.shape[:-2], second.shape[:-2]))
    count = 1
    for size in batch:
        count *= size
    left = _reshaped(call, call("expand.default", first, [*batch, n, m]), [count, n, m])
    right = _reshaped(call, call("expand.default", second, [*batch, m, p]), [count, m, p])
    made = call("bmm.default", left, right)
    return call("_unsafe_view.default", made, [*batch, *([n] if a > 1 else []), *([p] if b > 1 else [])])


@rule("__rmatmul__")
def _rmatmul(call: Call, self: Tensor, other: Tensor) -> Any:
    return _matmul(call, other, self)


@rule("outer", "ger")
def _outer(call: Call, self: Tensor, vec2: Tensor) -> Any:
    return call("mul.Tensor", call("view.default", self, [self.size(0), 1]), vec2)


def _softmax(name: str) -> Callable[..., Any]:
    def apply(call: Call, input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None, **_: Any) -> Any:
        if isinstance(_stacklevel, _dtype):
            dtype = _stacklevel
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return call(f"{name}.default", input if dtype is None else _to(call, input, dtype), dim, False)

    return apply


RULES["softmax"], RULES["log_softmax"] = _softmax("_softmax"), _softmax("_log_softmax")


@rule("layer_norm")
def _layer_norm(call: Call, input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    return call("native_layer_norm.default", input, _list(normalized_shape, 1), weight, bias, eps)[0]


@rule("group_norm")
def _group_norm(call: Call, input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    rest = input.numel() // max(input.size(0) * input.size(1), 1)
    input = _make_contiguous(call, input)
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
    return call("native_batch_norm.default", input, weight, bias, mean, var, training, momentum, eps)[0]


@rule("rms_norm")
def _rms_norm(call: Call, input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    from .. import finfo

    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    mean = call("mean.dim", call("pow.Tensor_Scalar", input, 2), dims, True)
    scale = call("rsqrt.default", call("add_.Scalar", mean, finfo(input.dtype).eps if eps is None else eps))
    made = call("mul.Tensor", input, scale)
    return made if weight is None else call("mul.Tensor", made, weight)


@rule("dropout", "feature_dropout")
def _dropout(call: Call, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if not training or p == 0:
        return input
    kept = call("bernoulli_.float", call("empty_like.default", input), 1 - p)
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
    kind = "nll_loss_forward" if input.dim() <= 2 else "nll_loss2d_forward"
    return call(f"{kind}.default", input, target, weight, REDUCTIONS[reduction], ignore_index)[0]


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
        raise NotImplementedError(
            "cross_entropy: probabilities and label_smoothing are not known as operators of ATen, which TorchDispatchMode and make_fx need"
        )
    scores = call("_log_softmax.default", input, 0 if input.dim() == 1 else 1, False)
    return _nll_loss(call, scores, target, weight, ignore_index=ignore_index, reduction=reduction)


def _loss(name: str, *extra: str) -> None:
    """Registers the rule of a loss whose operator has the reduction as a number."""

    def apply(call: Call, input: Tensor, target: Tensor, *args: Any, reduction: str = "mean", **kwargs: Any) -> Any:
        given = {k: v for k, v in kwargs.items() if k in extra and v is not None}
        rest = [REDUCTIONS[reduction]] if reduction != "mean" or given else []
        return call(f"{name}.default", input, target, *rest, **given)

    RULES[name] = apply


_loss("mse_loss")
_loss("smooth_l1_loss", "beta")
_loss("huber_loss", "delta")
_loss("soft_margin_loss")


@rule("l1_loss")
def _l1_loss(call: Call, input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
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
    given = (
        [weight, pos_weight, REDUCTIONS[reduction]]
        if reduction != "mean"
        else [weight, pos_weight]
        if pos_weight is not None
        else [weight][: weight is not None]
    )
    return call("binary_cross_entropy_with_logits.default", input, target, *given)


@rule("binary_cross_entropy")
def _bce(call: Call, input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Any:
    given = [weight, REDUCTIONS[reduction]] if reduction != "mean" else [weight][: weight is not None]
    return call("binary_cross_entropy.default", input, target, *given)


@rule("chunk")
def _chunk(call: Call, input: Tensor, chunks: int, dim: int = 0) -> Any:
    size = -(-input.size(dim) // chunks)
    return call("split.Tensor", input, size, *([dim] if dim else []))


@rule("split")
def _split(call: Call, self: Tensor, split_size_or_sections: Any, dim: int = 0) -> Any:
    if isinstance(split_size_or_sections, int):
        return call("split.Tensor", self, split_size_or_sections, *([dim] if dim else []))
    return call("split_with_sizes.default", self, list(split_size_or_sections), *([dim] if dim else []))


@rule("where")
def _where(call: Call, condition: Tensor, self: Any, other: Any, out: Any = None) -> Any:
    like = self if isinstance(self, Tensor) else other
    is_known = isinstance(like, Tensor)

    def lifted(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value
        dtype = like.dtype if is_known and (like.dtype.is_floating_point or isinstance(value, int)) else None
        return call("scalar_tensor.default", value, dtype=dtype or get_default_dtype(), layout=condition.layout, device=condition.device)

    return call("where.self", condition, lifted(self), lifted(other))


def _spread(name: str) -> None:
    def apply(
        call: Call, self: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None, out: Any = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        dims = dim if dim is None else _list(dim, 1)
        return call(
            f"{name}.correction", self, dims, correction=int(unbiased) if correction is None else correction, **({"keepdim": True} if keepdim else {})
        )

    RULES[name] = apply


_spread("std")
_spread("var")


@rule("norm")
def _norm(call: Call, self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    order = 2 if p in ("fro", None) else p
    rest = _without_defaults([order, dim if dim is None else _list(dim, 1), keepdim], [2, None, False])
    return call("linalg_vector_norm.default", self, *rest)


@rule("normalize")
def _normalize(call: Call, input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    norm = call("linalg_vector_norm.default", input, p, [dim], True)
    floor = call("clamp_min.default", norm, eps)
    return call("div.Tensor", input, call("expand.default", floor, list(input.shape)))


@rule("cosine_similarity")
def _cosine_similarity(call: Call, x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Any:
    norms = [call("clone.default", call("linalg_vector_norm.default", x, 2, [dim], True)) for x in (x1, x2)]
    floor = call("scalar_tensor.default", eps, dtype=x1.dtype, device=x1.device)
    first, second = (call("clamp_min_.Tensor", norm, floor) for norm in norms)
    right = call("div.Tensor", x2, second)
    return call("sum.dim_IntList", call("mul.Tensor", call("div.Tensor", x1, first), right), [dim])


def _convolution(dims: int, transposed: bool) -> Callable[..., Any]:
    def apply(
        call: Call, input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int
    ) -> Any:
        is_single = input.dim() == dims + 1
        if is_single:
            input = call("unsqueeze.default", input, 0)
        if isinstance(padding, str):
            raise NotImplementedError(f"conv{dims}d: padding={padding!r} is not known as operators of ATen, which TorchDispatchMode and make_fx need")
        lists = [_list(v, dims) for v in (stride, padding, dilation, output_padding)]
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
        rest: list[Any] = [[] if stride is None or stride == [] else _list(stride, dims), _list(padding, dims), _list(dilation, dims), ceil_mode]
        rest = _without_defaults(rest, [[], [0] * dims, [1] * dims, False])
        made = call(f"max_pool{dims}d_with_indices.default", input, _list(kernel_size, dims), *rest)
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
        rest: list[Any] = [[] if stride is None or stride == [] else _list(stride, dims), _list(padding, dims), ceil_mode, count_include_pad]
        rest.append(divisor_override)
        return call(f"avg_pool{dims}d.default", input, _list(kernel_size, dims), *_without_defaults(rest, [[], [0] * dims, False, True, None]))

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
    if mode not in names or antialias or recompute_scale_factor:
        raise NotImplementedError(
            f"interpolate: mode={mode!r}, antialias and recompute_scale_factor are not known as operators of ATen, which TorchDispatchMode and "
            "make_fx need"
        )
    scales: list[Any] = [None] * dims if scale_factor is None else [float(scale) for scale in _list(scale_factor, dims)]
    sizes = [int(n * s) for n, s in zip(input.shape[2:], scales, strict=True)] if size is None else _list(size, dims)
    name = f"_upsample_nearest_exact{dims}d" if mode == "nearest-exact" else f"upsample_{names[mode]}{dims}d"
    corners = [] if mode.startswith("nearest") else [bool(align_corners)]
    return call(f"{name}.default", input, sizes, *corners, *_without_defaults(scales, [None] * dims))


@rule("adaptive_avg_pool2d")
def _adaptive_avg_pool2d(call: Call, input: Tensor, output_size: Any) -> Any:
    sizes = _list(output_size, 2)
    sizes = [input.size(i - 2) if size is None else size for i, size in enumerate(sizes)]
    if sizes == [1, 1]:
        return call("mean.dim", input, [-1, -2], True)
    return call("_adaptive_avg_pool2d.default", input, sizes)


@rule("pad")
def _pad(call: Call, input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    if mode == "constant":
        return call("constant_pad_nd.default", input, list(pad), 0.0 if value is None else value)
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
            "multi_head_attention_forward: other than self-attention of batches without masks, biases of keys and dropout is not known as operators "
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
        made = _reshaped(call, made, [length * batch, width])
    else:
        q, k, v = [call("view.default", t, [batch, num_heads, length, head]) for t in (q, k, v)]
        made = call("_scaled_dot_product_flash_attention_for_cpu.default", q, k, v)[0]
        made = _reshaped(call, call("permute.default", made, [2, 0, 1, 3]), [length * batch, width])
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
    rest = _without_defaults([-1 if padding_idx is None else padding_idx % weight.size(0), scale_grad_by_freq, sparse], [-1, False, False])
    return call("embedding.default", weight, input, *rest)


def _activation(name: str, *defaults: Any, operator: str = "") -> None:
    """Registers the rule of an activation with parameters, and `inplace` after them."""

    def apply(call: Call, input: Tensor, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        values = [*args, *kwargs.values()]
        if len(values) > len(defaults):
            inplace = bool(values.pop())
        values += defaults[len(values) :]
        return call(f"{operator or name}{'_' if inplace else ''}.default", input, *values)

    RULES[name] = apply


for _plain in ("relu", "selu", "silu", "mish", "hardswish", "hardsigmoid"):
    _activation(_plain)
_activation("elu", 1.0)
_activation("celu", 1.0)
_activation("hardtanh", -1.0, 1.0)
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


def _factory(name: str, is_sized: bool) -> None:
    """Registers the rule of a function that creates a tensor: PyTorch states the device and that memory is not pinned."""

    def apply(call: Call, *args: Any, **kwargs: Any) -> Any:
        given = {k: v for k, v in kwargs.items() if v is not None and k not in ("requires_grad", "out", "names", "layout")}
        given["device"] = _device(given.get("device", "cpu"))
        given.setdefault("pin_memory", False)
        requires_grad = bool(kwargs.get("requires_grad"))
        sizes = [given.pop("size")] if "size" in given else list(args)
        values = [_sizes(sizes)] if is_sized else [list(v) if isinstance(v, tuple) else v for v in sizes]
        overload = {"empty": "memory_format", "arange": ("default", "default", "start", "start_step")[len(values)]}.get(name, "default")
        if name == "randint":
            overload = "default" if isinstance(values[1], list) else "low"
        made = call(f"{name}.{overload}", *values, **given)
        return made.requires_grad_() if requires_grad else made

    RULES[name] = apply


for _name in ("zeros", "ones", "empty", "rand", "randn"):
    _factory(_name, True)
for _name in ("full", "arange", "randint", "eye"):
    _factory(_name, False)


def _like(name: str) -> None:
    def apply(call: Call, self: Tensor, *args: Any, **kwargs: Any) -> Any:
        given = {k: v for k, v in kwargs.items() if v is not None and k not in ("requires_grad", "layout")}
        sizes = [_sizes(args)] if name.startswith("new_") and name != "new_full" else [list(v) if isinstance(v, tuple) else v for v in args]
        return call(f"{name}.default", self, *sizes, **given, pin_memory=False)

    RULES[name] = apply


for _name in ("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "new_zeros", "new_ones", "new_empty", "new_full"):
    _like(_name)
