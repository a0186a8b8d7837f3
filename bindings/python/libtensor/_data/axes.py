"""Helpers of the functions along axes, of the array API and of NumPy's functions."""

from .._base.dtypes import bool_, int64, uint64
from .._core.tensor import checked
from .._gen import gen_functions as _f


def summed(name, x, dtype):
    """Returns the dtype of a sum: the given one, 64 bits for integers, otherwise the dtype of the elements."""
    x = checked(x, name, "x")
    if dtype is not None or x.dtype.is_floating_point or x.dtype.is_complex:
        return dtype or x.dtype
    return int64 if x.dtype.is_signed or x.dtype is bool_ else uint64


def cumulative(name, function, x, axis, dtype, first):
    """Returns a cumulative sum or product, with an initial value unless that is None."""
    if axis is None:
        if checked(x, name, "x").dim() != 1:
            raise ValueError(f"{name}(): axis is required for a tensor of {x.dim()} dimensions")
        axis = 0
    made = function(checked(x, name, "x"), axis, dtype=summed(name, x, dtype))
    if first is None:
        return made
    if not made.dim():
        raise ValueError(f"{name}(): include_initial requires x to have at least one dimension")
    shape = list(made.shape)
    shape[axis] = 1
    return _f.cat([_f.full(shape, first, dtype=made.dtype, device=made.device), made], axis)


def expand_dims(x, /, axis):
    """Returns a view with axes of size one at positions of the result."""
    if not isinstance(axis, tuple):
        return _f.unsqueeze(checked(x, "expand_dims", "x"), axis)
    n = checked(x, "expand_dims", "x").dim() + len(axis)
    places = sorted({place % n for place in axis if -n <= place < n})
    if len(places) < len(axis):
        raise IndexError(f"expand_dims(): axis {axis} must contain {len(axis)} different axes of a result of {n} dimensions")
    for place in places:
        x = _f.unsqueeze(x, place)
    return x
