"""Operators of functions, such as torch.ops.higher_order.cond, with the arguments that they have in graphs: a graph is a function of its
inputs that returns a tuple or a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import autocast, get_autocast_dtype, is_autocast_cache_enabled, ops, set_grad_enabled
from .._gen import gen_functions as _f
from .._higher_order_ops import cond, map, scan, while_loop

__all__ = ["CONTROL_FLOW", "HIGHER", "HIGHER_ORDER", "HigherOrderOperator"]

HIGHER = "torch.ops.higher_order."  # the beginning of the targets of nodes


class HigherOrderOperator:
    """The target of a node that calls graphs."""

    __module__ = "torch.ops.higher_order"

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.__name__, self._function = name, function

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        return tuple(self._function(*args))

    def __str__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<HigherOrderOperator(name={self.__name__!r})>"


def list_operands(values: Sequence[Any]) -> list[Any]:
    """Returns values, with those of lists one by one."""
    return [x for value in values for x in (value if isinstance(value, list | tuple) else [value])]


def call_cond(pred: Any, true_fn: Any, false_fn: Any, *operands: Any) -> Any:
    return cond(pred, true_fn, false_fn, tuple(list_operands(operands)))


def call_while(cond_fn: Any, body_fn: Any, carried: Sequence[Any], *rest: Any) -> Any:
    captured = list_operands(rest)
    return while_loop(lambda *xs: take_result(cond_fn(*xs, *captured)), lambda *xs: body_fn(*xs, *captured), tuple(carried))


def take_result(made: Any) -> Any:
    """Returns the result of a graph that returns one, in a tuple or not."""
    return made[0] if isinstance(made, list | tuple) else made


def call_scan(combine_fn: Any, init: Sequence[Any], xs: Sequence[Any], *rest: Any) -> Any:
    captured, count = list_operands(rest), len(init)

    def combine(carry: list[Any], slices: list[Any]) -> tuple[list[Any], list[Any]]:
        made = combine_fn(*carry, *slices, *captured)
        return list(made[:count]), list(made[count:])

    last, stacked = scan(combine, list(init), list(xs))
    return [*last, *stacked]


def call_map(function: Any, xs: Sequence[Any], *rest: Any) -> Any:
    captured = list_operands(rest)
    return map(lambda slices, *others: list(function(*slices, *others)), list(xs), *captured)


def call_associative_scan(combine_fn: Any, xs: Sequence[Any], *rest: Any) -> Any:
    """Returns the results for the slices before and each slice, one after the other: in the order that a run in C has."""
    captured, first = list_operands(rest), [x[0] for x in xs]
    if xs[0].shape[0] == 1:
        return [x.clone() for x in xs]

    def combine(left: list[Any], right: list[Any]) -> tuple[list[Any], list[Any]]:
        made = combine_fn(*left, *right, *captured)
        return list(made), [x.clone() for x in made]

    _, stacked = scan(combine, first, [x[1:] for x in xs])
    return [_f.cat([x.unsqueeze(0), others]) for x, others in zip(first, stacked, strict=True)]


def set_grad(enabled: bool, function: Callable[..., Any], *operands: Any) -> Any:
    with set_grad_enabled(enabled):
        return function(*operands)


def set_autocast(device: str, dtype: Any, enabled: bool, cache: bool | None, function: Callable[..., Any], *operands: Any) -> Any:
    dtype = get_autocast_dtype(device) if dtype is None else dtype
    cache = is_autocast_cache_enabled() if cache is None else cache
    with autocast(device, dtype=dtype, enabled=enabled, cache_enabled=cache):
        return function(*operands)


FUNCTIONS: dict[str, Callable[..., Any]] = {"cond": call_cond, "while_loop": call_while, "scan": call_scan, "map_impl": call_map}
FUNCTIONS |= {"associative_scan": call_associative_scan, "wrap_with_autocast": set_autocast}
CONTROL_FLOW = {name: HigherOrderOperator(name, function) for name, function in FUNCTIONS.items()}
HIGHER_ORDER = CONTROL_FLOW | {"wrap_with_set_grad_enabled": HigherOrderOperator("wrap_with_set_grad_enabled", set_grad)}
for _name, _operator in HIGHER_ORDER.items():
    setattr(ops.higher_order, _name, _operator)
