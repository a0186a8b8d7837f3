"""Calls of operators by name, through tensor_call of the library, and their schemas."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_void_p
from typing import Any

from .._base.errors import failure
from .._base.library import bind, getter
from .._core.values import Unsupported, Value, set_value, take_result

__all__ = ["Unsupported", "call_operator", "find_schema", "list_operators"]

MOST_RESULTS = 9


class Parameter(ctypes.Structure):
    """tensor_parameter_info."""

    _fields_ = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("is_keyword_only", c_bool),
        ("has_default", c_bool),
        ("default", Value),
        ("is_written", c_bool),
        ("alias_set", c_int32),
    ]


class Result(ctypes.Structure):
    """tensor_result_info."""

    _fields_ = [("type", c_char_p), ("parameter", c_int32), ("alias_set", c_int32)]


class Info(ctypes.Structure):
    """tensor_operator_info."""

    _fields_ = [
        ("name", c_char_p),
        ("schema", c_char_p),
        ("parameter_count", c_int32),
        ("parameters", POINTER(Parameter)),
        ("result_count", c_int32),
        ("results", POINTER(Result)),
    ]


c_call = bind("tensor_call", c_char_p, POINTER(Value), POINTER(c_char_p), c_int32, POINTER(Value), POINTER(c_int32), c_void_p)
c_describe = getter("tensor_describe_operator", c_int32, c_char_p, POINTER(POINTER(Info)), c_int32)
c_names = getter("tensor_operator_names", POINTER(c_char_p), POINTER(c_int32))


def call_operator(name: str, args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """Calls an operator by name, such as aten::add.Tensor, and returns its results. Operators that write to arguments have none.

    Raises Unsupported, before the call, for an argument that is neither a tensor (of no subclass), a number, a string, a dtype, a layout, a
    memory format, a device, a generator nor a list of tensors, numbers or strings."""
    count, kept = len(args) + len(kwargs), []  # type: int, list[Any]
    values, names = (Value * max(count, 1))(), (c_char_p * max(count, 1))()
    for i, given in enumerate([*args, *kwargs.values()]):
        set_value(values[i], given, kept)
    for i, keyword in enumerate(kwargs, len(args)):
        names[i] = keyword.encode()
    results, result_count = (Value * MOST_RESULTS)(), c_int32(MOST_RESULTS)
    status = c_call(name.encode(), values, names, count, results, byref(result_count), None)
    if status:
        raise failure(status)
    made = []
    for i in range(result_count.value):
        made.append(take_result(results[i]))
    return made


def describe(name: str) -> list[Info]:
    """Returns the descriptions of the overloads that a name denotes."""
    infos = (POINTER(Info) * 64)()
    return [infos[i].contents for i in range(min(c_describe(name.encode(), infos, 64), 64))]


def find_schema(name: str) -> str | None:
    """Returns the schema of an operator with its overload; None if there is none."""
    infos = describe(name)
    return infos[0].schema.decode() if len(infos) == 1 else None


def list_operators() -> list[str]:
    """Returns the names of all operators that can be called, sorted."""
    count = c_int32()
    names = c_names(byref(count))
    return [names[i].decode() for i in range(count.value)]
