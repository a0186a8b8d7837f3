"""Classifies values: objects of Python's own classes, of another library, or tensors."""

from .._base.dtypes import PYTHON, dtype
from .convert import NUMBERS, foreign, is_integer, sequence
from .tensor import Tensor


def is_number(value):
    kind = value.__class__
    if kind in NUMBERS or isinstance(value, (int, float, complex)):
        return True
    return not value.dim() if isinstance(value, Tensor) else foreign(value) is not None


def is_operand(value):
    return value.__class__ in NUMBERS or isinstance(value, (Tensor, int, float, complex)) or foreign(value) is not None


def is_int(value):
    return value.__class__ is int or not isinstance(value, Tensor) and is_integer(value)


def is_dtype(value):
    return value.__class__ is dtype or isinstance(value, type) and value in PYTHON


def is_ints(value):
    return is_int(value) or sequence(value) and all(is_int(v) for v in value)
