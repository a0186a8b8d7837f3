"""Tells which overload of a function fits a call. `absent` fits nothing."""

from ._convert import NUMBERS, foreign, is_integer, sequence
from ._dtypes import PYTHON, dtype
from ._owner import UntypedStorage
from ._tensor import Tensor

absent = object()


def arg(args, i, kwargs, name, default):
    """The i-th positional or the named argument; one that is given both ways is absent."""
    if i < len(args):
        return absent if name in kwargs else args[i]
    return kwargs.get(name, default)


def rename(kwargs):
    """Turns NumPy's keywords into PyTorch's."""
    for name, alias in (("dim", "axis"), ("keepdim", "keepdims")):
        if alias in kwargs:
            kwargs[name] = kwargs.pop(alias)


def or_none(fits, value):
    return value is None or fits(value)


def is_tensor(value):
    return isinstance(value, Tensor)


def is_number(value):
    kind = value.__class__
    if kind in NUMBERS or isinstance(value, (int, float, complex)):
        return True
    return not value.dim() if isinstance(value, Tensor) else foreign(value) is not None


def is_operand(value):
    return value.__class__ in NUMBERS or isinstance(value, (Tensor, int, float, complex)) or foreign(value) is not None


def is_int(value):
    return value.__class__ is int or not isinstance(value, Tensor) and is_integer(value)


def is_real(value):
    return is_number(value) and not isinstance(value, (complex, bool))


def is_bool(value):
    return value is True or value is False


def is_text(value):
    return isinstance(value, str)


def is_dtype(value):
    return value.__class__ is dtype or isinstance(value, type) and value in PYTHON


def is_storage(value):
    return isinstance(value, UntypedStorage)


def is_tensors(value):
    return sequence(value) and all(isinstance(v, Tensor) for v in value)


def is_ints(value):
    return is_int(value) or sequence(value) and all(is_int(v) for v in value)


def is_reals(value):
    return is_real(value) or sequence(value) and all(is_real(v) for v in value)


def is_numbers(value):
    return is_number(value) or sequence(value) and all(is_number(v) for v in value)
