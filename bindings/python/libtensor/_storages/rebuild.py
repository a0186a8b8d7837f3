"""The functions that PyTorch's files call to create tensors from storages. libtensor._utils, _tensor and serialization export them under
the names in files.
"""

from .._base import dtypes as _dtypes
from .._core.owner import TypedStorage
from .._core.results import types as result_types
from .._core.tensor import Tensor
from .._data import create as _create
from .._gen import gen_functions as _f
from .serialize import as_read

NAMES_KEY = "names="  # begins the metadata key with the names of dimensions, separated by commas


def strided(storage, dtype, offset, size, stride):
    """Returns the tensor over a storage. Its bytes are read as elements of `dtype`."""
    untyped = storage.untyped()
    made = _f.empty(0, dtype=dtype, device=untyped.device)
    return made.set_(untyped, offset, tuple(size), tuple(stride))


def dtype_of(storage):
    """Returns the dtype of a typed storage; uint8 for untyped ones."""
    return storage.dtype if isinstance(storage, TypedStorage) else _dtypes.uint8


def as_described(tensor, requires_grad, metadata):
    """Returns the tensor with the flags from a file: conjugation, negation, and the names of its dimensions."""
    metadata = metadata or {}
    tensor = as_read(tensor, metadata.get("conj"), metadata.get("neg"))
    for key in metadata:
        if isinstance(key, str) and key.startswith(NAMES_KEY):
            tensor = tensor.rename_(*(name or None for name in key.removeprefix(NAMES_KEY).split(",")))
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_tensor(storage, storage_offset, size, stride):
    """Returns the tensor of shape `size` over `storage`."""
    return strided(storage, dtype_of(storage), storage_offset, size, stride)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """Returns the tensor of shape `size` over `storage`. `backward_hooks` is an empty dictionary, for compatibility."""
    return as_described(_rebuild_tensor(storage, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    """Returns the tensor of shape `size` and of `dtype` over `storage`, whose own dtype is ignored."""
    return as_described(strided(storage, dtype, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad, metadata=None):
    """Returns a tensor on the meta device."""
    return as_described(_f.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta"), requires_grad, metadata)


def _rebuild_sparse_tensor(layout, data):
    """Returns a sparse tensor from (indices, values, size, is_coalesced), or (compressed indices, plain indices, values, size), which are
    checked.
    """
    if layout is _dtypes.sparse_coo:
        indices, values, size, *rest = data
        return _f.sparse_coo_tensor(indices, values, size, is_coalesced=bool(rest and rest[0]) or None)
    *parts, size = data
    return _f.sparse_compressed_tensor(*parts, size, layout=layout)


STORED = {_dtypes.quint8: _dtypes.uint8, _dtypes.qint8: _dtypes.int8, _dtypes.qint32: _dtypes.int32}


def _rebuild_qtensor(storage, storage_offset, size, stride, quantizer_params, requires_grad, backward_hooks):
    """Returns the quantized tensor over a storage. `quantizer_params` is (torch.per_tensor_affine, scale, zero point) or
    (torch.per_channel_affine, scales, zero points, axis).
    """
    dtype = dtype_of(storage)
    if dtype not in STORED:
        raise NotImplementedError(f"load(): quantized tensors of {dtype} are not supported; the dtypes are {', '.join(map(str, STORED))}")
    scheme, scale, zero, *axis = quantizer_params
    integers = strided(storage, STORED[dtype], storage_offset, size, stride)
    if scheme is _dtypes.NAMES["per_tensor_affine"]:
        return _f.make_per_tensor_quantized_tensor(integers, scale, zero)
    scale, zero = (value if isinstance(value, Tensor) else _create.tensor(value) for value in (scale, zero))
    return _f.make_per_channel_quantized_tensor(integers, scale, zero, *axis)


def _get_layout(name):
    """Returns the layout of a name, such as "torch.strided"."""
    return _dtypes.NAMES[name.removeprefix("torch.")]


def result_of(name):
    """Returns the function that creates an instance of a result type from its values, as files call PyTorch's types."""

    def make(values, more=None):
        return result_types[name](values)

    return make


def state_of(tensor):
    """Returns the attributes of a tensor, as _rebuild_from_type_v2 takes them."""
    kind = type(tensor)
    own = [each for each in kind.__mro__ if each not in Tensor.__mro__]
    if any("__getstate__" in vars(each) for each in own):
        return tensor.__getstate__()
    slots = {}
    for each in own:
        listed = vars(each).get("__slots__", ())
        for name in (listed,) if isinstance(listed, str) else listed:
            name = f"_{each.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            if name not in ("__dict__", "__weakref__") and hasattr(tensor, name):
                slots[name] = getattr(tensor, name)
    return (tensor.__dict__, slots) if slots else tensor.__dict__


def metadata_of(tensor):
    """Returns the flags of as_described, in a tuple that is empty without any."""
    flags = [name for name, found in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if found]
    if tensor.has_names():
        flags.append(NAMES_KEY + ",".join(name or "" for name in tensor.names))
    return (dict.fromkeys(flags, True),) if flags else ()


for _made in (
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_meta_tensor_no_storage,
    _rebuild_sparse_tensor,
    _rebuild_qtensor,
):
    _made.__module__ = "libtensor._utils"
_get_layout.__module__ = "libtensor.serialization"
