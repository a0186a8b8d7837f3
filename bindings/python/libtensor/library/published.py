"""Operators of Python in the library's table: tensor_call, other languages and exported programs of the process call them by name."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

from .._base.errors import failure, guarded
from .._base.library import SUBINTERPRETER, bind, called_back
from .._core.values import Value, borrow_value, give_value
from .._gradients.callbacks import DELETER, address, handed, keep, kept

__all__ = ["publish", "withdraw"]


class Options(ctypes.Structure):
    """tensor_operator_options."""

    _fields_ = [
        ("size", c_size_t),
        ("meta", c_void_p),
        ("backward", c_void_p),
        ("vmap", c_void_p),
        ("unsaved_arguments", c_uint64),
        ("unsaved_results", c_uint64),
        ("composite", c_bool),
    ]


c_define = bind("tensor_define_operator", c_char_p, c_void_p, POINTER(Options), c_void_p, c_void_p, POINTER(c_int64))
c_remove = bind("tensor_remove_operator", c_int64)

# Python's functions have rules for autograd and transforms, so that they are called with the tensors of the caller.
OPTIONS = Options(size=ctypes.sizeof(Options), composite=True)


@called_back(c_int32, c_void_p, POINTER(Value), c_int32, POINTER(Value), c_int32)
@guarded
def call(context: int, arguments: Any, count: int, results: Any, result_count: int) -> None:
    made = kept[context]([borrow_value(arguments[i]) for i in range(count)])
    for i, value in enumerate(made if result_count > 1 else (made,) * result_count):
        give_value(results[i], value, handed)


CALL = address(call)


def publish(schema: str, function: Callable[[list[Any]], Any]) -> int | None:
    """Defines an operator of the library that calls a function with a value for each argument. Returns the id of the definition; None for
    schemas that the library does not support.

    Raises RuntimeError if another language has defined an operator of the name."""
    if SUBINTERPRETER:
        return None
    context, made = keep(function), c_int64()
    status = c_define(schema.encode(), CALL, byref(OPTIONS), context, DELETER, byref(made))
    if not status:
        return made.value
    kept.pop(context, None)
    error = failure(status)
    if "is already defined" in str(error):
        raise RuntimeError(str(error))
    return None


def withdraw(definition: int | None) -> None:
    """Removes an operator from the library's table."""
    if definition is not None:
        c_remove(definition)
