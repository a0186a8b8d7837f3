"""Pickling and copying."""

from __future__ import annotations

from .._base import overrides as _overrides
from .._base.dtypes import sparse_bsr, sparse_coo, sparse_csr, strided
from .._base.errors import wrong_type
from .._core.tensor import Tensor, as_leaf, as_object, with_names
from .._data.interop import raw_bytes
from .._gen import gen_functions as _f

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any


def packed(tensor):
    """Returns the strides of a tensor whose elements fill their storage, or that has none; otherwise None, for a compact copy."""
    if not tensor.numel() or tensor.untyped_storage().nbytes() == tensor.nbytes:
        return tensor.stride()
    return None


def flat(tensor):
    """Returns all elements of a tensor that fills its storage, in storage order."""
    return _f.as_strided(tensor, (tensor.numel(),), (1,), 0)


def parts(tensor):
    """Returns the dense tensors of a sparse one."""
    if tensor.layout is sparse_coo:
        return [_f.coo_indices(tensor), _f.coo_values(tensor)]
    if tensor.layout in (sparse_csr, sparse_bsr):
        return [_f.crow_indices(tensor), _f.col_indices(tensor), _f.values(tensor)]
    return [_f.ccol_indices(tensor), _f.row_indices(tensor), _f.values(tensor)]


def whole(tensor: Any, reduce: Any) -> tuple[Any, ...]:
    """Returns the reduced form of a tensor with its names, class, requires_grad and attributes; `reduce` returns that of the elements."""
    with _overrides.disabled():
        made = reduce(tensor)
        if tensor.has_names():
            made = with_names, (tensor.names, *made)
    kind = type(tensor)
    made = made if kind is Tensor else (as_object, (kind, *made))
    return *((as_leaf, made) if tensor.requires_grad else made), tensor.__dict__ or None


def reduce(tensor: Any) -> tuple[Any, ...]:
    if tensor.layout is not strided:
        coalesced = _f.is_coalesced(tensor) if tensor.layout is sparse_coo else None
        return rebuild_sparse, (tensor.layout, [part.detach() for part in parts(tensor)], tuple(tensor.shape), coalesced)
    if tensor.is_quantized:
        if tensor.is_meta:
            raise NotImplementedError(
                "pickle: a quantized tensor on device meta cannot be pickled: the format has no quantized tensors without elements; "
                "pickle its int_repr() instead"
            )
        return rebuild_quantized, (_f.int_repr(tensor), *parameters(tensor))
    if tensor.is_conj() or tensor.is_neg():
        return lazily(tensor, reduce)
    if tensor.is_meta:
        return rebuild_meta, (tuple(tensor.shape), tensor.stride(), tensor.dtype)
    stride = packed(tensor)
    data = raw_bytes(tensor if stride is None else flat(tensor))
    return rebuild, (data, tuple(tensor.shape), stride, tensor.dtype, str(tensor.device))


def lazily(tensor: Any, reduce: Any) -> tuple[Any, ...]:
    """Returns the reduced form of a conjugated or negated view; `reduce` returns that of its memory."""
    conj, neg = tensor.is_conj(), tensor.is_neg()
    plain = as_read(tensor.detach(), conj, neg)
    return rebuild_lazy, (conj, neg, *reduce(plain))


def rebuild_lazy(conj, neg, rebuild, parameters):
    """Returns the conjugated or negated view of a pickle."""
    return as_read(rebuild(*parameters), conj, neg)


def as_read(tensor, conj, neg):
    """Returns a view of a tensor with the conjugate or negative bit toggled."""
    if conj:
        tensor = _f.conj(tensor)
    return _f.neg_view(tensor) if neg else tensor


def rebuild(data, size, stride, dtype, device):
    """Returns the tensor of a pickle."""
    n = len(data) // dtype.itemsize
    if not n:
        made = _f.empty_strided(size, stride, dtype=dtype)
    else:
        made = _f.from_data(data, (n,), dtype=dtype)
        made = made.reshape(size) if stride is None else _f.as_strided(made, size, stride, 0)
    return made if device == "cpu" else made.to(device)


def rebuild_sparse(layout, parts, size, coalesced):
    """Returns the sparse tensor of a pickle, whose indices are checked."""
    if layout is sparse_coo:
        return _f.sparse_coo_tensor(*parts, size, is_coalesced=coalesced or None)
    return _f.sparse_compressed_tensor(*parts, size, layout=layout)


def parameters(tensor):
    """Returns the quantization parameters, for rebuild_quantized()."""
    if _f.qscheme(tensor) == "per_tensor_affine":
        return _f.q_scale(tensor), _f.q_zero_point(tensor)
    return _f.q_per_channel_scales(tensor), _f.q_per_channel_zero_points(tensor), _f.q_per_channel_axis(tensor)


def rebuild_quantized(integers, *parameters):
    """Returns the quantized tensor of a pickle, whose parameters are checked."""
    make = _f.make_per_tensor_quantized_tensor if len(parameters) == 2 else _f.make_per_channel_quantized_tensor
    return make(integers, *parameters)


def rebuild_meta(size, stride, dtype):
    return _f.empty_strided(size, stride, dtype=dtype, device="meta")


def deepcopy(tensor, memo):
    """Returns a deep copy; tensors that share a storage share its copy."""
    if not isinstance(tensor, Tensor):
        raise wrong_type("deepcopy", "tensor", "Tensor", tensor)
    if id(tensor) in memo:
        return memo[id(tensor)]
    if tensor.layout is not strided or tensor.is_quantized or tensor.is_conj() or tensor.is_neg():
        made = tensor.detach().clone()
    elif tensor.is_meta:
        made = rebuild_meta(tensor.shape, tensor.stride(), tensor.dtype)
    else:
        storage = tensor.untyped_storage()
        copied = storage.__deepcopy__(memo) if storage.data_ptr() else storage.clone()
        made = _f.empty(0, dtype=tensor.dtype, device=tensor.device)
        made = made.set_(copied, tensor.storage_offset(), tensor.shape, tensor.stride())
    if tensor.has_names():
        made.names = tensor.names
    memo[id(tensor)] = made
    return made
