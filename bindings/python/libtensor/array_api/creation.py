"""Creation functions."""

import builtins

from .._core.tensor import Tensor, checked
from .._data import create as _create
from .._data import dlpack as _dlpack
from .._gen import gen_functions as _f
from .array import creates


@creates
def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Returns the numbers from `start` (default 0) to `stop`, exclusive, by `step`; an empty array if `step` leads away from `stop`."""
    start, stop = (0, start) if stop is None else (start, stop)
    if step and (stop - start) / step < 0:
        kind = float if builtins.any(isinstance(x, float) for x in (start, stop, step)) else int
        start = stop = kind(0)
    return _f.arange(start, stop, step, dtype=dtype, device=device)


@creates
def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """Returns the object as an array: a tensor, a number, nested sequences of numbers, an array of another library, or a buffer.

    Memory is shared if `copy` is False, or None and sharing is possible; False raises ValueError if it is not. An array that needs no
    change is returned itself, for a tensor an array over its memory, with its grad_fn.
    """
    if not isinstance(obj, Tensor):
        made = _create.asarray(obj, dtype=dtype, device=device, copy=copy)
        return made.reshape(obj.shape) if isinstance(obj, memoryview) else made
    made = obj.to(dtype=dtype, device=device, copy=builtins.bool(copy))
    if copy is False and made is not obj:
        raise ValueError(
            f"asarray(): the conversion of {obj.dtype} on {obj.device} to {made.dtype} on {made.device} requires a copy, which copy=False "
            "forbids"
        )
    return made


@creates
def from_dlpack(x, /, *, device=None, copy=None):
    """Returns an array that shares memory with an object with __dlpack__; a copy if `copy` is True, or None and another device requires
    one.
    """
    made = _dlpack.from_dlpack(x, copy=copy)
    moved = made if device is None else made.to(device=device)
    if copy is False and moved is not made:
        raise ValueError(f"from_dlpack(): moving memory from {made.device} to {moved.device} requires a copy, which copy=False forbids")
    return moved


@creates
def empty(shape, *, dtype=None, device=None):
    """Returns an uninitialized array."""
    return _f.empty(shape, dtype=dtype, device=device)


@creates
def zeros(shape, *, dtype=None, device=None):
    """Returns an array of zeros."""
    return _f.zeros(shape, dtype=dtype, device=device)


@creates
def ones(shape, *, dtype=None, device=None):
    """Returns an array of ones."""
    return _f.ones(shape, dtype=dtype, device=device)


@creates
def full(shape, fill_value, *, dtype=None, device=None):
    """Returns an array of one number, which determines the default dtype."""
    return _f.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """Returns an uninitialized array of x's shape."""
    return _f.empty_like(x, dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Returns an array of zeros of x's shape."""
    return _f.zeros_like(x, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """Returns an array of ones of x's shape."""
    return _f.ones_like(x, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """Returns an array of one number of x's shape; the dtype defaults to x's."""
    return _f.full_like(x, fill_value, dtype=dtype, device=device)


@creates
def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Returns a matrix with ones on the diagonal `k`, which is above the main one if it is positive, and zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    made = _f.zeros(n_rows, n_cols, dtype=dtype, device=device)
    _f.diagonal(made, max(-n_rows, min(k, n_cols))).fill_(1)
    return made


@creates
def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """Returns `num` evenly spaced numbers from `start` to `stop`, inclusive, or exclusive with `endpoint=False`."""
    if endpoint:
        return _f.linspace(start, stop, num, dtype=dtype, device=device)
    return _f.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def meshgrid(*arrays, indexing="xy"):
    """Returns a tuple of coordinate matrices of one-dimensional arrays. "xy" exchanges the first two dimensions."""
    return tuple(_f.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def tril(x, /, *, k=0):
    """Returns matrices with zeros above the diagonal `k`."""
    return _f.tril(checked(x, "tril", "x"), k)


def triu(x, /, *, k=0):
    """Returns matrices with zeros below the diagonal `k`."""
    return _f.triu(checked(x, "triu", "x"), k)
