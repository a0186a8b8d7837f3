"""Positions, choices, order and distinct elements."""

from typing import NamedTuple

from .._base.dtypes import int64
from .._core.tensor import Tensor, checked, wrapped_dim
from .._data import compose as _compose
from .._gen import gen_functions as _f
from .dtypes import promoted


def extreme(name, function, x, axis, keepdims):
    """The position of an extreme along an axis, or in the order of all elements."""
    if axis is None:
        made = function(checked(x, name, "x").flatten(), 0)
        return made.reshape((1,) * x.dim()) if keepdims else made
    return function(checked(x, name, "x"), axis, keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    """The first position of the largest element along an axis, or in the order of all elements."""
    return extreme("argmax", _f.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The first position of the smallest element along an axis, or in the order of all elements."""
    return extreme("argmin", _f.argmin, x, axis, keepdims)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The positions that put the elements along an axis in order."""
    return _f.argsort(checked(x, "argsort", "x"), stable=stable, dim=axis, descending=descending)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements along an axis in order; NaN counts as the largest."""
    return _f.sort(checked(x, "sort", "x"), stable=stable, dim=axis, descending=descending)[0]


def nonzero(x, /):
    """A tuple of the positions of the elements that are not zero, a tensor for each axis; x must have one."""
    if not checked(x, "nonzero", "x").dim():
        raise ValueError("nonzero(): a tensor without dimensions has no positions")
    return tuple(_compose.nonzero(x, as_tuple=True))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where the elements of x2 would be put into x1, which is in order as it is, or by the positions `sorter`."""
    x1, x2 = promoted("searchsorted", x1, x2)
    return _f.searchsorted(x1, x2, side=side, sorter=None if sorter is None else sorter.to(int64))


def where(condition, x1, x2, /):
    """The elements of x1 where `condition` holds, and of x2 elsewhere, in the dtype to which they are promoted."""
    return _f.where(condition, *promoted("where", x1, x2))


def take(x, indices, /, *, axis=None):
    """The parts of x at indices along an axis, which only a tensor of one dimension can go without; negative ones count from the end."""
    if axis is None and checked(x, "take", "x").dim() != 1:
        raise ValueError(f"take(): axis must be given for a tensor of {x.dim()} dimensions; only of one is it known")
    before = wrapped_dim(axis or 0, checked(x, "take", "x"), "take()")
    return x[(*(slice(None),) * before, checked(indices, "take", "indices").to(int64))]


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements at indices along an axis, for each place on the others, to which x and indices broadcast; negative ones count from
    the end.
    """
    size = checked(x, "take_along_axis", "x").shape[axis]
    indices = checked(indices, "take_along_axis", "indices").to(int64)
    return _f.take_along_dim(x, _f.where(indices < 0, indices + size, indices), axis)


def isin(x1, x2, /, *, invert=False):
    """Whether each element of x1 is one of x2's; with `invert`, whether it is none."""
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
    """Numbers in the order of elements, the same for equal ones."""
    if not x.dtype.is_complex:
        return x
    real, imag = (_f.unique(part, True, True)[1] for part in (x.real, x.imag))
    return real * x.numel() + imag


def unique_all(x, /):
    """The distinct elements, where each occurs first in the order of all elements, where each element of x is among them, and how often
    each occurs. NaN is distinct from NaN.
    """
    flat = checked(x, "unique_all", "x").flatten()
    _, inverse, counts = _f.unique(ranks(flat), True, True, True)
    indices = _f.argsort(inverse, stable=True)[_f.cumsum(counts, 0) - counts]
    return unique_all_result(flat[indices], indices, inverse.reshape(x.shape), counts)


def unique_counts(x, /):
    """The distinct elements, and how often each occurs."""
    found = unique_all(x)
    return unique_counts_result(found.values, found.counts)


def unique_inverse(x, /):
    """The distinct elements, and where each element of x is among them."""
    found = unique_all(x)
    return unique_inverse_result(found.values, found.inverse_indices)


def unique_values(x, /):
    """The distinct elements."""
    return unique_all(x).values
