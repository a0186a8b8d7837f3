"""Calls of operators by name, through tensor_call of the library, and their schemas."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p
from typing import Any

from .._base import dtypes
from .._base.device import device as _device
from .._base.errors import failure
from .._base.library import Device, Scalar, bind, getter
from .._core.owner import Generator
from .._core.results import wrap
from .._core.tensor import Tensor

__all__ = ["Unsupported", "call_operator", "find_schema", "list_operators"]

NONE, TENSOR, INT, FLOAT, BOOL, COMPLEX, STRING, DTYPE, LAYOUT, FORMAT, DEVICE, GENERATOR = range(12)
TENSORS, INTS, FLOATS, BOOLS, SCALARS, UINT, STRINGS = range(12, 19)
MOST_RESULTS = 9


class Content(ctypes.Union):
    _fields_ = [("p", c_void_p), ("i", c_int64), ("u", c_uint64), ("f", c_double), ("b", c_bool), ("c", c_double * 2), ("e", c_int32), ("d", Device)]


class Value(ctypes.Structure):
    """tensor_value."""

    _fields_ = [("kind", c_int32), ("length", c_int64), ("content", Content)]


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
c_free = bind("tensor_value_free", POINTER(Value))
c_describe = getter("tensor_describe_operator", c_int32, c_char_p, POINTER(POINTER(Info)), c_int32)
c_names = getter("tensor_operator_names", POINTER(c_char_p), POINTER(c_int32))


class Unsupported(Exception):
    """An argument has a class that no tensor_value represents."""


def _set_list(value: Value, items: Any, kept: list[Any]) -> None:
    kinds = {type(item) for item in items}
    if kinds <= {int, bool} and bool not in kinds:
        value.kind, made = INTS, (c_int64 * len(items))(*items)
    elif kinds == {bool}:
        value.kind, made = BOOLS, (c_bool * len(items))(*items)
    elif kinds <= {int, float}:
        value.kind, made = FLOATS, (c_double * len(items))(*items)
    elif kinds <= {Tensor, type(None)}:
        value.kind, made = TENSORS, (c_void_p * len(items))(*[None if item is None else item._h for item in items])
    elif kinds == {str}:
        value.kind, made = STRINGS, (c_char_p * len(items))(*[item.encode() for item in items])
    elif kinds <= {int, float, complex, bool}:
        value.kind, made = SCALARS, (Scalar * len(items))(*[Scalar.of(item) for item in items])
    else:
        raise Unsupported
    kept += [items, made]
    value.length, value.content.p = len(items), ctypes.addressof(made)


def _set_value(value: Value, given: Any, kept: list[Any]) -> None:
    kind = type(given)
    if given is None:
        value.kind = NONE
    elif kind is Tensor:
        value.kind, value.content.p = TENSOR, given._h
    elif kind is bool:
        value.kind, value.content.b = BOOL, given
    elif kind is int and -(2**63) <= given < 2**63:
        value.kind, value.content.i = INT, given
    elif kind is int and 0 <= given < 2**64:
        value.kind, value.content.u = UINT, given
    elif kind is float:
        value.kind, value.content.f = FLOAT, given
    elif kind is complex:
        value.kind, value.content.c = COMPLEX, (c_double * 2)(given.real, given.imag)
    elif kind is str and "\0" not in given:
        text = given.encode()
        kept.append(text)
        value.kind, value.content.p = STRING, ctypes.cast(c_char_p(text), c_void_p).value
    elif kind is dtypes.dtype:
        value.kind, value.content.e = DTYPE, given.code
    elif kind is dtypes.layout or kind is dtypes.memory_format:
        value.kind, value.content.e = LAYOUT if kind is dtypes.layout else FORMAT, given.code
    elif kind is _device:
        _set_value(value, str(given), kept)
    elif kind is Generator:
        value.kind, value.content.p = GENERATOR, given._h
    elif kind is list or kind is tuple:
        _set_list(value, given, kept)
    else:
        raise Unsupported


def _take_result(value: Value) -> Any:
    kind, content = value.kind, value.content
    if kind == TENSOR:
        value.kind = NONE  # the tensor owns the handle
        return wrap(content.p)
    if kind == TENSORS:
        handles = ctypes.cast(content.p, POINTER(c_void_p))
        made = [None if handles[i] is None else wrap(handles[i]) for i in range(value.length)]
        for i in range(value.length):
            handles[i] = None
        return made
    if kind == INTS:
        return [ctypes.cast(content.p, POINTER(c_int64))[i] for i in range(value.length)]
    if kind == STRINGS:
        return [ctypes.cast(content.p, POINTER(c_char_p))[i].decode() for i in range(value.length)]
    if kind == STRING:
        return ctypes.cast(content.p, c_char_p).value.decode()  # type: ignore[union-attr]
    if kind == COMPLEX:
        return complex(content.c[0], content.c[1])
    if kind == DTYPE:
        return dtypes.DTYPES[content.e]
    if kind == DEVICE:
        raise Unsupported
    return {INT: content.i, UINT: content.u, FLOAT: content.f, BOOL: content.b}.get(kind)


def call_operator(name: str, args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """Calls an operator by name, such as aten::add.Tensor, and returns its results. Operators that write to arguments have none.

    Raises Unsupported, before the call, for an argument that is neither a tensor (of no subclass), a number, a string, a dtype, a layout, a memory
    format, a device, a generator nor a list of tensors, numbers or strings."""
    count, kept = len(args) + len(kwargs), []  # type: int, list[Any]
    values, names = (Value * max(count, 1))(), (c_char_p * max(count, 1))()
    for i, given in enumerate([*args, *kwargs.values()]):
        _set_value(values[i], given, kept)
    for i, keyword in enumerate(kwargs, len(args)):
        names[i] = keyword.encode()
    results, result_count = (Value * MOST_RESULTS)(), c_int32(MOST_RESULTS)
    status = c_call(name.encode(), values, names, count, results, byref(result_count), None)
    if status:
        raise failure(status)
    made = []
    for i in range(result_count.value):
        made.append(_take_result(results[i]))
        c_free(byref(results[i]))
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
