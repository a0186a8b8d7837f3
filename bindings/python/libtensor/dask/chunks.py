"""Functions that Dask requires of the library of its chunks, besides NumPy's functions, which it calls by NumPy's protocols."""

from functools import reduce
from math import prod

from .._base.dtypes import float64, of_numpy, strided
from .._core.tensor import Tensor
from .._data.compose import einsum, tensordot
from .._data.create import asarray
from .._gen import gen_functions as _f


def of_one_dtype(*operands):
    """Returns chunks, some of which may be NumPy arrays, as tensors of their common dtype."""
    tensors = [asarray(operand) for operand in operands]
    dtype = reduce(_f.promote_types, [t.dtype for t in tensors])
    return [t.to(dtype) for t in tensors]


def contract(a, b, axes=2):
    return tensordot(*of_one_dtype(a, b), axes)


def join(subscripts, *operands, **_):
    """einsum() that accepts and ignores NumPy's arguments about the order of operations."""
    return einsum(subscripts, *of_one_dtype(*operands))


def empty(shape, dtype=float64, order="C"):
    return _f.empty(shape, dtype=of_numpy(dtype))


def percentile(a, q, method="linear"):
    """Returns the percentiles of a chunk, and its number of elements."""
    import numpy

    return (numpy.percentile(a, q, method=method) if len(a) else None), len(a)


def number_of_elements(x, axis=None, keepdims=False, dtype=None, **_):
    """Returns the number of elements of a sum along axes, in the shape of the sum."""
    axes = range(x.dim()) if axis is None else [a % x.dim() for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    shape = [1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes]
    return _f.full(shape, prod(x.shape[d] for d in axes), dtype=of_numpy(dtype) or float64, device=x.device)


def as_array(x, **_):
    return x.numpy(force=True)


def offer(dispatch):
    """Registers tensors in dask.array.dispatch."""
    dispatch.tensordot_lookup.register(Tensor, contract)
    dispatch.einsum_lookup.register(Tensor, join)
    dispatch.empty_lookup.register(Tensor, empty)
    dispatch.percentile_lookup.register(Tensor, percentile)
    dispatch.numel_lookup.register(Tensor, number_of_elements)
    dispatch.to_numpy_dispatch.register(Tensor, as_array)


def offer_types(types):
    """Registers tensors in dask.array.chunk_types, so that operators and functions of Dask arrays accept them."""
    types.register_chunk_type(Tensor)


def nbytes(x):
    """Returns the bytes of a tensor's elements; an expanded dimension counts once."""
    if x.layout is not strided:
        return x._nnz() * x.itemsize
    return x.itemsize * prod(n for n, stride in zip(x.shape, x.stride(), strict=True) if stride)


def offer_sizes(sizeof):
    """Registers tensors in dask.sizeof."""
    sizeof.sizeof.register(Tensor, nbytes)
