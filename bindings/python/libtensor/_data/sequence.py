"""Conversion of items of nested sequences other than Python numbers, lists and tuples."""

from __future__ import annotations

import ctypes
import sys

from .._base import dtypes as _dtypes
from .._base.direct import OF_SEQUENCE, function
from .._base.warnings import warn_once
from .._core.convert import NUMBERS
from .._core.tensor import Tensor

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

PLAIN = {list, tuple}
UNKNOWN, SEQUENCES, ALONE = range(3)  # kinds of the other items at a depth: unknown, sequences, numbers
is_c_sequence = ctypes.pythonapi.PySequence_Check
is_c_sequence.argtypes = (ctypes.py_object,)


def is_sequence(value):
    """Returns whether a value is a sequence: a list, a range, an array, or another object with __getitem__ that is not a dict."""
    if type(value) in PLAIN:
        return True
    if isinstance(value, (Tensor, dict, str, bytes)) or type(value) in NUMBERS:
        return False
    return bool(getattr(value, "ndim", True)) and bool(is_c_sequence(value))


def elements(value):
    """Returns the elements of a sequence as a list."""
    if isinstance(value, Tensor) or hasattr(value, "__array_interface__"):
        return list(value)
    n = len(value)
    try:
        return [value[i] for i in range(n)]
    except Exception as error:
        raise ValueError(f"could not determine the shape of object type '{type(value).__name__}'") from error


BASES = {"b": bool, "i": int, "u": int, "f": float, "c": complex}  # Python's class for a kind of NumPy dtypes
SLOW_LIST = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single numpy.ndarray "
    "with numpy.array() before converting to a tensor."
)


# The dtype for a NumPy dtype, None without one, and for the class of its scalars.
ARRAYS: dict[Any, Any] = {}
SCALARS: dict[type, Any] = {}


def dtype_of(numpy_dtype):
    """Returns the dtype for a NumPy dtype; None if there is none."""
    if numpy_dtype.kind not in BASES:
        return None
    if numpy_dtype not in ARRAYS:
        ARRAYS[numpy_dtype] = _dtypes.NAMES.get(numpy_dtype.name)
    return ARRAYS[numpy_dtype]


def of_array(value, first):
    """Returns the dtype of a NumPy array and the nested lists of its elements; None for other values and dtypes. Warns for the first array
    of a list.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) is not numpy.ndarray or not value.ndim or dtype_of(value.dtype) is None:
        return None
    if first:
        warn_once(SLOW_LIST)
    return dtype_of(value.dtype), value.tolist()


def of_scalar(value):
    """Returns the dtype of a NumPy scalar, its Python number and, if C can convert other instances of its class, the Python class for
    them."""
    dtype, base = SCALARS[type(value)]
    return (dtype, base(value), base) if base is not complex or isinstance(value, complex) else (dtype, base(value))


def of_numpy(value):
    """Returns the dtype of a NumPy number and its Python number; None for other values."""
    found = getattr(value, "dtype", None)
    if found is None or getattr(value, "ndim", True) or not isinstance(getattr(found, "name", None), str):
        return None
    base = BASES.get(found.kind)
    dtype = _dtypes.NAMES.get(found.name)
    if base is None or dtype is None:
        raise TypeError(f"can't convert a NumPy number of type {found.name}")
    if type(value) is not found.type:
        return dtype, base(value)
    SCALARS[type(value)] = dtype, base
    return of_scalar(value)


def of_tensor(value, dtype):
    """Returns the dtype of a tensor of one element, and its number."""
    broken = value.is_floating_point() or value.is_complex()
    if value.numel() == 1 and not (broken and dtype in _dtypes.INTEGERS):
        return value.dtype, value.item()
    if broken and value.numel() != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, not one of shape {list(value.shape)}")
    shape = list(value.shape)
    raise TypeError(f"only integer tensors of a single element can be converted to an index, not one of {value.dtype} and shape {shape}")


def of_subclass(value):
    """Returns the number of an instance of a subclass of a number class."""
    base = next((base for base in (int, float, complex) if isinstance(value, base)), None)
    return base and (None, base(value))


def converted(value, dtype):
    """Returns the number that an object converts to for a given dtype."""
    name = type(value).__name__
    if dtype is None:
        raise RuntimeError(f"Could not infer dtype of {name}")
    if hasattr(value, "__index__"):
        return None, value.__index__()
    if dtype.is_floating_point and hasattr(value, "__float__"):
        return None, float(value)
    raise TypeError(f"'{name}' object cannot be interpreted as a number of {dtype}")


def item(value, dtype, depth, known):
    """Returns the elements of a sequence as a list; or the dtype (None if it has none) and the Python number of an element, or the nested
    lists of an array. A third item is the Python class of the values, if all instances of the class convert alike.

    `dtype` is the dtype of the tensor, if it is given, and `known` the kind of the other items at this depth.
    """
    if type(value) in SCALARS:
        return of_scalar(value)
    if (array := of_array(value, depth == 1 and known == UNKNOWN)) is not None:
        return array
    if is_sequence(value) or known == SEQUENCES and isinstance(value, Tensor) and value.dim():
        return elements(value)
    if isinstance(value, Tensor):
        return of_tensor(value, dtype)
    if isinstance(value, str) and depth and known == UNKNOWN:
        raise ValueError(f"too many dimensions '{type(value).__name__}'")
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    return of_numpy(value) or of_subclass(value) or converted(value, dtype)


from_sequence = function("from_sequence", how=OF_SEQUENCE, explains=item)
