"""Calls of functions as calls of ATen's overloads, for modes that receive operators (TorchDispatchMode).

An overload that decomposes into others in PyTorch below autograd (a CompositeImplicit one, such as linear) is a rule of decompositions.py.
Every other function is the overload of its name that its arguments fit."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from .. import ops
from .._base.overrides import state as _state
from .._core.tensor import Tensor
from . import calls, decompositions_nn
from .aten import AtenOverload
from .operators import OpOverload
from .schemas import Argument

__all__ = ["Emit", "list_overloads", "lower"]

RULES = decompositions_nn.RULES  # with those of decompositions.py

Emit = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

# Calls that are no operators: they read or change a tensor's autograd state or metadata, and run as they are.
PLAIN = frozenset(
    [
        "requires_grad",
        "set_requires_grad",
        "requires_grad_",
        "grad",
        "grad_fn",
        "set_grad",
        "is_leaf",
        "retain_grad",
        "retains_grad",
        "register_hook",
        "name",
        "names",
        "has_names",
        "from_data",
        "output_nr",
        "_version",
        "data_ptr",
        "untyped_storage",
        "storage",
        "__len__",
        "__format__",
        "__repr__",
        "__dir__",
        "__bool__",
        "__index__",
        "__int__",
        "__float__",
        "tolist",
        "numpy",
        "item",
        "is_contiguous",
        "size",
        "stride",
        "dim",
        "numel",
        "shape",
        "dtype",
        "device",
        "layout",
        "is_floating_point",
        "is_complex",
        "storage_offset",
        "element_size",
        "is_set_to",
        "__array__",
        "__dlpack__",
        "__deepcopy__",
        "__reduce_ex__",
        "backward",
        "autograd_grad",
        "autograd_backward",
        "is_conj",
        "is_neg",
        "is_inference",
        "is_pinned",
        "increment_version",
        "allclose",
        "equal",
        "is_same_size",
        "get_default_dtype",
        "jvp_level",
        "result_type",
    ]
)
# What users call, by the beginnings of the names of functions that are not public.
INTERNAL = {
    "transform_": "a transform of torch.func, such as vmap or grad,",
    "vmap_": "a transform of torch.func, such as vmap or grad,",
    "storage_": "an access to the storage of a tensor, as by copy.deepcopy (use clone()),",
    "untracked": "the attribute `data` of a tensor (use detach()),",
    "generator_": "an access to the state of a random number generator, as by torch.utils.checkpoint,",
    "default_generator": "an access to a random number generator, as by torch.utils.checkpoint,",
}
# Names whose overload for tensors takes numbers: Python's numbers reach PyTorch's dispatcher as tensors.
NUMBERS = frozenset(f"{name}{ending}" for name in ("add", "sub", "mul", "div", "true_divide") for ending in ("", "_"))
RENAMED = {"true_divide": "div", "true_divide_": "div_", "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor"}
RENAMED |= {"multiply": "mul", "subtract": "sub", "divide": "div", "negative": "neg", "greater": "gt", "less": "lt", "not_equal": "ne"}
RENAMED |= {
    "greater_equal": "ge",
    "less_equal": "le",
    "absolute": "abs",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "fix": "trunc",
}
RENAMED |= {"swapaxes": "transpose", "swapdims": "transpose", "arccos": "acos", "arcsin": "asin", "arctan": "atan", "arctan2": "atan2"}
RENAMED |= {"special_expit": "sigmoid", "moveaxis": "movedim"}

# Overloads that consist of others, and the rule of each. Its parameters are those of the function, which the overload may have more of.
IMPLICIT: dict[str, Callable[..., Any]] = {}
for _names, _count in [
    (
        "adaptive_avg_pool2d broadcast_tensors chunk contiguous conv1d conv2d conv3d conv_transpose1d conv1d.padding conv2d.padding "
        "conv3d.padding",
        None,
    ),
    (
        "conv_transpose2d.input conv_transpose3d.input cosine_similarity dropout expand_as feature_dropout flatten.using_ints ger linear "
        "mH mT",
        None,
    ),
    (
        "linalg_norm linalg_norm.ord_str log_softmax.int matmul max_pool2d max_pool3d meshgrid meshgrid.indexing numpy_T outer pad prelu "
        "relu6",
        None,
    ),
    (
        "reshape reshape_as rms_norm scaled_dot_product_attention selu softmax.int split.sizes std std.dim var var.dim to.device to.dtype",
        None,
    ),
    ("to.other true_divide.Tensor true_divide.Scalar divide.Tensor divide.Scalar divide.Tensor_mode divide.Scalar_mode type_as", None),
    ("subtract.Tensor subtract.Scalar unflatten.int view_as where where.Scalar where.ScalarOther where.ScalarSelf", None),
    ("layer_norm group_norm", 5),
]:
    for _name in _names.split():
        _rule = RULES.get(_name.partition(".")[0])
        if _rule is not None:
            IMPLICIT[_name if "." in _name else f"{_name}.default"] = functools.partial(
                lambda rule, count, call, *args, **kwargs: rule(call, *args[:count], **kwargs), _rule, _count
            )


def _batch_norm(
    call: Any, input: Tensor, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float, _: bool
) -> Any:
    return RULES["batch_norm"](call, input, mean, var, weight, bias, training, momentum, eps)


def _reduced(name: str) -> None:
    """Registers a loss, of which the overload has the reduction as a number."""

    def apply(call: Any, input: Tensor, target: Tensor, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(["weight", "reduction", "ignore_index"] if name != "l1_loss" else ["reduction"], args, strict=False)) | kwargs
        number = given.pop("reduction", 1)
        reduction = next(text for text, code in decompositions_nn.REDUCTIONS.items() if code == number)
        return RULES[name](call, input, target, reduction=reduction, **given)

    IMPLICIT[f"{name}.default"] = apply


IMPLICIT["batch_norm.default"] = _batch_norm
for _name in ("l1_loss", "nll_loss", "nll_loss_nd"):
    _reduced(_name)


@functools.cache
def _list_all_overloads(name: str) -> list[tuple[AtenOverload, list[Argument], list[Argument]]]:
    """Returns the overloads of an operator with their parameters, and those of them that results are written to."""
    found = []
    for info in calls.describe(f"aten::{name}"):
        overload = info.name.decode().partition(".")[2] or "default"
        op = getattr(getattr(ops.aten, name), overload, None)
        if op is not None:
            arguments = op._schema.arguments
            found.append((op, arguments, [a for a in arguments if a.is_write and a.kwarg_only]))
    return found


@functools.cache
def list_overloads(name: str) -> list[tuple[AtenOverload, list[Argument]]]:
    """Returns the overloads of an operator that return new tensors or write in place, with their parameters, in the order of trial."""
    return [(op, arguments) for op, arguments, written in _list_all_overloads(name) if not written]


def bind(arguments: Sequence[Argument], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Returns the arguments of a call in the order of a schema, without those that are its defaults; None if they do not fit."""
    positional = [a for a in arguments if not a.kwarg_only]
    values = list(args)
    lists = [i for i, a in enumerate(positional) if a.kind.replace("SymInt", "int").startswith("int[") and i < len(values)]
    if lists and len(values) >= lists[0] and all(type(v) is int for v in values[lists[0] :]) and len(positional) == lists[0] + 1:
        values[lists[0] :] = [values[lists[0] :]]  # x.view(2, 3)
    left = dict(kwargs)
    if len(values) > len(positional):
        return None
    given: list[Any] = []
    for i, a in enumerate(positional):
        value = values[i] if i < len(values) else left.pop(a.name, a.default_value if a.has_default_value() else inspect.Parameter.empty)
        if value is inspect.Parameter.empty or not _accepts(a, value):
            return None
        given.append(_convert(a, value))
    while given and positional[len(given) - 1].has_default_value() and _is_default(positional[len(given) - 1], given[-1]):
        given.pop()
    named = {}
    for a in arguments:
        if a.kwarg_only and a.name in left:
            value = left.pop(a.name)
            if not _accepts(a, value):
                return None
            if not a.has_default_value() or not _is_default(a, value):
                named[a.name] = value
        elif a.kwarg_only and not a.has_default_value():
            return None
    if any(v is not None and k not in ("out", "generator", "pin_memory", "requires_grad") for k, v in left.items()):
        return None
    return tuple(given), named


