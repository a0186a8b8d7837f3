"""Tensors from nested sequences of numbers, with the dtype that their elements have together."""

import ctypes
from functools import reduce
from itertools import chain
from struct import Struct
from struct import error as StructError

from . import _dtypes
from . import gen_functions as _f
from ._convert import NUMBERS
from ._tensor import Tensor

DEEPEST = 64  # dimensions that a tensor can have
PLAIN = {list, tuple}
is_c_sequence = ctypes.pythonapi.PySequence_Check
is_c_sequence.argtypes = (ctypes.py_object,)


def is_sequence(value):
    """Tells whether a value has elements by number: a list, a range, an array, or what else has __getitem__ and is no dict."""
    if type(value) in PLAIN:
        return True
    if isinstance(value, (Tensor, dict, str, bytes)) or type(value) in NUMBERS:
        return False
    return bool(getattr(value, "ndim", 1)) and bool(is_c_sequence(value))


def elements(value):
    """The elements of a sequence, in a list or tuple."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Tensor) or hasattr(value, "__array_interface__"):
        return list(value)
    n = len(value)
    try:
        return [value[i] for i in range(n)]
    except Exception as error:
        raise ValueError(f"could not determine the shape of object type '{type(value).__name__}'") from error


def flatten(data):
    """The size and the elements of nested sequences."""
    size, level = [], [data]
    while level and is_sequence(level[0]):
        if len(size) == DEEPEST:
            raise ValueError(f"tensor(): the sequence has more than {DEEPEST} dimensions")
        if not PLAIN.issuperset(map(type, level)):
            at = next((i for i, item in enumerate(level) if not (is_sequence(item) or isinstance(item, Tensor) and item.dim())), None)
            if at is not None:
                raise TypeError(f"not a sequence: expected one at dim {len(size)} (got {type(level[at]).__name__} at position {at})")
            level = list(map(elements, level))
        n = len(level[0])
        if set(map(len, level)) != {n}:
            at, odd = next((i, len(item)) for i, item in enumerate(level) if len(item) != n)
            raise ValueError(f"expected sequence of length {n} at dim {len(size)} (got {odd} at position {at})")
        level = list(chain.from_iterable(level))
        size.append(n)
    if size and level and isinstance(level[0], str):
        raise ValueError(f"too many dimensions '{type(level[0]).__name__}'")
    return size, level


def of_numpy(value):
    """The dtype of a NumPy number, and its Python number; None for what is no such number."""
    found = getattr(value, "dtype", None)
    if found is None or getattr(value, "ndim", 1) or not isinstance(getattr(found, "name", None), str):
        return None
    base = {"b": bool, "i": int, "u": int, "f": float, "c": complex}.get(found.kind)
    dtype = _dtypes.NAMES.get(found.name, _dtypes.int64 if found.kind == "u" else None)
    if base is None or dtype is None:
        raise TypeError(f"can't convert a NumPy number of type {found.name}")
    return dtype, base(value)


def of_tensor(value, dtype):
    """The dtype of a tensor of one element, and its number."""
    broken = value.is_floating_point() or value.is_complex()
    if value.numel() == 1 and not (broken and dtype in _dtypes.INTEGERS):
        return value.dtype, value.item()
    if broken and value.numel() != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, not one of shape {list(value.shape)}")
    shape = list(value.shape)
    raise TypeError(f"only integer tensors of a single element can be converted to an index, not one of {value.dtype} and shape {shape}")


def of_subclass(value):
    """The dtype and number of an object of a subclass of a number's class."""
    base = next((base for base in (int, float, complex) if isinstance(value, base)), None)
    return base and (kind_dtype(base), base(value))


def kind_dtype(kind):
    """The dtype of Python's numbers of a class."""
    if kind is float or kind is complex:
        default = _f.get_default_dtype()
        return default if kind is float else default.to_complex()
    return _dtypes.bool_ if kind is bool else _dtypes.int64


def converted(value, dtype):
    """The dtype and number of an object that only knows how to become a number of the given dtype."""
    name = type(value).__name__
    if dtype is None:
        raise RuntimeError(f"Could not infer dtype of {name}")
    if hasattr(value, "__index__"):
        return dtype, value.__index__()
    if dtype.is_floating_point and hasattr(value, "__float__"):
        return dtype, float(value)
    raise TypeError(f"'{name}' object cannot be interpreted as a number of {dtype}")


def element(value, dtype):
    """The dtype and the Python number of an element; `dtype` is the tensor's, where it is given."""
    if isinstance(value, Tensor):
        return of_tensor(value, dtype)
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    if is_sequence(value):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as a number")
    return of_numpy(value) or of_subclass(value) or converted(value, dtype)


def numbers(level, dtype):
    """The elements as Python numbers, their kinds, and the dtype that all have together."""
    kinds = set(map(type, level))
    if kinds <= NUMBERS:
        dtypes = {kind_dtype(kind) for kind in kinds}
    else:
        pairs = [(kind_dtype(type(x)), x) if type(x) in NUMBERS else element(x, dtype) for x in level]
        dtypes, level = {found for found, _ in pairs}, [x for _, x in pairs]
        kinds = set(map(type, level))
    return level, kinds, reduce(_f.promote_types, dtypes) if dtypes else _f.get_default_dtype()


def check_range(level, dtype):
    """Refuses numbers that an integer dtype does not hold; unsigned ones take negative integers modulo their range."""
    limits = _dtypes.iinfo(dtype)
    low = limits.min if dtype.is_signed else -limits.max
    wrong = next((x for x in level if not (limits.min - 1 if type(x) is float else low - 1) < x < limits.max + 1), None)
    if wrong is not None:
        if type(wrong) is int and not -(2**63) <= wrong < 2**63:
            raise ValueError(f"Overflow when unpacking long long: {wrong} does not fit into 64 bits")
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: {wrong}")


def pack(code, level):
    return Struct(f"{len(level)}{code}").pack(*level)


def from_sequence(data, dtype):
    """A tensor of a number or of nested sequences of numbers; of the dtype that they have together unless one is given."""
    size, level = flatten(data)
    level, kinds, inferred = numbers(level, dtype)
    target = dtype or inferred
    if complex in kinds:
        if not target.is_complex and target is not _dtypes.bool_:
            raise TypeError(f"can't convert complex to {target}")
        made, raw = _dtypes.complex128, pack("d", [part for x in level for part in (x.real, x.imag)])
    elif target in _dtypes.INTEGERS:
        check_range(level, target)
        made, raw = _dtypes.int64, pack("q", list(map(int, level)) if float in kinds else level)
    elif float in kinds or not kinds:
        made, raw = _dtypes.float64, pack("d", level)
    else:
        made, raw = whole(level, kinds)
    tensor = _f.from_data(raw if level else None, size, dtype=made)
    return tensor if target is made else _f.to(tensor, dtype=target)


def whole(level, kinds):
    """The dtype and bytes of integers or bools for a tensor of another dtype."""
    if int not in kinds:
        return _dtypes.bool_, bytes(level)
    try:
        return _dtypes.int64, pack("q", level)
    except StructError:
        return _dtypes.float64, pack("d", level)
