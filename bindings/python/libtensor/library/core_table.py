"""Decompositions of operators of ATen into those of Core ATen IR: for each overload, a function with its parameters that calls other
operators.

A function may return NotImplemented to keep the operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import arange, finfo, ops
from .. import bfloat16 as torch_bfloat16
from .. import bool as torch_bool
from .. import contiguous_format as torch_contiguous_format
from .. import float16 as torch_float16
from .. import float32 as torch_float32
from .. import float64 as torch_float64
from .. import get_default_dtype as default_dtype
from .. import int64 as torch_int64
from .._core.tensor import Tensor
from .decompositions import RULES, as_list

__all__ = ["TABLE", "apply_rule", "aten", "at_least_1d", "decomposition", "in_float", "scalar"]

TABLE: dict[str, Callable[..., Any]] = {}
aten: Any = ops.aten


def decomposition(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that registers the decomposition of overloads; without an overload, a name is that of `.default`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            TABLE[name if "." in name else f"{name}.default"] = function
        return function

    return register


def apply_rule(name: str, *args: Any, **kwargs: Any) -> Any:
    """Returns the result of a rule of decompositions.py, whose operators are called."""

    def call(operator: str, *args: Any, **kwargs: Any) -> Any:
        name, _, overload = operator.partition(".")
        return find(operator)(*args, **kwargs) if overload else RULES[name](call, *args, **kwargs)

    return RULES[name](call, *args, **kwargs)


def find(operator: str) -> Any:
    name, _, overload = operator.partition(".")
    return getattr(getattr(aten, name), overload)


def use_rule(overload: str, name: str, count: int | None = None) -> None:
    """Registers the rule `name` of decompositions.py, which has the first `count` parameters of an overload."""
    TABLE[overload] = lambda *args, **kwargs: apply_rule(name, *args[:count], **kwargs)


# ------------------------------------------------------------------------------------------------- other names of operators

SYNONYMS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "concat": "cat",
    "concatenate": "cat",
    "fix": "trunc",
    "ger": "outer",
    "negative": "neg",
    "row_stack": "vstack",
    "special_erf": "erf",
    "special_expit": "sigmoid",
    "special_expm1": "expm1",
    "special_log1p": "log1p",
}
TABLES = {"greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul", "not_equal": "ne", "subtract": "sub"}
TABLES |= {"true_divide": "div", "divide": "div", "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor"}


def _synonym(overload: str, name: str) -> None:
    TABLE[overload] = lambda *args, **kwargs: find(name)(*args, **kwargs)


for _new, _old in SYNONYMS.items():
    _synonym(f"{_new}.default", f"{_old}.default")
for _new, _old in TABLES.items():
    for _overload in ("Tensor", "Scalar"):
        _synonym(f"{_new}.{_overload}", f"{_old}.{_overload}")
for _overload in ("Tensor_mode", "Scalar_mode"):
    _synonym(f"divide.{_overload}", f"div.{_overload}")
_synonym("max.other", "maximum.default")
_synonym("min.other", "minimum.default")
_synonym("special_logsumexp.default", "logsumexp.default")
_synonym("clip.default", "clamp.default")
_synonym("clip.Tensor", "clamp.Tensor")


# ------------------------------------------------------------------------------------------------------------- elementwise


def in_float(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that computes float16 and bfloat16 in float32, and rounds once."""

    def apply(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if x.dtype not in (torch_float16, torch_bfloat16):
            return function(x, *args, **kwargs)
        wide = (v.to(torch_float32) if isinstance(v, Tensor) and v.dtype == x.dtype else v for v in args)
        return function(x.to(torch_float32), *wide, **kwargs).to(x.dtype)

    return apply


def elementwise(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda function: decomposition(*names)(in_float(function))


def scalar(value: Any, like: Tensor) -> Any:
    """Returns a tensor of a number, with the dtype of another tensor."""
    return aten.full.default([], value, dtype=like.dtype)


elementwise("square")(lambda x: aten.pow.Tensor_Scalar(x, 2) if x.dtype == torch_bool else x * x)
elementwise("silu")(lambda x: x * x.sigmoid())
elementwise("hardswish")(lambda x: x * (x + 3).clamp(0, 6) / 6)
elementwise("hardsigmoid")(lambda x: (x + 3).clamp(0, 6) / 6)
elementwise("log_sigmoid")(lambda x: x.clamp(max=0) - x.abs().neg().exp().log1p())
elementwise("mish")(lambda x: x * aten.softplus.default(x).tanh())
elementwise("frac")(lambda x: x - x.trunc())
elementwise("deg2rad")(lambda x: x * (math.pi / 180))
elementwise("rad2deg")(lambda x: x * (180 / math.pi))
decomposition("relu6")(lambda x: aten.hardtanh.default(x, 0, 6))
decomposition("selu")(lambda x: aten.elu.default(x, 1.6732632423543772, 1.0507009873554805))
decomposition("celu")(lambda x, alpha=1.0: aten.elu.default(x, alpha, 1, 1.0 / alpha))
decomposition("rsub.Tensor")(lambda x, other, alpha=1: aten.sub.Tensor(other, x, alpha=alpha))
decomposition("rsub.Scalar")(lambda x, other, alpha=1: (x.neg() if alpha == 1 else x * -alpha) + other)
decomposition("floor_divide", "floor_divide.Scalar")(lambda x, other: aten.div.Tensor_mode(x, other, rounding_mode="floor"))
decomposition("clamp_min")(lambda x, least: x.clamp(least, None))
decomposition("clamp_max")(lambda x, most: x.clamp(None, most))
decomposition("clamp_min.Tensor")(lambda x, least: aten.maximum.default(x, least))
decomposition("clamp_max.Tensor")(lambda x, most: aten.minimum.default(x, most))
decomposition("isfinite")(
    lambda x: (x.abs() != math.inf) & (x == x) if x.is_floating_point() else aten.full_like.default(x, True, dtype=torch_bool)
)
decomposition("isposinf")(lambda x: x == math.inf if x.is_floating_point() else aten.full_like.default(x, False, dtype=torch_bool))
decomposition("isneginf")(lambda x: x == -math.inf if x.is_floating_point() else aten.full_like.default(x, False, dtype=torch_bool))
decomposition("sgn")(lambda x: NotImplemented if x.is_complex() else x.sign())
decomposition("zero")(lambda x: aten.full_like.default(x, 0))
decomposition("fill.Tensor")(lambda x, value: value.to(x.dtype).expand(x.shape).clone())


@elementwise("softplus")
def softplus(x: Tensor, beta: Any = 1, threshold: Any = 20) -> Any:
    scaled = x if beta == 1 else x * beta
    made = scaled.exp().log1p()
    return aten.where.self(scaled > threshold, x, made if beta == 1 else made / beta)


@decomposition("threshold")
def threshold(x: Tensor, least: Any, value: Any) -> Any:
    return aten.where.self(x <= least, scalar(value, x), x)


@decomposition("hardshrink")
def hardshrink(x: Tensor, lambd: Any = 0.5) -> Any:
    return aten.where.self(x.abs() <= lambd, scalar(0, x), x)


@decomposition("softshrink")
def softshrink(x: Tensor, lambd: Any = 0.5) -> Any:
    return aten.where.self(x.abs() > lambd, x - x.sign() * lambd, x * 0)


@decomposition("prelu")
def prelu(x: Tensor, weight: Tensor) -> Any:
    if x.dim() > 1 and weight.dim() == 1:
        weight = weight.view([1, -1, *[1] * (x.dim() - 2)])
    return aten.where.self(x > 0, x, weight * x)


decomposition("_prelu_kernel")(lambda x, weight: aten.where.self(x > 0, x, weight * x))


@decomposition("glu")
def glu(x: Tensor, dim: int = -1) -> Any:
    half = x.size(dim) // 2
    return aten.slice.Tensor(x, dim, 0, half) * aten.slice.Tensor(x, dim, half, 2 * half).sigmoid()


@elementwise("addcmul")
def addcmul(x: Tensor, first: Tensor, second: Tensor, value: Any = 1) -> Any:
    product = first * second
    return x + (product if value == 1 else product * value)


@elementwise("addcdiv")
def addcdiv(x: Tensor, first: Tensor, second: Tensor, value: Any = 1) -> Any:
    quotient = first / second
    return x + (quotient if value == 1 else quotient * value)


@decomposition("lerp.Scalar", "lerp.Tensor")
def lerp(x: Tensor, end: Tensor, weight: Any) -> Any:
    if not isinstance(weight, Tensor):
        return x + (end - x) * weight if abs(weight) < 0.5 else end - (end - x) * (1 - weight)
    return aten.where.self(weight.abs() < 0.5, x + (end - x) * weight, end - (end - x) * (1 - weight))


@decomposition("xlogy.Tensor", "special_xlogy.default")
def xlogy(x: Tensor, other: Tensor) -> Any:
    product = x * other.log()
    return aten.where.self(other != other, other + x * 0, aten.where.self(x == 0, scalar(0, product), product))


@elementwise("logaddexp")
def logaddexp(x: Tensor, other: Tensor) -> Any:
    if x.is_complex() or other.is_complex():
        return NotImplemented
    return aten.where.self(x == other, x + math.log(2), aten.maximum.default(x, other) + (x - other).abs().neg().exp().log1p())


@elementwise("logit", "special_logit")
def logit(x: Tensor, eps: float | None = None) -> Any:
    x = x if x.is_floating_point() else x.to(default_dtype())
    x = x if eps is None else x.clamp(eps, 1 - eps)
    return (x / (1 - x)).log()


@elementwise("sinc", "special_sinc")
def sinc(x: Tensor) -> Any:
    turned = x * math.pi
    return aten.where.self(x == 0, scalar(1, turned), turned.sin() / turned)


@decomposition("heaviside")
def heaviside(x: Tensor, values: Tensor) -> Any:
    return aten.where.self(x == 0, values, (x > 0).to(x.dtype))


@decomposition("nan_to_num")
def nan_to_num(x: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    if not x.is_floating_point():
        return NotImplemented if x.is_complex() else x.clone()
    made = aten.where.self(x != x, scalar(nan or 0.0, x), x)
    made = aten.where.self(x == math.inf, scalar(finfo(x.dtype).max if posinf is None else posinf, x), made)
    return aten.where.self(x == -math.inf, scalar(finfo(x.dtype).min if neginf is None else neginf, x), made)


@decomposition("isclose")
def isclose(x: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    made = x == other
    if equal_nan:
        made = made | ((x != x) & (other != other))
    if not x.is_floating_point():
        return NotImplemented
    return made | (((x - other).abs() <= other.abs() * rtol + atol) & (other.abs() != math.inf))


@decomposition("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(x: Tensor, mask: Tensor, value: Any) -> Any:
    return aten.where.self(mask, value.to(x.dtype) if isinstance(value, Tensor) else scalar(value, x), x)


@decomposition("where.Scalar", "where.ScalarOther", "where.ScalarSelf")
def where(condition: Tensor, x: Any, other: Any) -> Any:
    return apply_rule("where", condition, x, other)


# ------------------------------------------------------------------------------------------------------ copies and creation


@decomposition("to.dtype", "to.device", "to.dtype_layout")
def to(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    kwargs = {k: v for k, v in kwargs.items() if k in ("dtype", "copy", "memory_format")}
    dtype = next((v for v in args if type(v) is type(x.dtype)), kwargs.get("dtype"))
    kept = {} if dtype in (None, x.dtype) else {"dtype": dtype}
    copies = kwargs.get("copy") or (args[args.index(dtype) + 2 : args.index(dtype) + 3] == (True,) if dtype in args else False)
    return aten._to_copy.default(x, **kept) if kept or copies else x


decomposition("to.other", "type_as")(
    lambda x, other, *_, **__: x if x.dtype == other.dtype else aten._to_copy.default(x, dtype=other.dtype)
)
decomposition("detach", "lift_fresh", "lift", "resolve_conj", "resolve_neg")(lambda x: NotImplemented if x.is_complex() else x)
decomposition("lift_fresh_copy", "alias_copy")(lambda x: x.clone())
use_rule("contiguous.default", "contiguous")
decomposition("zeros")(lambda size, **kwargs: aten.full.default(size, 0, **of_default(kwargs)))
decomposition("ones")(lambda size, **kwargs: aten.full.default(size, 1, **of_default(kwargs)))
decomposition("zeros_like")(lambda x, **kwargs: aten.full_like.default(x, 0, **kwargs))
decomposition("ones_like")(lambda x, **kwargs: aten.full_like.default(x, 1, **kwargs))
decomposition("new_zeros")(lambda x, size, **kwargs: aten.full.default(size, 0, **{"dtype": x.dtype, **given(kwargs)}))
decomposition("new_ones")(lambda x, size, **kwargs: aten.full.default(size, 1, **{"dtype": x.dtype, **given(kwargs)}))
decomposition("new_full")(lambda x, size, value, **kwargs: aten.full.default(size, value, **{"dtype": x.dtype, **given(kwargs)}))
decomposition("new_empty")(lambda x, size, **kwargs: aten.empty.memory_format(size, **{"dtype": x.dtype, **given(kwargs)}))
decomposition("empty_like")(lambda x, **kwargs: aten.empty.memory_format(list(x.shape), **{"dtype": x.dtype, **given(kwargs)}))
decomposition("arange")(lambda end, **kwargs: aten.arange.start_step(0, end, 1, **kwargs))
decomposition("arange.start")(lambda start, end, **kwargs: aten.arange.start_step(start, end, 1, **kwargs))


def given(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in kwargs.items() if v is not None}


def of_default(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of a tensor, with the default dtype: without one, that of full would be of its number."""
    return {**kwargs, "dtype": kwargs.get("dtype") or default_dtype()}


@decomposition("eye", "eye.m")
def eye(n: int, m: int | None = None, *, dtype: Any = None, **_: Any) -> Any:
    rows = arange(n, dtype=torch_int64).unsqueeze(1)
    equal = rows == arange(n if m is None else m, dtype=torch_int64)
    return equal.to(dtype or default_dtype())


def _triangle(name: str) -> None:
    def apply(x: Tensor, diagonal: int = 0) -> Any:
        distance = arange(x.size(-1), dtype=torch_int64) - arange(x.size(-2), dtype=torch_int64).unsqueeze(1)
        return aten.where.self(distance <= diagonal if name == "tril" else distance >= diagonal, x, scalar(0, x))

    decomposition(name)(apply)


_triangle("tril")
_triangle("triu")


@decomposition("linspace")
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, **_: Any) -> Any:
    if dtype is not None and not dtype.is_floating_point:
        return NotImplemented
    at = arange(steps, dtype=dtype or default_dtype())
    step = (end - start) / max(steps - 1, 1)
    return aten.where.self(at < max(steps // 2, 1), at * step + start, (at.neg() + (steps - 1)) * -step + end)


@decomposition("hann_window", "hann_window.periodic")
def hann_window(length: int, periodic: bool = True, *, dtype: Any = None, **_: Any) -> Any:
    if length < 2:
        return aten.full.default([length], 1, dtype=dtype or default_dtype())
    turned = arange(length, dtype=dtype or default_dtype()) * (2 * math.pi / (length if periodic else length - 1))
    return turned.cos() * -0.5 + 0.5


@decomposition("float_power.Tensor_Tensor", "float_power.Tensor_Scalar")
def float_power(x: Tensor, exponent: Any) -> Any:
    wide = [v.to(torch_float64) if isinstance(v, Tensor) else v for v in (x, exponent)]
    return NotImplemented if x.is_complex() else wide[0].pow(wide[1])


@decomposition("one_hot")
def one_hot(x: Tensor, num_classes: int = -1) -> Any:
    if num_classes < 0:
        return NotImplemented
    return (x.unsqueeze(-1) == arange(num_classes, dtype=torch_int64)).to(torch_int64)


# ------------------------------------------------------------------------------------------------------- views and layouts

for _overload, _rule in [("reshape", "reshape"), ("flatten.using_ints", "flatten"), ("view_as", "view_as"), ("expand_as", "expand_as")]:
    use_rule(_overload if "." in _overload else f"{_overload}.default", _rule)
use_rule("reshape_as.default", "reshape_as")
use_rule("unflatten.int", "unflatten")
use_rule("meshgrid.default", "meshgrid")
decomposition("meshgrid.indexing")(lambda tensors, *, indexing: apply_rule("meshgrid", tensors, indexing=indexing))
use_rule("broadcast_tensors.default", "broadcast_tensors")
decomposition("broadcast_to")(lambda x, size: aten.expand.default(x, list(size)))
decomposition("_unsafe_view", "_reshape_alias")(lambda x, size, *_: aten.view.default(x, list(size)))
decomposition("ravel")(lambda x: apply_rule("flatten", x))
decomposition("t")(lambda x: x if x.dim() < 2 else aten.permute.default(x, [1, 0]))
decomposition("numpy_T")(lambda x: aten.permute.default(x, list(range(x.dim()))[::-1]))
decomposition("mT")(lambda x: aten.transpose.int(x, -2, -1))
decomposition("movedim.int", "moveaxis.int")(lambda x, source, destination: movedim(x, [source], [destination]))
decomposition("squeeze")(lambda x: aten.squeeze.dims(x, list(range(x.dim()))))
decomposition("fliplr")(lambda x: aten.flip.default(x, [1]))
decomposition("flipud")(lambda x: aten.flip.default(x, [0]))


@decomposition("transpose.int", "swapaxes", "swapdims")
def transpose(x: Tensor, first: int, second: int) -> Any:
    if x.dim() == 0:
        return x
    order = list(range(x.dim()))
    order[first], order[second] = order[second], order[first]
    return aten.permute.default(x, order)


@decomposition("movedim.intlist", "moveaxis.intlist")
def movedim(x: Tensor, source: Sequence[int], destination: Sequence[int]) -> Any:
    n = x.dim()
    moved = dict(zip((d % n for d in destination), (s % n for s in source), strict=True))
    rest = iter([d for d in range(n) if d not in moved.values()])
    return aten.permute.default(x, [moved[d] if d in moved else next(rest) for d in range(n)])


@decomposition("narrow")
def narrow(x: Tensor, dim: int, start: int, length: int) -> Any:
    start = start if start >= 0 else start + x.size(dim)
    return aten.slice.Tensor(x, dim, start, start + length)


@decomposition("split.Tensor", "unsafe_split.Tensor", "split.sizes", "unsafe_split_with_sizes")
def split(x: Tensor, size: Any, dim: int = 0) -> Any:
    if isinstance(size, int):
        total = x.size(dim)
        size = [min(size, total - at) for at in range(0, total, size)] or [0]
    return aten.split_with_sizes.default(x, list(size), dim)


@decomposition("chunk", "unsafe_chunk")
def chunk(x: Tensor, chunks: int, dim: int = 0) -> Any:
    if x.size(dim) == 0:
        return split(x, [0] * chunks, dim)
    return split(x, max(-(-x.size(dim) // chunks), 1), dim)


@decomposition("unbind.int")
def unbind(x: Tensor, dim: int = 0) -> Any:
    return [aten.select.int(x, dim, i) for i in range(x.size(dim))]


@decomposition("stack")
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Any:
    return aten.cat.default([aten.unsqueeze.default(x, dim) for x in tensors], dim)


decomposition("hstack")(lambda tensors: aten.cat.default(list(map(at_least_1d, tensors)), 0 if tensors[0].dim() <= 1 else 1))
decomposition("vstack")(lambda tensors: aten.cat.default([x if x.dim() > 1 else x.view([1, -1]) for x in tensors], 0))


def at_least_1d(x: Tensor) -> Tensor:
    return x if x.dim() else x.view([1])


@decomposition("tile")
def tile(x: Tensor, dims: Sequence[int]) -> Any:
    return aten.repeat.default(x, [1] * (x.dim() - len(dims)) + list(dims))


@decomposition("repeat_interleave.self_int")
def repeat_interleave(x: Tensor, repeats: int, dim: int | None = None, *, output_size: int | None = None) -> Any:
    x, dim = (x.flatten(), 0) if dim is None else (x, dim % x.dim())
    sizes = list(x.shape)
    wide = aten.expand.default(x.unsqueeze(dim + 1), [*sizes[: dim + 1], repeats, *sizes[dim + 1 :]])
    return aten.view.default(wide.clone(memory_format=torch_contiguous_format), [*sizes[:dim], sizes[dim] * repeats, *sizes[dim + 1 :]])


@decomposition("roll")
def roll(x: Tensor, shifts: Any, dims: Any = ()) -> Any:
    shifts, dims = as_list(shifts, 1), as_list(dims, 1)
    if not dims:
        return aten.view.default(roll(x.flatten(), shifts, [0]), list(x.shape))
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.size(dim)
        index = aten.remainder.Scalar(arange(size, dtype=torch_int64) - shift, size)
        x = aten.index_select.default(x, dim, index)
    return x


@decomposition("diag_embed")
def diag_embed(x: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    n = x.dim() + 1
    if (dim1 % n, dim2 % n) != (n - 2, n - 1):
        return NotImplemented
    size = x.size(-1) + abs(offset)
    columns = arange(size, dtype=torch_int64)
    row = aten.constant_pad_nd.default(x, [offset, 0] if offset >= 0 else [0, -offset])
    return aten.where.self(columns - offset == columns.unsqueeze(1), row.unsqueeze(-2), scalar(0, x))


@decomposition("diag")
def diag(x: Tensor, diagonal: int = 0) -> Any:
    return aten.diagonal.default(x, diagonal).clone() if x.dim() == 2 else diag_embed(x, diagonal)


def _copy(overload: str) -> None:
    name, _, which = overload.partition("_copy.")
    TABLE[overload] = lambda *args, **kwargs: find(f"{name}.{which}")(*args, **kwargs).clone()


for _name in ("diagonal", "expand", "permute", "squeeze", "t", "unfold", "unsqueeze", "view"):
    _copy(f"{_name}_copy.default")
for _overload in ("select_copy.int", "slice_copy.Tensor", "squeeze_copy.dim", "squeeze_copy.dims", "transpose_copy.int"):
    _copy(_overload)


# -------------------------------------------------------------------------------------------------------- indices


def _in_one_dimension(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that computes 0-dim tensors as 1-D ones of one element."""

    def apply(x: Tensor, dim: int, index: Tensor, *args: Any, **kwargs: Any) -> Any:
        if x.dim():
            return function(x, dim, index, *args, **kwargs)
        values = (v.view([1]) if isinstance(v, Tensor) and not v.dim() else v for v in (index, *args))
        return function(x.view([1]), 0, *values, **kwargs).view([])

    return apply


@decomposition("index_add")
@_in_one_dimension
def index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Any:
    source = source if alpha == 1 else source * alpha
    return aten.index_put.default(x, [None] * (dim % max(x.dim(), 1)) + [index], source, True)


@decomposition("index_copy")
@_in_one_dimension
def index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Any:
    return aten.index_put.default(x, [None] * (dim % max(x.dim(), 1)) + [index], source)


@decomposition("index_fill.int_Scalar", "index_fill.int_Tensor")
@_in_one_dimension
def index_fill(x: Tensor, dim: int, index: Tensor, value: Any) -> Any:
    value = value.to(x.dtype) if isinstance(value, Tensor) else scalar(value, x)
    return aten.index_put.default(x, [None] * (dim % max(x.dim(), 1)) + [index], value)


decomposition("take")(lambda x, index: aten.index.Tensor(x.flatten(), [index]))
decomposition("_unsafe_index.Tensor")(lambda x, indices: aten.index.Tensor(x, indices))
decomposition("_unsafe_index_put")(lambda x, indices, values, accumulate=False: aten.index_put.default(x, indices, values, accumulate))


@decomposition("take_along_dim")
def take_along_dim(x: Tensor, indices: Tensor, dim: int | None = None) -> Any:
    size = x.numel() if dim is None else x.size(dim)
    indices = aten.where.self(indices < 0, indices + size, indices)
    if dim is None:
        return aten.gather.default(x.flatten(), 0, indices.flatten())
    from .. import broadcast_shapes

    dim %= x.dim()
    sizes = list(broadcast_shapes(x.shape[:dim] + (1,) + x.shape[dim + 1 :], indices.shape[:dim] + (1,) + indices.shape[dim + 1 :]))
    x = aten.expand.default(x, [*sizes[:dim], x.size(dim), *sizes[dim + 1 :]])
    return aten.gather.default(x, dim, aten.expand.default(indices, [*sizes[:dim], indices.size(dim), *sizes[dim + 1 :]]))


# --------------------------------------------------------------------------------------------------------------- reductions

decomposition("sum")(lambda x, dtype=None: aten.sum.dim_IntList(x, [], **({} if dtype is None else {"dtype": dtype})))
decomposition("all")(lambda x: aten.any.default(aten.logical_not.default(x)).logical_not())
decomposition("all.dim")(lambda x, dim, keepdim=False: aten.any.dim(aten.logical_not.default(x), dim, keepdim).logical_not())
decomposition("all.dims")(lambda x, dim=None, keepdim=False: aten.any.dims(aten.logical_not.default(x), dim, keepdim).logical_not())
decomposition("trace")(lambda x: aten.sum.dim_IntList(aten.diagonal.default(x), [0]))
decomposition("argsort")(lambda x, dim=-1, descending=False: aten.sort.default(x, dim, descending)[1])
decomposition("argsort.stable")(
    lambda x, *, stable, dim=-1, descending=False: aten.sort.stable(x, stable=stable, dim=dim, descending=descending)[1]
)
decomposition("msort")(lambda x: aten.sort.default(x, 0)[0])
decomposition("count_nonzero")(lambda x, dim=None: (x != 0).sum() if dim is None else (x != 0).sum(dim))
decomposition("count_nonzero.dim_IntList")(lambda x, dim: (x != 0).sum(dim))
decomposition("nansum")(lambda x, dim=None, keepdim=False, dtype=None: _nansum(x, dim, keepdim, dtype))


def _nansum(x: Tensor, dim: Any, keepdim: bool, dtype: Any) -> Any:
    made = aten.where.self(x != x, scalar(0, x), x)
    return aten.sum.dim_IntList(made, [] if dim is None else dim, keepdim, **({} if dtype is None else {"dtype": dtype}))


@decomposition("aminmax")
def aminmax(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    dims = [] if dim is None else [dim]
    return aten.amin.default(x, dims, keepdim), aten.amax.default(x, dims, keepdim)


@decomposition("logsumexp")
def logsumexp(x: Tensor, dim: Any, keepdim: bool = False) -> Any:
    if x.is_complex():
        return NotImplemented
    x = x if x.is_floating_point() else x.to(default_dtype())
    dims = as_list(dim, 1)
    if x.numel() == 0:
        return x.exp().sum(dims, keepdim).log()
    most = aten.amax.default(x, dims, True)
    most = aten.where.self(most.abs() == math.inf, scalar(0, most), most)
    made = (x - most).exp().sum(dims, True).log() + most
    return made if keepdim or not x.dim() else aten.squeeze.dims(made, [d % x.dim() for d in dims])


def _spread(name: str) -> None:
    def spread(x: Tensor, dim: Any, correction: Any, keepdim: bool) -> Any:
        made = aten.var.correction(x, dim, correction=correction, keepdim=keepdim)
        return made.sqrt() if name.startswith("std") else made

    def with_mean(x: Tensor, made: Any, dim: Any, keepdim: bool) -> Any:
        return (made, aten.mean.dim(x, [] if dim is None else dim, keepdim)) if name.endswith("mean") else made

    def default(x: Tensor, unbiased: bool = True) -> Any:
        return with_mean(x, spread(x, None, int(unbiased), False), None, False)

    def of_dim(x: Tensor, dim: Any, unbiased: bool = True, keepdim: bool = False) -> Any:
        return with_mean(x, spread(x, dim, int(unbiased), keepdim), dim, keepdim)

    def corrected(x: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        return with_mean(x, spread(x, dim, 1 if correction is None else correction, keepdim), dim, keepdim)

    TABLE[f"{name}.default"], TABLE[f"{name}.dim"] = default, of_dim
    if name != "var":
        TABLE[f"{name}.correction"] = corrected
    else:
        del TABLE["var.dim"]


for _name in ("std", "var", "std_mean", "var_mean"):
    _spread(_name)


@decomposition("linalg_vector_norm")
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if x.is_complex():
        return NotImplemented
    x = x if dtype is None else x.to(dtype)
    dims = [] if dim is None else as_list(dim, 1)
    if ord in (math.inf, -math.inf):
        return (aten.amax if ord > 0 else aten.amin).default(x.abs(), dims, keepdim)
    if ord == 0:
        return aten.sum.dim_IntList((x != 0).to(x.dtype), dims, keepdim)
    if ord == 1:
        return aten.sum.dim_IntList(x.abs(), dims, keepdim)
    if ord == 2:
        return aten.sum.dim_IntList(x * x, dims, keepdim).sqrt()
    return aten.sum.dim_IntList(x.abs().pow(ord), dims, keepdim).pow(1.0 / ord)


decomposition("norm.Scalar")(lambda x, p=2: vector_norm(x, p))
decomposition("norm.ScalarOpt_dim")(lambda x, p, dim, keepdim=False: vector_norm(x, 2 if p is None else p, dim, keepdim))
decomposition("norm.ScalarOpt_dim_dtype")(
    lambda x, p, dim, keepdim, *, dtype: vector_norm(x, 2 if p is None else p, dim, keepdim, dtype=dtype)
)
decomposition("frobenius_norm.dim")(lambda x, dim, keepdim=False: vector_norm(x, 2, dim, keepdim))


@decomposition("linalg_norm")
def linalg_norm(x: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    is_matrix = ord is not None and (x.dim() if dim is None else len(dim)) == 2
    return NotImplemented if is_matrix else vector_norm(x, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


# ------------------------------------------------------------------------------------------------------------------ products

use_rule("matmul.default", "matmul")
use_rule("linalg_matmul.default", "matmul")
use_rule("linear.default", "linear")
use_rule("outer.default", "outer")
decomposition("dot", "vdot")(lambda x, other: NotImplemented if x.is_complex() else (x * other).sum(dtype=x.dtype))
decomposition("mv")(lambda x, vec: aten.squeeze.dim(aten.mm.default(x, vec.unsqueeze(1)), 1))
decomposition("inner")(lambda x, other: NotImplemented if not x.dim() or not other.dim() else aten.tensordot.default(x, other, [-1], [-1]))


def _add_product(x: Tensor, product: Tensor, beta: Any, alpha: Any) -> Any:
    """Returns beta * x + alpha * product. For integers the factors are integers, too."""
    if not (product.is_floating_point() or product.is_complex()):
        beta, alpha = int(beta), int(alpha)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else (x if beta == 1 else x * beta) + product


@decomposition("baddbmm")
def baddbmm(x: Tensor, first: Tensor, second: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _add_product(x, aten.bmm.default(first, second), beta, alpha)


@decomposition("addmv")
def addmv(x: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _add_product(x, aten.mv.default(mat, vec), beta, alpha)


@decomposition("addr")
def addr(x: Tensor, first: Tensor, second: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _add_product(x, first.unsqueeze(1) * second, beta, alpha)


@decomposition("tensordot")
def tensordot(x: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Any:
    first, second = [d % x.dim() for d in dims_self], [d % other.dim() for d in dims_other]
    rest = [d for d in range(x.dim()) if d not in first], [d for d in range(other.dim()) if d not in second]
    sizes = [x.size(d) for d in rest[0]], [other.size(d) for d in rest[1]]
    width = math.prod(x.size(d) for d in first)
    left = aten.reshape.default(aten.permute.default(x, rest[0] + first), [math.prod(sizes[0]), width])
    right = aten.reshape.default(aten.permute.default(other, second + rest[1]), [width, math.prod(sizes[1])])
    return aten.view.default(aten.mm.default(left, right), sizes[0] + sizes[1])


@decomposition("einsum")
def einsum(equation: str, tensors: Sequence[Tensor], *, path: Any = None) -> Any:
    """Contracts operands from left to right. Labels that an operand has twice, and `...`, stay whole."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    labels = inputs.split(",")
    if "." in equation or any(len(set(x)) != len(x) for x in labels) or len(labels) != len(tensors):
        return NotImplemented
    if not arrow:
        output = "".join(sorted(x for x in set(inputs) - {","} if inputs.count(x) == 1))
    known, made = labels[0], tensors[0]
    for i, (label, tensor) in enumerate(zip(labels[1:], tensors[1:], strict=True), 1):
        needed = set(output).union(*labels[i + 1 :])
        known, made = contract(known, made, label, tensor, needed)
    summed = [d for d, x in enumerate(known) if x not in output]
    if summed:
        made, known = aten.sum.dim_IntList(made, summed), "".join(x for x in known if x in output)
    return made if known == output else aten.permute.default(made, [known.index(x) for x in output])


def contract(one: str, first: Tensor, two: str, second: Tensor, needed: set[str]) -> tuple[str, Tensor]:
    """Returns the labels and the product of two operands, summed over the labels that nothing needs."""
    for label, other in ((one, two), (two, one)):
        alone = [d for d, x in enumerate(label) if x not in other and x not in needed]
        if alone:
            kept = "".join(x for x in label if x in other or x in needed)
            if label is one:
                first, one = aten.sum.dim_IntList(first, alone), kept
            else:
                second, two = aten.sum.dim_IntList(second, alone), kept
    batch = [x for x in one if x in two and x in needed]
    inner = [x for x in one if x in two and x not in needed]
    left, right = [x for x in one if x not in two], [x for x in two if x not in one]
    size = {**dict(zip(two, second.shape, strict=True)), **dict(zip(one, first.shape, strict=True))}
    shape = [[size[x] for x in part] for part in (batch, left, inner, right)]
    count, rows, width, columns = map(math.prod, shape)
    a = aten.permute.default(first, [one.index(x) for x in [*batch, *left, *inner]])
    b = aten.permute.default(second, [two.index(x) for x in [*batch, *inner, *right]])
    a, b = aten.reshape.default(a, [count, rows, width]), aten.reshape.default(b, [count, width, columns])
    made = aten.view.default(aten.bmm.default(a, b), [*shape[0], *shape[1], *shape[3]])
    return "".join([*batch, *left, *right]), made
