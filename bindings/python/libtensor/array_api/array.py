"""Arrays: tensors whose operators and `size` follow the standard where PyTorch's differ."""

import sys
from functools import wraps
from numbers import Number
from typing import Any

from .._base import direct as _direct
from .._base import overrides as _overrides
from .._base.dtypes import bool_, int8, int16, int64, uint8
from .._core.tensor import Tensor
from .._data.array_protocols import is_array
from .._data.dlpack import from_numpy
from .._gen import gen_functions as _f
from . import elementwise, linalg
from .dtypes import promoted

BINARY = {
    **{
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "truediv": "divide",
        "floordiv": "floor_divide",
        "mod": "remainder",
        "pow": "pow",
    },
    **{"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"},
    "matmul": "matmul",
}
COMPARED = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}
AS_THE_STANDARD = ("floordiv", "mod")  # in place too; the other operators are those of tensors
NARROW = (int8, int16, uint8)  # integer dtypes that are not indices in PyTorch


class Count(int):
    """The number of elements; when called like PyTorch's method `size`, the sizes or one of them."""

    sizes: Any

    def __new__(cls, array):
        made = super().__new__(cls, array.numel())
        made.sizes = array.shape
        return made

    def __call__(self, dim=None):
        return self.sizes if dim is None else Tensor.size(_f.empty(self.sizes, device="meta"), dim)

    def __reduce__(self):
        return int, (int(self),)


class Array(Tensor):
    """A tensor whose operators promote and round as the array API standard requires. asarray() and the creation functions return arrays,
    and so do functions of arrays. `x.as_subclass(libtensor.Tensor)` is a plain tensor over the same memory.
    """

    __slots__ = ()
    _plain_in_files = True

    @property
    def size(self):
        """The number of elements. Callable like the method of tensors, which returns the sizes."""
        return Count(self)

    def __getitem__(self, key):
        return super().__getitem__(plain(self, key))

    def __setitem__(self, key, value):
        super().__setitem__(plain(self, key), value)


def plain(array, key):
    """Converts a key: integers of every dtype are indices, and a mask must have the sizes of the array, or size 0."""
    if isinstance(key, tuple):
        return tuple([plain(None, each) for each in key])
    if not isinstance(key, Tensor):
        return key
    if key.dtype in NARROW:
        return key.to(int64)
    if key.dtype is bool_ and array is not None and key.ndim <= array.ndim:
        sizes = array.shape[: key.ndim]
        if key.shape != sizes and all(n in (0, size) for n, size in zip(key.shape, sizes, strict=True)):
            return _f.zeros(sizes, dtype=bool_, device=array.device)
    return key


def known(operand):
    """Returns an operand of the namespace's functions: a tensor, a number, or a tensor over a NumPy array. None for other values, which the
    operators of tensors accept or reject.
    """
    if isinstance(operand, (Tensor, Number)):
        return operand
    return from_numpy(operand) if "numpy" in sys.modules and is_array(operand) else None


def binary(dunder, function, reflected=False):
    plainly = getattr(Tensor, dunder)

    def made(self, other):
        operand = known(other)
        if operand is None:
            return plainly(self, other)
        return function(operand, self) if reflected else function(self, operand)

    return elementwise.described(made, dunder, function.__doc__)


def in_place(name, function):
    plainly = getattr(Tensor, f"__i{name}__")

    def made(self, other):
        operand = known(other)
        if isinstance(operand, Number):
            promoted(function.__name__, self, operand)  # raises for a dtype that does not support the operator
        if name in AS_THE_STANDARD and operand is not None:
            result = function(self.clone() if self.requires_grad else self, operand)
            if _f.can_cast(result.dtype, self.dtype):
                return self.copy_(result)
        return plainly(self, other)

    return elementwise.described(made, f"__i{name}__", function.__doc__)


for _name, _of in BINARY.items():
    _function = getattr(elementwise, _of, None) or linalg.matmul
    setattr(Array, f"__{_name}__", binary(f"__{_name}__", _function))
    setattr(Array, f"__r{_name}__", binary(f"__r{_name}__", _function, reflected=True))
    if _name != "matmul":  # x @= y rebinds x, as Python does by default
        setattr(Array, f"__i{_name}__", in_place(_name, _function))
for _name, _of in COMPARED.items():
    setattr(Array, f"__{_name}__", binary(f"__{_name}__", getattr(elementwise, _of)))
_direct.kin(Array)


def creates(function):
    """Wraps a function so that it returns arrays instead of tensors."""

    @wraps(function)
    def made(*args, **kwargs):
        return _overrides.converted(function(*args, **kwargs), Array)

    return made
