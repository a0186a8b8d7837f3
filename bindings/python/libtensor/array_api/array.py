"""Arrays: tensors whose operators and `size` are the standard's, where PyTorch's differ."""

from functools import wraps
from numbers import Number

from .._base import direct as _direct
from .._base import overrides as _overrides
from .._base.dtypes import bool_
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from . import elementwise, linalg

BINARY = {
    **{"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow"},
    **{"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"},
}
COMPARED = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}
IN_PLACE = {"floordiv": "floor_divide", "mod": "remainder"}  # the others give what PyTorch's give


class Count(int):
    """The number of elements; called, as PyTorch's method `size`, the sizes or one of them."""

    def __new__(cls, array):
        made = super().__new__(cls, array.numel())
        made.array = array
        return made

    def __call__(self, dim=None):
        return Tensor.size(self.array, dim)

    def __reduce__(self):
        return int, (int(self),)


class Array(Tensor):
    """A tensor whose operators promote and round as the array API standard says: asarray() and the functions of creation make it, and
    what is computed of one is one. In all else it is a tensor as others are; `x.as_subclass(libtensor.Tensor)` is it as a plain one.
    """

    __slots__ = ()

    @property
    def size(self):
        """The number of elements. Called, as tensors' own `size`, the sizes."""
        return Count(self)

    def __getitem__(self, key):
        # A mask selects nothing along a size of 0, whatever the other sizes are.
        if isinstance(key, Tensor) and key.dtype is bool_ and key.ndim == self.ndim and 0 in key.shape and key.shape != self.shape:
            key = _f.zeros(self.shape, dtype=key.dtype, device=self.device)
        return super().__getitem__(key)


def known(operand):
    """Whether the namespace's functions take it; NumPy's arrays and others are what tensors' own operators take."""
    return isinstance(operand, (Tensor, Number))


def binary(dunder, function, reflected=False):
    plain = getattr(Tensor, dunder)

    def made(self, other):
        if not known(other):
            return plain(self, other)
        return function(other, self) if reflected else function(self, other)

    return elementwise.described(made, dunder, function.__doc__)


def in_place(dunder, function):
    plain = getattr(Tensor, dunder)

    def made(self, other):
        result = function(self, other) if known(other) else None
        return plain(self, other) if result is None or not _f.can_cast(result.dtype, self.dtype) else self.copy_(result)

    return elementwise.described(made, dunder, function.__doc__)


for _name, _of in BINARY.items():
    setattr(Array, f"__{_name}__", binary(f"__{_name}__", getattr(elementwise, _of)))
    setattr(Array, f"__r{_name}__", binary(f"__r{_name}__", getattr(elementwise, _of), reflected=True))
for _name, _of in COMPARED.items():
    setattr(Array, f"__{_name}__", binary(f"__{_name}__", getattr(elementwise, _of)))
for _name, _of in IN_PLACE.items():
    setattr(Array, f"__i{_name}__", in_place(f"__i{_name}__", getattr(elementwise, _of)))
Array.__matmul__ = binary("__matmul__", linalg.matmul)
Array.__rmatmul__ = binary("__rmatmul__", linalg.matmul, reflected=True)
_direct.kin(Array)


def creates(function):
    """The function with arrays for tensors."""

    @wraps(function)
    def made(*args, **kwargs):
        return _overrides.converted(function(*args, **kwargs), Array)

    return made
