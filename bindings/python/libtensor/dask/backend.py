"""Dask's creation functions with tensors as chunks, under dask.config.set({"array.backend": "libtensor"})."""

import dask.array
from dask.array.backends import ArrayBackendEntrypoint
from numpy.random import RandomState

from .._core.tensor import Tensor
from .._data.create import asarray
from .._gen import gen_functions as _f
from .random import Bits


def of_tensors(name):
    """Returns a Dask creation function whose chunks are tensors."""

    def create(*args, meta=None, **kwargs):
        with dask.config.set({"array.backend": "numpy"}):
            return getattr(dask.array, name)(*args, meta=_f.empty(()) if meta is None else meta, **kwargs)

    return staticmethod(create)


class Backend(ArrayBackendEntrypoint):
    """Dask's backend for tensors: the same functions, arguments, dtypes and random numbers as for NumPy.

    `x.to_backend("libtensor")` converts NumPy chunks to tensors, and `x.to_backend("numpy")` back, without copies.
    """

    ones, zeros, empty, full = map(of_tensors, ("ones", "zeros", "empty", "full"))
    RandomState, default_bit_generator = RandomState, Bits

    @staticmethod
    def arange(*args, like=None, **kwargs):
        with dask.config.set({"array.backend": "numpy"}):
            return dask.array.arange(*args, like=_f.empty(()) if like is None else like, **kwargs)

    @classmethod
    def to_backend_dispatch(cls):
        return asarray

    @classmethod
    def to_backend(cls, data, **kwargs):
        return data if isinstance(data._meta, Tensor) else data.map_blocks(asarray, **kwargs)
