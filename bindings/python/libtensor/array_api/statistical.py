"""Reductions and running sums over axes, and differences."""

from .._base.dtypes import bool_, int64
from .._core.tensor import checked
from .._data.axes import cumulative, summed
from .._gen import gen_functions as _f


def reduced(name, function, x, axis, keepdims, **options):
    """What a function of a tensor, a tuple of dimensions and keepdim gives: `axis` is one, several, or None for all of them. Over none
    of them, each element is by itself.
    """
    if axis is None:
        axis = tuple(range(checked(x, name, "x").dim()))
    elif not isinstance(axis, tuple):
        axis = (axis,)
    if not axis:
        return function(checked(x, name, "x").unsqueeze(-1), (-1,), False, **options)
    return function(checked(x, name, "x"), axis, keepdims, **options)


def each(function):
    """A function of a tensor, one dimension and keepdim as one of a tuple of them."""

    def over(x, axis, keepdims, **options):
        for dim in axis:
            x = function(x, dim, True, **options)
        return x if keepdims else x.squeeze(axis)

    return over


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum over axes, in 64 bits for integers, without a sign where they have none, unless `dtype` is given."""
    return reduced("sum", _f.sum, x, axis, keepdims, dtype=summed("sum", x, dtype))


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product over axes, in the dtype of a sum."""
    return reduced("prod", each(_f.prod), x, axis, keepdims, dtype=summed("prod", x, dtype))


def max(x, /, *, axis=None, keepdims=False):
    """The largest element over axes; NaN where one is."""
    return reduced("max", _f.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element over axes; NaN where one is."""
    return reduced("min", _f.amin, x, axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean over axes, of floats and complex numbers."""
    return reduced("mean", _f.mean, x, axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance over axes: the squared distances from the mean, divided by their number less `correction`."""
    return reduced("var", lambda x, axis, keepdims: _f.var(x, axis, correction=correction, keepdim=keepdims), x, axis, keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The standard deviation over axes, the root of the variance."""
    return reduced("std", lambda x, axis, keepdims: _f.std(x, axis, correction=correction, keepdim=keepdims), x, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Whether no element over axes is zero."""
    return reduced("all", _f.all, checked(x, "all", "x").to(bool_), axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Whether an element over axes is not zero."""
    return reduced("any", _f.any, checked(x, "any", "x").to(bool_), axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements over axes are not zero."""
    return reduced("count_nonzero", _f.sum, checked(x, "count_nonzero", "x").to(bool_), axis, keepdims, dtype=int64)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sums of the elements so far along an axis, in the dtype of a sum; with `include_initial` after a 0."""
    return cumulative("cumulative_sum", _f.cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The products of the elements so far along an axis, in the dtype of a sum; with `include_initial` after a 1."""
    return cumulative("cumulative_prod", _f.cumprod, x, axis, dtype, 1 if include_initial else None)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The differences between neighbours along an axis, `n` times, with `prepend` and `append` put before and after x."""
    return _f.diff(checked(x, "diff", "x"), n, axis, prepend, append)
