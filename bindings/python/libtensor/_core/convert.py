"""Converts values that direct.c does not know, or raises the error for them. Each function takes the value, and the names of the function
and of the argument for the error message.
"""

from __future__ import annotations

import ctypes
from ctypes import c_void_p, cast
from struct import Struct

from .._base.device import device as DeviceObject
from .._base.dtypes import dtype, layout, memory_format, of_type
from .._base.errors import misfit, wrong_type
from .._base.library import Scalar
from .owner import Generator, TypedStorage, UntypedStorage
from .tensor import Tensor, checked

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

NUMBERS = frozenset((bool, int, float, complex))


def sequence(value):
    return value.__class__ in (tuple, list) or isinstance(value, (tuple, list, range))


def is_integer(value):
    """Returns whether a value is an integer: an int, or an integer of another library such as NumPy."""
    if isinstance(value, Tensor):
        return not value.dim() and not value.is_floating_point() and not value.is_complex()
    return not isinstance(value, bool) and hasattr(type(value), "__index__")


def foreign(value):
    """Returns the Python number of a scalar of another library such as NumPy; None for other values."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if len(kind) != 1 or getattr(value, "ndim", True) or isinstance(value, Tensor):
        return None
    convert: Any = {"b": bool, "i": int, "u": int, "f": float, "c": complex}.get(kind, lambda v: None)
    return convert(value)


def scalar(value, function, argument):
    """Returns a Python number."""
    kind = value.__class__
    if kind in NUMBERS:
        if kind is int and not -(2**63) <= value < 2**64:
            raise OverflowError(f"{function}(): argument '{argument}': {value} does not fit into 64 bits")
        return value
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise RuntimeError(f"{function}(): argument '{argument}' must be a number, not a tensor with {value.numel()} elements")
        return value.item()
    base = next((b for b in (int, float, complex) if isinstance(value, b)), None)
    number = base(value) if base else foreign(value)
    if number is None and hasattr(value, "__index__"):
        number = value.__index__()
    if number is None:
        raise wrong_type(function, argument, "Number", value)
    return scalar(number, function, argument)


def number(value, function, argument):
    """Returns a tensor, or a Python number."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (int, float, complex)) or foreign(value) is not None:
        return scalar(value, function, argument)
    raise wrong_type(function, argument, "Tensor or Number", value)


def integer(value, function, argument):
    if value.__class__ is bool or not is_integer(value):
        raise wrong_type(function, argument, "int", value)
    found = value.__index__()
    if not -(2**63) <= found < 2**63:
        raise ValueError(f"{function}(): argument '{argument}': {found} does not fit into 64 bits; the range is {-(2**63)} to {2**63 - 1}")
    return found


def real(value, function, argument):
    if isinstance(value, (int, float)):
        return float(value)
    found = value.item() if isinstance(value, Tensor) and not value.dim() else foreign(value)
    if found is None or isinstance(found, complex):
        raise wrong_type(function, argument, "float", value)
    return float(found)


def flag(value, function, argument):
    if value is True or value is False:
        return value
    number = foreign(value)
    if number.__class__ is bool:
        return number
    raise wrong_type(function, argument, "bool", value)


def text(value, function, argument):
    """Returns the bytes of a string."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(f"{function}(): argument '{argument}' must not contain NUL characters")
        return value.encode("utf-8", "surrogateescape")  # file names may contain any bytes
    if argument == "reduction":  # `reduction` of losses
        raise ValueError(f"{function}(): {value} is not a valid value for reduction; use 'none', 'mean' or 'sum'")
    raise wrong_type(function, argument, "str", value)


def texts(value, function, argument):
    """Returns a tuple of the bytes of strings."""
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of strs", value)
    return tuple([text(v, function, argument) for v in value])


def ints(value, function, argument):
    """Returns a tuple of integers."""
    if is_integer(value):
        return (integer(value, function, argument),)
    if isinstance(value, Tensor) or hasattr(type(value), "tolist"):
        value = value.tolist()
    if not sequence(value) and not hasattr(value, "__iter__"):
        raise wrong_type(function, argument, "tuple of ints", value)
    try:
        return tuple([integer(v, function, argument) for v in value])
    except ValueError as error:
        raise TypeError(str(error)) from None


def sizes(value, function, argument):
    """Returns a tuple of integers; a single integer is a tuple of one."""
    try:
        return ints(value, function, argument)
    except ValueError as error:  # as for a list
        raise TypeError(str(error)) from None


def floats(value, function, argument):
    """Returns the bytes of a list of floats."""
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of floats", value)
    return Struct(f"{len(value)}d").pack(*[real(v, function, argument) for v in value])


def bools(value, function, argument):
    """Returns the bytes of a list of bools."""
    if value.__class__ is bool:
        value = (value,)
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of bools", value)
    return bytes([flag(v, function, argument) for v in value])


def numbers(value, function, argument):
    """Returns the bytes of a list of scalars in C's representation."""
    if value.__class__ in NUMBERS:
        value = (value,)
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of Numbers", value)
    if any(isinstance(v, Tensor) and v.dim() for v in value):
        raise wrong_type(function, argument, "tuple of Numbers", value)
    return b"".join([bytes(Scalar.of(scalar(v, function, argument))) for v in value])


