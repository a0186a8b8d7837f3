"""Reductions, cumulative sums and products, and differences."""

from .._base.dtypes import bool_, int64
from .._core.tensor import checked
from .._data.axes import cumulative, summed
from .._gen import gen_functions as _f


def reduced(name, function, x, axis, keepdims, **options):
    """Calls a reduction of a tensor, a tuple of dimensions and keepdim; `axis` is one axis, several, or None for all. Over no axis, each
    element is reduced by itself.
    """
    if axis is None:
        axis = tuple(range(checked(x, name, "x").dim()))
    elif not isinstance(axis, tuple):
        axis = (axis,)
    if not axis:
        return function(checked(x, name, "x").unsqueeze(-1), (-1,), False, **options)
    return function(checked(x, name, "x"), axis, keepdims, **options)


def each(function):
    """Converts a function of a tensor, one dimension and keepdim to one of a tuple of dimensions."""

    def over(x, axis, keepdims, **options):
        for dim in axis:
            x = function(x, dim, True, **options)
        return x if keepdims else x.squeeze(axis)

    return over


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """Returns the sum over axes; by default in 64 bits for integers, unsigned for unsigned ones."""
    return reduced("sum", _f.sum, x, axis, keepdims, dtype=summed("sum", x, dtype))


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """Returns the product over axes, in the dtype of a sum."""
    return reduced("prod", each(_f.prod), x, axis, keepdims, dtype=summed("prod", x, dtype))


def max(x, /, *, axis=None, keepdims=False):
    """Returns the largest element over axes; NaN if one is NaN."""
    return reduced("max", _f.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """Returns the smallest element over axes; NaN if one is NaN."""
    return reduced("min", _f.amin, x, axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """Returns the mean over axes of floating-point and complex numbers."""
    return reduced("mean", _f.mean, x, axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """Returns the variance over axes: the sum of squared distances from the mean divided by N - `correction`."""
    return reduced("var", lambda x, axis, keepdims: _f.var(x, axis, correction=correction, keepdim=keepdims), x, axis, keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """Returns the standard deviation over axes, the square root of the variance."""
    return reduced("std", lambda x, axis, keepdims: _f.std(x, axis, correction=correction, keepdim=keepdims), x, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Returns whether all elements over axes are nonzero."""
    return reduced("all", _f.all, checked(x, "all", "x").to(bool_), axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Returns whether any element over axes is nonzero."""
    return reduced("any", _f.any, checked(x, "any", "x").to(bool_), axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """Returns the number of nonzero elements over axes."""
    return reduced("count_nonzero", _f.sum, checked(x, "count_nonzero", "x").to(bool_), axis, keepdims, dtype=int64)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Returns the cumulative sum along an axis, in the dtype of a sum; `include_initial` prepends 0."""
    return cumulative("cumulative_sum", _f.cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Returns the cumulative product along an axis, in the dtype of a sum; `include_initial` prepends 1."""
    return cumulative("cumulative_prod", _f.cumprod, x, axis, dtype, 1 if include_initial else None)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Returns the `n`-th differences of adjacent elements along an axis, with `prepend` and `append` joined to x before."""
    return _f.diff(checked(x, "diff", "x"), n, axis, prepend, append)
