"""Dtypes, their promotion, and constants of the array API standard."""

import builtins
import math
from functools import reduce

from .._base import dtypes as _dtypes
from .._base.dtypes import complex64, complex128, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from .._core.convert import number
from .._core.tensor import Tensor, checked
from .._gen import gen_functions as _f

bool = _dtypes.bool_
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi

KINDS = {
    "bool": (bool,),
    "signed integer": (int8, int16, int32, int64),
    "unsigned integer": (uint8, uint16, uint32, uint64),
    "real floating": (float32, float64),
    "complex floating": (complex64, complex128),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


def dtype_of(value, function):
    """Returns a dtype, or the dtype of a tensor."""
    return value if isinstance(value, _dtypes.dtype) else checked(value, function, "type").dtype


def with_number(dtype, value):
    """Returns the dtype of a Python number with a tensor: the tensor's if it has the number's kind or a higher one."""
    if isinstance(value, complex):
        return (dtype if dtype.is_floating_point or dtype.is_complex else _dtypes.default()).to_complex()
    if isinstance(value, float):
        return dtype if dtype.is_floating_point or dtype.is_complex else _dtypes.default()
    return int64 if dtype is bool and not isinstance(value, builtins.bool) else dtype


def result_type(*arrays_and_dtypes):
    """Returns the dtype to which tensors, dtypes and Python numbers are promoted. Zero-dimensional tensors count as all others; integers
    with floats, which the standard leaves undefined, are promoted as in PyTorch. Raises ValueError without a tensor or dtype.
    """
    given = [_dtypes.of_type(x) or x if x.__hash__ else x for x in arrays_and_dtypes]  # accepts NumPy's dtypes as well
    known = [x if isinstance(x, _dtypes.dtype) else x.dtype for x in given if isinstance(x, (Tensor, _dtypes.dtype))]
    if not known:
        raise ValueError("result_type(): at least one tensor or dtype is required, to which Python scalars are promoted")
    numbers = [number(x, "result_type", "arrays_and_dtypes") for x in given if not isinstance(x, (Tensor, _dtypes.dtype))]
    return reduce(with_number, numbers, reduce(_f.promote_types, known))


def promoted(function, *operands):
    """Returns the operands as tensors of their promoted dtype."""
    if all(isinstance(x, Tensor) for x in operands) and len({x.dtype for x in operands}) == 1:
        return operands
    given = [number(x, function, f"x{i}") for i, x in enumerate(operands, 1)]
    tensors = [x for x in given if isinstance(x, Tensor)]
    if not tensors:
        raise TypeError(f"{function}(): one operand must be a tensor, not {' and '.join(type(x).__name__ for x in given) or 'none at all'}")
    dtype = result_type(*given)
    return [x.to(dtype) if isinstance(x, Tensor) else filled(x, dtype, tensors[0].device, function) for x in given]


def filled(value, dtype, device, function):
    """Returns the tensor of a number, which an integer dtype must be able to represent."""
    if dtype in KINDS["integral"] and not iinfo(dtype).min <= value <= iinfo(dtype).max:
        raise OverflowError(
            f"{function}(): {value} is out of range for {dtype}, to which it is promoted; convert the tensor with astype() first"
        )
    if dtype in KINDS["integral"] or dtype is bool:
        return _f.full((), value, dtype=dtype, device=device)
    return _f.full((), value, dtype=complex128 if dtype.is_complex else float64, device=device).to(
        dtype
    )  # infinity if the number is out of range


def can_cast(from_, to, /):
    """Returns whether promotion converts a dtype, or a tensor's, to another: int8 to int16, but not back."""
    return _f.promote_types(dtype_of(from_, "can_cast"), to) is to


def isdtype(dtype, kind):
    """Returns whether a dtype has a kind: a dtype, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex
    floating", "numeric", or one of a tuple of these.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, _dtypes.dtype):
        return dtype is kind
    if kind not in KINDS:
        raise ValueError(f"isdtype(): kind must be a dtype, a tuple, or one of {', '.join(map(repr, KINDS))}, not {kind!r}")
    if kind in ("real floating", "numeric") and dtype.is_floating_point:
        return True  # includes 16-bit floats, which the standard does not define
    return dtype in KINDS[kind]


def astype(x, dtype, /, *, copy=True, device=None):
    """Returns the elements in another dtype, which may be NumPy's: a new array, or with `copy=False` x itself if nothing changes. Raises an
    error for complex to real: use real() or imag().
    """
    dtype = _dtypes.of_numpy(dtype)
    if checked(x, "astype", "x").dtype.is_complex and not dtype.is_complex and dtype is not bool:
        raise TypeError(f"astype(): {x.dtype} cannot be converted to {dtype}; use real(x) or imag(x)")
    return x.to(dtype=dtype, device=device, copy=copy)


class finfo(_dtypes.finfo):
    """Returns the numerical properties of a floating-point or complex dtype, or of a tensor's: bits, eps, max, min, smallest_normal, and
    the real dtype.
    """

    def __init__(self, type, /):
        super().__init__(dtype_of(type, "finfo"))
        self.dtype = self._dtype  # type: ignore[assignment]  # torch.finfo has the name


class iinfo(_dtypes.iinfo):
    """Returns the numerical properties of an integer dtype, or of a tensor's: bits, max, min, dtype."""

    def __init__(self, type, /):
        super().__init__(dtype_of(type, "iinfo"))
        self.dtype = self._dtype  # type: ignore[assignment]  # torch.iinfo has the name
