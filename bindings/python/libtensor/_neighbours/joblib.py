"""How joblib sends tensors to its workers, keeps them in files, and tells equal ones by a hash."""

from joblib.externals.loky.backend.reduction import register
from joblib.hashing import Hasher
from joblib.numpy_pickle import NumpyPickler

from .._base.dtypes import strided
from .._core.tensor import Tensor
from .._data.dlpack import from_numpy
from .._data.interop import TYPES


def is_plain(tensor):
    """Tells whether a tensor is no more than its elements."""
    if tensor.layout is not strided or tensor.device.type != "cpu" or tensor.is_quantized:
        return False
    return not (tensor.requires_grad or tensor.has_names() or tensor.__dict__)


def reduce(tensor):
    """A tensor's pickle, by way of an array: joblib maps large ones for workers, which have it but once, and those of files if asked."""
    return (from_numpy, (tensor.numpy(),)) if tensor.dtype in TYPES and is_plain(tensor) else tensor.__reduce_ex__(2)


def dump(pickler, tensor):
    pickler.save_reduce(*reduce(tensor), obj=tensor)


def identify(hasher, tensor):
    """Gives a hash what makes tensors equal: the strides, which a pickle has, do not."""
    if is_plain(tensor):
        hasher.save((Tensor, str(tensor.dtype), tuple(tensor.shape), tensor.tobytes()))
    else:
        hasher.save_reduce(*tensor.__reduce_ex__(hasher.proto), obj=tensor)


register(Tensor, reduce)
NumpyPickler.dispatch[Tensor] = dump
Hasher.dispatch[Tensor] = identify
