"""joblib: tensors in its workers and files, and their hashes."""

from joblib.externals.loky.backend.reduction import register
from joblib.hashing import Hasher
from joblib.numpy_pickle import NumpyPickler

from .._base.dtypes import TYPESTRS, strided
from .._core.tensor import Tensor
from .._data.dlpack import from_numpy


def is_plain(tensor):
    """Returns whether a tensor is fully described by its elements."""
    if tensor.layout is not strided or tensor.device.type != "cpu" or tensor.is_quantized:
        return False
    return not (tensor.requires_grad or tensor.has_names() or tensor.__dict__)


def reduce(tensor):
    """Reduces a tensor to an array: joblib maps large arrays into workers, and files on request."""
    return (from_numpy, (tensor.numpy(),)) if tensor.dtype in TYPESTRS and is_plain(tensor) else tensor.__reduce_ex__(2)


def dump(pickler, tensor):
    pickler.save_reduce(*reduce(tensor), obj=tensor)


def identify(hasher, tensor):
    """Hashes a tensor by dtype, shape and elements, but not by its strides, which a pickle contains."""
    if is_plain(tensor):
        hasher.save((Tensor, str(tensor.dtype), tuple(tensor.shape), tensor.tobytes()))
    else:
        hasher.save_reduce(*tensor.__reduce_ex__(hasher.proto), obj=tensor)


register(Tensor, reduce)
NumpyPickler.dispatch[Tensor] = dump
Hasher.dispatch[Tensor] = identify
