"""Custom operators that Python calls, as events of the observer (tensor_set_observer)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import c_bool, c_char_p, c_int32, c_int64, c_void_p
from typing import Any

from .._base.errors import CALLBACK
from .._base.library import getter
from .._core.tensor import Tensor

__all__ = ["call_observed", "is_observed"]

is_observed = getter("tensor_is_observed", c_bool)
c_begin = getter("tensor_begin_observed", c_void_p, c_char_p, c_void_p, c_int64)
c_end = getter("tensor_end_observed", None, c_void_p, c_int32, c_void_p, c_int64)


def call_observed(name: bytes, function: Callable[[list[Any]], Any], values: list[Any]) -> Any:
    """Returns function(values), the call of an operator whose beginning and end the observer receives."""
    call, made = c_begin(name, *_handles(values)), None
    status = CALLBACK
    try:
        made = function(values)
        status = 0
        return made
    finally:
        c_end(call, status, *_handles([made]))


def _handles(values: Sequence[Any]) -> tuple[Any, int]:
    """Returns the handles of the tensors among values and in their lists, and their number."""
    items = [item for value in values for item in (value if isinstance(value, list | tuple) else (value,))]
    handles = [item._h for item in items if isinstance(item, Tensor)]
    return (c_void_p * len(handles))(*handles), len(handles)
