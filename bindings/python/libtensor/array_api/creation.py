"""Tensors made of shapes, numbers and other objects."""

import builtins

from .._core.tensor import Tensor, checked
from .._data import create as _create
from .._data import dlpack as _dlpack
from .._gen import gen_functions as _f
from .array import creates


@creates
def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """The numbers from `start` (0 where it is given alone) to `stop`, which is left out, by `step`; none where that leads away from it."""
    start, stop = (0, start) if stop is None else (start, stop)
    if step and (stop - start) / step < 0:
        kind = float if builtins.any(isinstance(x, float) for x in (start, stop, step)) else int
        start = stop = kind(0)
    return _f.arange(start, stop, step, dtype=dtype, device=device)


@creates
def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """The object as a tensor: a tensor, a number, nested sequences of numbers, an array of another library, or a buffer.

    Memory is shared where `copy` is False, or None and that is possible; False raises ValueError where it is not. An array that needs no
    change is given back itself; of a tensor that needs none an array over its memory, with its history.
    """
    if not isinstance(obj, Tensor):
        made = _create.asarray(obj, dtype=dtype, device=device, copy=copy)
        return made.reshape(obj.shape) if isinstance(obj, memoryview) else made
    made = obj.to(dtype=dtype, device=device, copy=builtins.bool(copy))
    if copy is False and made is not obj:
        raise ValueError(f"asarray(): {obj.dtype} on {obj.device} becomes {made.dtype} on {made.device} by a copy, which copy=False forbids")
    return made


@creates
def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor over the memory of an object with __dlpack__; of a copy where `copy` is True, or None and another device asks for one."""
    made = _dlpack.from_dlpack(x, copy=copy)
    moved = made if device is None else made.to(device=device)
    if copy is False and moved is not made:
        raise ValueError(f"from_dlpack(): memory on {made.device} comes to {moved.device} by a copy, which copy=False forbids")
    return moved


@creates
def empty(shape, *, dtype=None, device=None):
    """A tensor whose elements are not set."""
    return _f.empty(shape, dtype=dtype, device=device)


@creates
def zeros(shape, *, dtype=None, device=None):
    """A tensor of zeros."""
    return _f.zeros(shape, dtype=dtype, device=device)


@creates
def ones(shape, *, dtype=None, device=None):
    """A tensor of ones."""
    return _f.ones(shape, dtype=dtype, device=device)


@creates
def full(shape, fill_value, *, dtype=None, device=None):
    """A tensor of one number, whose kind decides of the dtype where none is given."""
    return _f.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """A tensor of x's shape whose elements are not set."""
    return _f.empty_like(x, dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros of x's shape."""
    return _f.zeros_like(x, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones of x's shape."""
    return _f.ones_like(x, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One number in x's shape, in x's dtype unless another is given."""
    return _f.full_like(x, fill_value, dtype=dtype, device=device)


@creates
def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the diagonal `k`, above the main one where that is positive, and zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    made = _f.zeros(n_rows, n_cols, dtype=dtype, device=device)
    _f.diagonal(made, max(-n_rows, min(k, n_cols))).fill_(1)
    return made


@creates
def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers at equal steps from `start` to `stop`, which is the last of them, or with `endpoint=False` would come next."""
    if endpoint:
        return _f.linspace(start, stop, num, dtype=dtype, device=device)
    return _f.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def meshgrid(*arrays, indexing="xy"):
    """A tuple of the coordinates of a grid, from one-dimensional tensors of them. With "xy" the first two dimensions change places."""
    return tuple(_f.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def tril(x, /, *, k=0):
    """Matrices with zeros above the diagonal `k`."""
    return _f.tril(checked(x, "tril", "x"), k)


def triu(x, /, *, k=0):
    """Matrices with zeros below the diagonal `k`."""
    return _f.triu(checked(x, "triu", "x"), k)
