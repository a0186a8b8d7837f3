"""Serialization of tensors between processes: a header, and the bytes of the elements in memory order."""

from math import prod
from typing import Any

from .._base.dtypes import named, strided, uint8
from .._core.tensor import Tensor
from .._data.create import frombuffer
from .._gen import gen_functions as _f
from .inbox import ANNOUNCED, LEAST, inbox, post


def parts(tensor):
    """Returns the header and the bytes of a tensor. Dimensions are sent in the order of their strides, so that dense tensors are not
    copied, and expanded ones with a single element.
    """
    if (
        type(tensor) is not Tensor
        or tensor.__dict__
        or tensor.layout is not strided
        or tensor.is_quantized
        or tensor.is_meta
        or tensor.has_names()
    ):
        raise NotImplementedError(
            f"a {type(tensor).__name__} of {tensor.dtype} on {tensor.device} cannot be serialized as frames; it is pickled"
        )
    sent = tensor.detach()
    for dim, (size, stride) in enumerate(zip(sent.shape, sent.stride(), strict=True)):
        if size > 1 and not stride:
            sent = _f.narrow(sent, dim, 0, 1)
    order = sent.dim_order()
    sent = _f.permute(sent, order).contiguous().cpu()
    header: dict[str, Any] = {"dtype": tensor.dtype.name, "shape": tuple(tensor.shape), "sent": tuple(sent.shape), "order": order}
    header |= {"device": str(tensor.device), "requires_grad": tensor.requires_grad}
    if not sent.numel():
        return header, memoryview(b"")
    # Dimensions of size 1 can have any strides.
    return header, memoryview(_f.view(_f.as_strided(sent, (sent.numel(),), (1,)), uint8).numpy())


def serialize(tensor, context=None):
    """Returns Dask's header and frames. Large tensors go to the inbox of a worker that has announced one."""
    header, frame = parts(tensor)
    context = context or {}
    address = context.get("recipient", {}).get(ANNOUNCED)
    letter = post(address, frame) if address and frame.nbytes >= LEAST else None
    if letter:
        return header | {"letter": letter}, []
    if frame.nbytes and context.get("sender", {}).get("address", "").startswith(("tcp:", "tls:")):
        # Dask splits long frames along their first dimension, and copies the parts together again. A single row is not split.
        frame = frame.cast("B", (1, frame.nbytes))
    # The second and later buffers of a message are received into separate, aligned memory.
    return header, [memoryview(bytearray()), frame]


def elements(frame, dtype):
    """Returns the elements of a frame, without a copy if its memory is writable and aligned."""
    if not frame.nbytes:
        return _f.empty((0,), dtype=dtype)
    made = frombuffer(frame, dtype=uint8)
    return _f.view(made.clone() if frame.readonly or made.data_ptr() % dtype.itemsize else made, dtype)


def deserialize(header, frames):
    dtype, order = named(header["dtype"]), header["order"]
    letter = header.get("letter")
    made = inbox().open(letter, dtype, prod(header["sent"])) if letter else elements(memoryview(frames[1]).cast("B"), dtype)
    made = _f.view(made, header["sent"])
    made = _f.expand(_f.permute(made, [order.index(dim) for dim in range(len(order))]), header["shape"])
    if header["device"] != "cpu":
        made = made.to(header["device"])
    return made.requires_grad_() if header["requires_grad"] else made


def token(tensor):
    """Returns the Dask token of a tensor: equal tensors have equal tokens."""
    try:
        header, frame = parts(tensor)
    except NotImplementedError:
        return "libtensor.Tensor", tensor.__reduce_ex__(4)
    from dask.hashing import hash_buffer_hex

    return "libtensor.Tensor", sorted(header.items()), hash_buffer_hex(frame)


def offer(protocol):
    """Registers tensors in distributed.protocol.serialize."""
    protocol.dask_serialize.register(Tensor, serialize)
    protocol.dask_deserialize.register(Tensor, deserialize)


def offer_tokens(tokenize):
    """Registers tensors in dask.tokenize."""
    tokenize.normalize_token.register(Tensor, token)
