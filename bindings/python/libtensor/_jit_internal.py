"""Annotations and decorators of TorchScript that packages import; functions run as they are."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any, Final

from ._inert import identity
from .futures import Future

__all__ = ["Final", "Future", "boolean_dispatch", "export", "ignore", "is_final", "is_scripting", "unused"]


class BroadcastingListCls:
    """Annotates a list that may be a number: BroadcastingList2[int]."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingListCls()
BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList1

unused = export = _overload = _overload_method = _copy_to_script_wrapper = identity


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Returns the decorated function; called with options, a decorator that does."""
    return drop if callable(drop) else identity


def is_scripting() -> bool:
    """Returns False: functions run as they are."""
    return False


def is_final(annotation: Any) -> bool:
    """Returns whether an annotation is Final or Final[...]."""
    return annotation is Final or typing.get_origin(annotation) is Final


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """Returns a function that calls `if_true` or `if_false`, by the argument of the name or position."""

    def call(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    call.__name__, call.__module__, call.__doc__ = func_name, module_name, if_true.__doc__ or if_false.__doc__
    return call


def _is_exception(obj: Any) -> bool:
    return isinstance(obj, type) and issubclass(obj, Exception)


def _qualified_name(obj: Any, mangle_name: bool = True) -> str:
    return f"{obj.__module__}.{obj.__qualname__}"