def _is_default(a: Argument, value: Any) -> bool:
    return type(value) is type(a.default_value) and not isinstance(value, Tensor) and bool(value == a.default_value)


def _accepts(a: Argument, value: Any) -> bool:
    kind = a.kind.replace("SymInt", "int").rstrip("?")
    if isinstance(value, bool) and kind in ("int", "float", "int[1]"):
        return False
    if kind == "bool" and not isinstance(value, bool | None):
        return False  # var_mean(x, 1): a dimension
    return a.accepts(value)


def _convert(a: Argument, value: Any) -> Any:
    """Returns a value as PyTorch's dispatcher passes it: a list of the right size for a number, a list for a tuple."""
    kind = a.kind.replace("SymInt", "int").rstrip("?")
    if kind.startswith(("int[", "float[")) and kind.endswith("]"):
        size = kind[kind.index("[") + 1 : -1]
        if isinstance(value, int | float):
            return [value] * int(size or 1)
        if value is not None and len(value) == 1 and size:
            return list(value) * int(size)
    return list(value) if isinstance(value, tuple) else value


def choose(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[AtenOverload, tuple[Any, ...], dict[str, Any]] | None:
    """Returns the overload of an operator that a call means, and its arguments; None without one."""
    if name in NUMBERS and len(args) > 1 and isinstance(args[1], int | float | complex):
        op = getattr(ops.aten, name).Tensor
        alpha = {k: v for k, v in kwargs.items() if k != "out" and not (k == "alpha" and v == 1)}
        return op, tuple(args[:2]), alpha
    for op, arguments in list_overloads(name):
        bound = bind(arguments, args, kwargs)
        if bound is not None:
            return op, *bound
    return None


def is_composite(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Returns whether a call means an overload that consists of others."""
    chosen = choose(name, args, kwargs)
    return chosen is not None and chosen[0].__name__ in IMPLICIT


def choose_out(
    name: str, args: Sequence[Any], kwargs: dict[str, Any], out: Any
) -> tuple[AtenOverload, tuple[Any, ...], dict[str, Any]] | None:
    """Returns the overload of an operator that writes to `out`, a tensor or several, and its arguments; None without one."""
    if name in NUMBERS and len(args) == 2 and isinstance(args[0], Tensor) and isinstance(args[1], int | float | complex):
        given = {k: v for k, v in kwargs.items() if v is not None and not (k == "alpha" and v == 1)}
        packet = getattr(ops.aten, RENAMED.get(name, name))
        return packet.out_mode if "rounding_mode" in given else packet.out, tuple(args), {**given, "out": out}
    targets = list(out) if isinstance(out, tuple | list) else [out]
    for op, arguments, written in _list_all_overloads(name):
        is_list = len(written) == 1 and written[0].kind == "Tensor[]"
        if written and (is_list or len(written) == len(targets)):
            results = [targets] if is_list else targets
            bound = bind(arguments, args, {**kwargs, **{a.name: value for a, value in zip(written, results, strict=True)}})
            if bound is not None:
                return op, *bound
    return None


def write_out(call: Callable[..., Any], made: Any, out: Any) -> Any:
    """Writes the results of operators that have no overload with `out` to it, and returns it."""
    targets, results = (list(x) if isinstance(x, tuple | list) else [x] for x in (out, made))
    if len(targets) != len(results):
        raise RuntimeError(f"out: the function returns {len(results)} tensors, but `out` has {len(targets)}")
    for target, result in zip(targets, results, strict=True):
        if target.shape != result.shape:
            call("resize_.default", target, list(result.shape))
        call("copy_.default", target, result)
    return out


def name_operator(function: Any) -> str:
    """Returns the name that the operator of a function has in ATen."""
    name = str(function.__name__).rpartition(".")[2]
    family = str(getattr(function, "__module__", "")).rpartition(".")[2]
    if family in ("linalg", "special", "fft") and (name not in RULES or (family, name) == ("linalg", "norm")):
        name = name if name.startswith(f"{family}_") else f"{family}_{name}"
    return f"_{name}" if name.startswith("foreach_") else RENAMED.get(name, name)


@contextmanager
def set_modes(modes: tuple[Any, ...]) -> Iterator[None]:
    """A context manager that replaces the active modes of the thread."""
    before, _state.modes = _state.modes, modes
    try:
        yield
    finally:
        _state.modes = before


def lower(
    function: Any, args: Sequence[Any], kwargs: dict[str, Any] | None, emit: Emit, resume: Callable[[], AbstractContextManager[Any]]
) -> Any:
    """Returns the result of a call of a function, method or operator whose operators `emit` runs: the active modes receive no other calls.
    `resume` returns a context manager inside which calls have the same receiver, for custom operators that consist of others and for
    control flow.

    Raises NotImplementedError for a function that is not known as operators of ATen."""
    kwargs, modes = dict(kwargs or {}), _state.modes
    implicit = None
    if isinstance(function, AtenOverload):
        implicit = IMPLICIT.get(function.__name__)
        name = RENAMED.get(function.op_name, function.op_name)
        if implicit is None and (name == function.op_name or name not in RULES and choose(name, args, kwargs) is None):
            return emit(function, tuple(args), kwargs)
    elif isinstance(function, OpOverload):
        values = function.schema.bind(function.name(), args, kwargs)
        if not function.is_composite(values):
            return emit(function, tuple(args), kwargs)
        with resume():
            return function.invoke(values)
    elif not hasattr(function, "__name__"):
        return emit(function, tuple(args), kwargs)
    elif hasattr(function, "takes_functions"):
        with resume():
            return function.__wrapped__(*args, **kwargs)
    else:
        name = function.__name__.rpartition(".")[2]
        if name not in PLAIN:
            name = name_operator(function)
    if name in PLAIN:
        return function(*args, **kwargs)

    def call(operator: str, *args: Any, **kwargs: Any) -> Any:
        name, _, overload = operator.partition(".")
        if overload:
            return emit_to_modes(getattr(getattr(ops.aten, name), overload), args, kwargs)
        return run(name, args, kwargs)

    def emit_to_modes(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with set_modes(modes):
            return emit(op, args, kwargs)

    def run(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        out = kwargs.pop("out", None)
        if out is not None:
            chosen = None if is_composite(name, args, kwargs) else choose_out(name, args, kwargs, out)
            return write_out(call, run(name, args, kwargs), out) if chosen is None else emit_to_modes(*chosen)
        if name in RULES:
            return RULES[name](call, *args, **kwargs)
        chosen = choose(name, args, kwargs)
        if chosen is None and not list_overloads(name):
            what = next((text for beginning, text in INTERNAL.items() if name.startswith(beginning)), name)
            raise NotImplementedError(f"{what} is not an operator of ATen, which torch.export, TorchDispatchMode and make_fx need")
        if chosen is None:
            raise NotImplementedError(
                f"{name}: the call is not known as operators of ATen (its arguments are those of no overload of ATen), "
                "which TorchDispatchMode and make_fx need"
            )
        return emit_to_modes(*chosen)

    with set_modes(()):
        return run(name, args, kwargs) if implicit is None else implicit(call, *args, **kwargs)
