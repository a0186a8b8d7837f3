"""Searching, sorting and set functions."""

from typing import NamedTuple

from .._base.dtypes import int64
from .._core.tensor import Tensor, checked, wrapped_dim
from .._data import compose as _compose
from .._gen import gen_functions as _f
from .dtypes import promoted


def extreme(name, function, x, axis, keepdims):
    """Returns the index of an extreme along an axis, or in the flattened array."""
    if axis is None:
        made = function(checked(x, name, "x").flatten(), 0)
        return made.reshape((1,) * x.dim()) if keepdims else made
    return function(checked(x, name, "x"), axis, keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    """Returns the index of the first largest element along an axis, or in the flattened array."""
    return extreme("argmax", _f.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """Returns the index of the first smallest element along an axis, or in the flattened array."""
    return extreme("argmin", _f.argmin, x, axis, keepdims)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """Returns the indices that sort the elements along an axis."""
    return _f.argsort(checked(x, "argsort", "x"), stable=stable, dim=axis, descending=descending)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """Sorts the elements along an axis; NaN is the largest value."""
    return _f.sort(checked(x, "sort", "x"), stable=stable, dim=axis, descending=descending)[0]


def nonzero(x, /):
    """Returns a tuple of the indices of the nonzero elements, one array for each axis. x must have an axis."""
    if not checked(x, "nonzero", "x").dim():
        raise ValueError("nonzero(): 0-dim tensors are not supported")
    return tuple(_compose.nonzero(x, as_tuple=True))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Returns the indices at which the elements of x2 would be inserted into the sorted x1, or into x1 sorted by the indices `sorter`."""
    x1, x2 = promoted("searchsorted", x1, x2)
    return _f.searchsorted(x1, x2, side=side, sorter=None if sorter is None else sorter.to(int64))


def where(condition, x1, x2, /):
    """Returns the elements of x1 where `condition` is True, and of x2 elsewhere, in the promoted dtype."""
    return _f.where(condition, *promoted("where", x1, x2))


def take(x, indices, /, *, axis=None):
    """Returns the slices of x at indices along an axis, which may be omitted for one dimension; negative indices count from the end."""
    if axis is None and checked(x, "take", "x").dim() != 1:
        raise ValueError(f"take(): axis is required for a tensor of {x.dim()} dimensions")
    before = wrapped_dim(axis or 0, checked(x, "take", "x"), "take()")
    return x[(*(slice(None),) * before, checked(indices, "take", "indices").to(int64))]


def take_along_axis(x, indices, /, *, axis=-1):
    """Returns the elements at indices along an axis; x and indices broadcast on the other axes, and negative indices count from the end."""
    size = checked(x, "take_along_axis", "x").shape[axis]
    indices = checked(indices, "take_along_axis", "indices").to(int64)
    return _f.take_along_dim(x, _f.where(indices < 0, indices + size, indices), axis)


def isin(x1, x2, /, *, invert=False):
    """Returns whether each element of x1 is in x2; with `invert`, whether it is not."""
    return _f.isin(*promoted("isin", x1, x2), invert=invert)


class unique_all_result(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class unique_counts_result(NamedTuple):
    values: Tensor
    counts: Tensor


class unique_inverse_result(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def ranks(x):
    """Returns numbers in the order of the elements, equal for equal ones."""
    if not x.dtype.is_complex:
        return x
    real, imag = (_f.unique(part, True, True)[1] for part in (x.real, x.imag))
    return real * x.numel() + imag


def unique_all(x, /):
    """Returns the distinct elements, the index of the first occurrence of each in the flattened array, the index of each element of x among
    them, and their counts. NaNs are distinct.
    """
    flat = checked(x, "unique_all", "x").flatten()
    _, inverse, counts = _f.unique(ranks(flat), True, True, True)
    indices = _f.argsort(inverse, stable=True)[_f.cumsum(counts, 0) - counts]
    return unique_all_result(flat[indices], indices, inverse.reshape(x.shape), counts)


def unique_counts(x, /):
    """Returns the distinct elements and their counts."""
    found = unique_all(x)
    return unique_counts_result(found.values, found.counts)


def unique_inverse(x, /):
    """Returns the distinct elements, and the index of each element of x among them."""
    found = unique_all(x)
    return unique_inverse_result(found.values, found.inverse_indices)


def unique_values(x, /):
    """Returns the distinct elements."""
    return unique_all(x).values