def tensors(value, function, argument):
    """Returns a tuple of tensors."""
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of Tensors", value)
    at = next((i for i, t in enumerate(value) if not isinstance(t, Tensor)), None)
    if at is not None:
        raise misfit(f"{function}(): argument '{argument}': expected Tensor as element {at}, but got {type(value[at]).__name__}")
    return tuple(value)


def optional_tensors(value, function, argument):
    """Returns a tuple of tensors and None."""
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of Tensors", value)
    return tuple([None if t is None else checked(t, function, argument) for t in value])


def outputs(value, n, function):
    """Returns a tuple of n output tensors."""
    if not isinstance(value, (tuple, list)) or len(value) != n:
        raise TypeError(f"{function}(): argument 'out' must be a tuple of {n} Tensors, not {type(value).__name__}")
    return tuple([checked(t, function, "out") for t in value])


def storage(value, function, argument):
    """Returns the UntypedStorage of a storage."""
    if isinstance(value, UntypedStorage):
        return value
    if isinstance(value, TypedStorage):
        return value.untyped()
    raise wrong_type(function, argument, "UntypedStorage", value)


def storage_handle(value, function, argument):
    return storage(value, function, argument)._h


def generator_handle(value, function, argument):
    if isinstance(value, Generator):
        return value._h
    raise wrong_type(function, argument, "torch.Generator", value)


def known_dtype(value, function, argument):
    """Returns the dtype of a scalar type of Python or NumPy, or of a NumPy dtype."""
    if value.__class__ is dtype:
        if value.code < 0:
            raise NotImplementedError(f"{function}(): tensors of {value} are not supported; use float8_e4m3fn, float16 or float32")
        return value
    known = of_type(value) if value.__hash__ else None
    if known is None:
        raise wrong_type(function, argument, "torch.dtype", value)
    return known


def layout_code(value, function, argument):
    if value.__class__ is layout:
        return value.code
    raise wrong_type(function, argument, "torch.layout", value)


def memory_format_code(value, function, argument):
    if value.__class__ is memory_format:
        return value.code
    raise wrong_type(function, argument, "torch.memory_format", value)


def device_bytes(value, function, argument):
    """Returns the bytes of a device in C's representation."""
    if value.__class__ is DeviceObject:
        return bytes(value._c)
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return bytes(DeviceObject(value)._c)
    raise wrong_type(function, argument, "torch.device, str or int", value)


def pointer(value, function, argument):
    """Returns the address of bytes or of a ctypes object."""
    try:
        return value if value.__class__ is int else cast(value, c_void_p).value or 0
    except ctypes.ArgumentError:
        raise wrong_type(function, argument, "an address or bytes", value) from None


# By the letters of the kinds of arguments (capi/value.h). _data/keys.py adds that of indices.
CONVERTERS = {
    "T": checked,
    "OP": number,
    "S": scalar,
    "I": integer,
    "F": real,
    "B": flag,
    "U": text,
    "K": texts,
    "L": ints,
    "V": sizes,
    "E": floats,
    "H": bools,
    "N": numbers,
    "AR": tensors,
    "Z": optional_tensors,
    "W": storage_handle,
    "G": generator_handle,
    "D": known_dtype,
    "Y": layout_code,
    "M": memory_format_code,
    "C": device_bytes,
    "JQ": pointer,
}
