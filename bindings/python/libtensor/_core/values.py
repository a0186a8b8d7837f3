"""Arguments and results of calls by name and of exported programs: tensor_value."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p
from typing import Any

from .._base import dtypes
from .._base.device import device as _device
from .._base.errors import failure
from .._base.library import Device, Scalar, bind
from .._base.overrides import hook, state
from .owner import Generator
from .results import wrap
from .tensor import Tensor

NONE, TENSOR, INT, FLOAT, BOOL, COMPLEX, STRING, DTYPE, LAYOUT, FORMAT, DEVICE, GENERATOR = range(12)
TENSORS, INTS, FLOATS, BOOLS, SCALARS, UINT, STRINGS = range(12, 19)
ARRAYS: dict[int, Any] = {INTS: c_int64, FLOATS: c_double, BOOLS: c_bool}


class Content(ctypes.Union):
    _fields_ = [
        ("p", c_void_p),
        ("i", c_int64),
        ("u", c_uint64),
        ("f", c_double),
        ("b", c_bool),
        ("c", c_double * 2),
        ("e", c_int32),
        ("d", Device),
    ]


class Value(ctypes.Structure):
    """tensor_value."""

    _fields_ = [("kind", c_int32), ("length", c_int64), ("content", Content)]


c_free = bind("tensor_value_free", POINTER(Value))
c_new_handle = bind("tensor_new_handle", c_void_p, POINTER(c_void_p))
c_malloc = ctypes.CDLL(None).malloc
c_malloc.restype, c_malloc.argtypes = c_void_p, [ctypes.c_size_t]


class Unsupported(Exception):
    """An argument has a class that no tensor_value represents."""


def _overrides_calls(given: Tensor) -> bool:
    """Returns whether a tensor's class receives the call, which __torch_function__ alone does not if it is disabled."""
    return hook(given) is not None and not (state.disabled and getattr(type(given), "__torch_dispatch__", None) is None)


def _set_list(value: Value, items: Any, kept: list[Any]) -> None:
    made: Any
    kinds = {type(item) for item in items}
    if kinds <= {int, bool} and bool not in kinds:
        value.kind, made = INTS, (c_int64 * len(items))(*items)
    elif kinds == {bool}:
        value.kind, made = BOOLS, (c_bool * len(items))(*items)
    elif kinds <= {int, float}:
        value.kind, made = FLOATS, (c_double * len(items))(*items)
    elif all(item is None or (isinstance(item, Tensor) and not _overrides_calls(item)) for item in items):
        value.kind, made = TENSORS, (c_void_p * len(items))(*[None if item is None else item._h for item in items])
    elif kinds == {str}:
        value.kind, made = STRINGS, (c_char_p * len(items))(*[item.encode() for item in items])
    elif kinds <= {int, float, complex, bool}:
        value.kind, made = SCALARS, (Scalar * len(items))(*[Scalar.of(item) for item in items])
    else:
        raise Unsupported
    kept += [items, made]
    value.length, value.content.p = len(items), ctypes.addressof(made)


def set_value(value: Value, given: Any, kept: list[Any]) -> None:
    """Stores an argument. Its memory is valid while `kept` is. Raises Unsupported for other classes than call_operator names."""
    kind = type(given)
    if given is None:
        value.kind = NONE
    elif kind is Tensor or (isinstance(given, Tensor) and not _overrides_calls(given)):
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
        set_value(value, str(given), kept)
    elif kind is Generator:
        value.kind, value.content.p = GENERATOR, given._h
    elif isinstance(given, list | tuple):
        _set_list(value, given, kept)
    else:
        raise Unsupported


def _read_scalar(item: Scalar) -> Any:
    if item.kind == 1:
        return bool(item.value.i)
    if item.kind == 3:
        return item.value.f.re
    return complex(item.value.f.re, item.value.f.im) if item.kind == 4 else item.value.i


def _borrow_tensor(handle: int | None) -> Tensor | None:
    if handle is None:
        return None
    made = c_void_p()
    status = c_new_handle(handle, byref(made))
    if status:
        raise failure(status)
    return wrap(made.value)


def borrow_value(value: Value) -> Any:
    """Returns the object of an argument that a function of Python receives from the library. Tensors have another handle."""
    kind, content = value.kind, value.content
    if kind == TENSOR:
        return _borrow_tensor(content.p)
    if kind == TENSORS:
        handles = ctypes.cast(content.p, POINTER(c_void_p))
        return [_borrow_tensor(handles[i]) for i in range(value.length)]
    if kind == SCALARS:
        return [_read_scalar(item) for item in ctypes.cast(content.p, POINTER(Scalar))[: value.length]]
    if kind in ARRAYS:
        return list(ctypes.cast(content.p, POINTER(ARRAYS[kind]))[: value.length])
    if kind == LAYOUT:
        return dtypes.LAYOUTS[content.e]
    if kind == FORMAT:
        return dtypes.FORMATS[content.e]
    if kind == DEVICE:
        return object.__new__(_device)._set(content.d)
    return read_value(value)


def give_value(value: Value, given: Any, hand: Callable[[Tensor], int]) -> None:
    """Stores a result of a function of Python: a tensor, a list of tensors or a number. `hand` makes handles of tensors."""
    if isinstance(given, Tensor):
        value.kind, value.content.p = TENSOR, hand(given)
    elif isinstance(given, list | tuple) and all(isinstance(item, Tensor) for item in given):
        array = c_malloc(8 * len(given) + 8)
        value.kind, value.length, value.content.p = TENSORS, len(given), array
        handles = ctypes.cast(array, POINTER(c_void_p))
        for i in range(len(given)):
            handles[i] = None
        for i, item in enumerate(given):
            handles[i] = hand(item)
    else:
        set_value(value, given, [])


def take_result(value: Value) -> Any:
    """Returns a result, and frees what the returned object does not own."""
    try:
        return read_value(value)
    finally:
        c_free(byref(value))


def read_value(value: Value) -> Any:
    """Returns the value of a tensor_value. A tensor takes over its handle."""
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
