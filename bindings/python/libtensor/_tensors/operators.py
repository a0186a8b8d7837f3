"""Python's operator methods of Tensor."""

from .._base import overrides as _overrides
from .._base.direct import NEGATES, OPERATES, REFLECTS, convert, function
from .._base.errors import invertible
from .._core.convert import NUMBERS, foreign, number
from .._core.match import is_operand
from .._core.tensor import Tensor
from .._data.dlpack import from_array, from_dlpack, is_number
from .._gen import gen_functions as _f


def other(value):
    """Returns the other operand of an operator: NumPy scalars as Python numbers, arrays and tensors of other libraries as tensors;
    NotImplemented for other values.
    """
    number = None if value.__class__ in NUMBERS or _overrides.hook(value) is not None or is_array(value) else foreign(value)
    return other_array(value) if number is None else number


def other_array(value):
    """Returns the other operand of an operator that accepts no scalars."""
    if _overrides.hook(value) is not None or is_operand(value) and not is_array(value):
        return value
    if not hasattr(value, "__array_interface__") and hasattr(type(value), "__dlpack__"):
        return from_dlpack(value)  # raises if the memory cannot be exported, as for PyTorch tensors that require grad
    try:
        return from_array(value) if hasattr(value, "__array_interface__") else NotImplemented
    except (TypeError, ValueError):  # such as an array of strings
        return NotImplemented


def is_array(value):
    """Returns whether a value is an array of NumPy or of a similar library, possibly without dimensions, whose dtype takes part in
    promotion.
    """
    return not isinstance(value, Tensor) and hasattr(value, "__array_interface__") and not is_number(value)


def operand(value, function, argument):
    """Returns a tensor, a Python number, or the tensor of an array without dimensions."""
    return from_array(value) if is_array(value) and foreign(value) is not None else number(value, function, argument)


convert("OP", operand)


def of_two(self, other):
    """The signature that inspect shows."""


def of_one(self):
    """The signature that inspect shows."""


def add(name, made, operator, shown):
    made.__module__, made.__doc__, made.__wrapped__ = "libtensor", operator.__doc__, shown
    made.__name__, made.__qualname__ = name, f"Tensor.{name}"
    setattr(Tensor, name, made)


def binary(name, operator, numbers=True, reflected=False):
    """Defines the operator method of Tensor for a function of two operands; for the right operand if it is reflected."""
    how, inplace = REFLECTS if reflected else OPERATES, operator.__name__[-1] == "_"
    add(name, function(name, operator.operators, how, inplace, operator, other if numbers else other_array), operator, of_two)


def unary(name, operator):
    """Defines the operator method of Tensor for a function of one operand."""
    if name == "__invert__":  # operators that require integers raise TypeError
        add(name, function(name, operator.operators, NEGATES, fallback=inverted, explains=invertible), operator, of_one)
    else:
        add(name, function(name, operator.operators, NEGATES, fallback=operator), operator, of_one)


def inverted(self):
    invertible(self)
    return _f.bitwise_not(self)


binary("__rdiv__", _f.div, reflected=True)  # the name in Python 2, which some programs call
