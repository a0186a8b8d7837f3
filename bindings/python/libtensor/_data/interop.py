"""Memory shared with other libraries through the array interface and Python's buffer protocol; elements as lists."""

from __future__ import annotations

import ctypes
import itertools
import sys
from ctypes import PYFUNCTYPE, c_int, c_ssize_t, c_void_p, py_object

from .._base import direct as _direct
from .._base import dtypes as _dtypes
from .._base.errors import in_name_of
from .._base.library import SUBINTERPRETER, called_back
from .._core.modes import is_grad_enabled
from .._gen import gen_functions as _f

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

FROM_TYPESTR = {text: dtype for dtype, text in _dtypes.TYPESTRS.items()}
KINDS = (
    {"?": "b"}
    | dict.fromkeys("bhilqn", "i")
    | dict.fromkeys("BHILQN", "u")
    | dict.fromkeys(("e", "f", "d"), "f")
    | dict.fromkeys(("Zf", "Zd"), "c")
)


LEGACY_STREAM = 1  # a handle of the driver for the legacy default stream, which is not 0


def current_handle(device):
    """Returns the driver's handle of the current stream of a device, as the protocols require it: that of the default stream is not 0."""
    return _f.stream_handle(_f.stream_current(device)) or LEGACY_STREAM


def of_format(view):
    """Returns the dtype for the format of a memoryview, None for other formats. `itemsize` is the number of bytes of an element."""
    order = view.format[:1] if view.format[:1] in "@=<>!" else ""
    if order in (">", "!") and view.itemsize > 1:
        raise ValueError(f"asarray(): the buffer's elements, of the format {view.format!r}, do not have the native byte order")
    found = f"{KINDS.get(view.format.removeprefix(order))}{view.itemsize}"
    return FROM_TYPESTR.get("<" + found) or FROM_TYPESTR.get("|" + found)


class PyBuffer(ctypes.Structure):
    """Py_buffer of Python's C API."""

    _fields_ = [
        ("buf", c_void_p),
        ("obj", c_void_p),
        ("len", c_ssize_t),
        ("itemsize", c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_void_p),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("suboffsets", c_void_p),
        ("internal", c_void_p),
    ]


def python_function(name, result, *arguments):
    """Returns a function of Python's C API with its own declaration: other modules may declare it differently."""
    return PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


get_buffer = python_function("PyObject_GetBuffer", c_int, py_object, c_void_p, c_int)
release_buffer = python_function("PyBuffer_Release", None, c_void_p)


class Buffer:
    """The memory of an object with the buffer protocol, until release()."""

    def __init__(self, obj):
        self.view = PyBuffer()
        try:
            get_buffer(obj, ctypes.addressof(self.view), 1)  # PyBUF_WRITABLE
        except BufferError:
            get_buffer(obj, ctypes.addressof(self.view), 0)  # PyBUF_SIMPLE
        self.address, self.nbytes, self.readonly = self.view.buf, self.view.len, bool(self.view.readonly)

    def release(self, end=release_buffer, address=ctypes.addressof):
        end(address(self.view))


# Owners of memory that tensors share, by the context that C receives, until the last such tensor is freed.
owners: dict[int, Any] = {}
contexts = itertools.count(1)  # not NULL


@called_back(None, c_void_p)
def release(context, take=owners.pop, buffer=Buffer):
    owner = take(context, None)
    if isinstance(owner, buffer):
        owner.release()


# In a subinterpreter the owners exist until it ends: the library could free a tensor later and call a function that no longer exists.
deleter = None if SUBINTERPRETER else ctypes.cast(release, c_void_p).value


def share(address, nbytes, dtype, size, stride, owner, read_only, device="cpu"):
    """Returns a tensor over the memory of `owner`, on a device."""
    context = next(contexts)
    owners[context] = owner
    try:
        return _f.from_blob(device, address or None, nbytes, dtype, size, stride, deleter, context, read_only)
    except BaseException:
        release(context)
        raise


def is_integers(value):
    return isinstance(value, tuple) and all(hasattr(v, "__index__") for v in value)


FOREIGN_ORDER = ">" if sys.byteorder == "little" else "<"  # prefix of the type string of the other byte order

# The required fields of an array interface: the key, the check of its value, and its description.
INTERFACE = (
    ("typestr", lambda v: isinstance(v, str), "a str such as '<f4'"),
    ("shape", lambda v: is_integers(v) and all(n.__index__() >= 0 for n in v), "a tuple of ints that are not negative"),
    ("strides", lambda v: v is None or is_integers(v), "a tuple of ints, or None"),
    (
        "data",
        lambda v: isinstance(v, tuple) and len(v) == 2 and is_integers(v[:1]),
        "a tuple of an address, an int, and whether it is read-only",
    ),
)


# The address of empty tensors: NumPy does not accept a null pointer.
NOWHERE = ctypes.create_string_buffer(max(t.itemsize for t in _dtypes.TYPESTRS))
NO_ELEMENTS = ctypes.addressof(NOWHERE)


def interface_of(data, name="__array_interface__"):
    """Returns the type, sizes, strides, address and read-only flag of an array interface. Raises TypeError or ValueError for invalid
    fields.
    """
    interface = getattr(data, name)
    kind = type(data).__name__
    if not isinstance(interface, dict):
        raise TypeError(f"{name} of {kind} must be a dict, not {type(interface).__name__}")
    for key, fits, wanted in INTERFACE:
        value = interface.get(key)
        if not fits(value):
            raise TypeError(f"{name} of {kind}: '{key}' must be {wanted}, not {value!r}")
    size, stride, (address, read_only) = interface["shape"], interface.get("strides"), interface["data"]
    if stride is not None and len(stride) != len(size):
        raise ValueError(f"{name} of {kind}: {len(stride)} strides {stride} for {len(size)} sizes {size}")
    if not 0 <= address.__index__() < 2**64 or not address and 0 not in size:
        raise ValueError(f"{name} of {kind}: the address {address} is invalid for elements of shape {size}")
    return interface["typestr"], size, stride, address.__index__(), bool(read_only)


def from_cuda(data):
    """Returns a tensor over the device memory of __cuda_array_interface__. The current stream waits for the stream that it contains."""
    name = "__cuda_array_interface__"
    interface = getattr(data, name)
    if isinstance(interface, dict) and interface.get("mask") is not None:
        raise ValueError(f"{name} of {type(data).__name__}: arrays with a mask are not supported")
    address = interface_of(data, name)[3]
    with in_name_of(f"{name} of {type(data).__name__}"):
        device = _f.device_of_pointer("cuda", address or None)
    stream = interface.get("stream")
    if stream is not None and address:
        _f.stream_wait_stream(_f.stream_current(device), _f.stream_external(device, stream))
    return from_interface(data, name, device)


def from_interface(data, name="__array_interface__", device="cpu"):
    """Returns a tensor over the memory of an array interface, or over a copy for negative strides and unaligned elements."""
    text, size, stride, address, read_only = interface_of(data, name)
    dtype = FROM_TYPESTR.get(text)
    if dtype is None:
        if text.startswith(FOREIGN_ORDER):
            raise ValueError(
                f"given numpy array has byte order different from the native byte order ('{text}'), which tensors do not support; "
                "use array.byteswap().view(array.dtype.newbyteorder()), or tensor(array), which copies"
            )
        if text == "|O":
            raise TypeError(
                "can't convert an array of Python objects (type '|O'); convert it with astype(), or pass its tolist() to tensor()"
            )
        raise TypeError(
            f"can't convert an array of type '{text}'. The only supported types are: {', '.join(d.name for d in _dtypes.TYPESTRS)}."
        )
    alignment = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if device == "cpu" and 0 not in size and (address % alignment or any(s < 0 or s % dtype.itemsize for s in stride or ())):
        import numpy

        return from_interface(numpy.array(data, order="C")).clone()
    if stride is not None:
        if any(s < 0 or s % dtype.itemsize for s in stride):
            raise ValueError(
                f"{name} of {type(data).__name__}: strides {stride} must be multiples of {dtype.itemsize}, and not negative; copy the "
                "elements"
            )
        span = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + dtype.itemsize
        stride = tuple(s // dtype.itemsize for s in stride)
    else:
        span = dtype.itemsize
        for n in size:
            span *= n
    return share(address, 0 if 0 in size else span, dtype, size, stride, data, read_only, device)


def reachable(tensor, what):
    """Raises TypeError for tensors whose memory other libraries cannot read."""
    if tensor.layout is not _dtypes.strided:
        raise TypeError(f"can't convert {tensor.layout} layout tensor to {what}. Use Tensor.to_dense() first.")
    if tensor.device.type != "cpu":
        raise TypeError(
            f"can't convert {tensor.device} device type tensor to {what}. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if tensor.dtype not in _dtypes.TYPESTRS:
        convert = "dequantize() the tensor" if tensor.is_quantized else "convert the tensor to another dtype"
        name = tensor.dtype.name.capitalize() if tensor.dtype in _dtypes.FLOAT8 else tensor.dtype.name
        raise TypeError(f"Got unsupported ScalarType {name}; {convert} for {what} first")


def resolved(tensor):
    """Returns the tensor with conjugation and negation computed."""
    return tensor.resolve_conj().resolve_neg()


def lendable(tensor):
    """Returns a tensor to export as an array. A tensor that requires grad is exported only if grad mode is disabled."""
    if tensor.is_conj():
        raise RuntimeError("Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead.")
    if tensor.is_neg():
        raise RuntimeError("Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead.")
    if not tensor.requires_grad:
        return tensor
    if is_grad_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return tensor.detach()


def strides_of(tensor):
    """Returns the strides of an array interface in bytes; None for contiguous elements."""
    return None if tensor.is_contiguous() else tuple(s * tensor.itemsize for s in tensor.stride())


class NotLentError(AttributeError, RuntimeError):
    """The tensor has no array interface; hasattr() returns False."""


def lend(tensor):
    """Returns a tensor that keeps the memory alive for the array, and its array interface."""
    try:
        reachable(tensor, "numpy")
        with in_name_of("numpy"):
            held, address, read_only = _f.lend(lendable(tensor))
    except (RuntimeError, TypeError) as error:
        raise NotLentError(str(error)) from None
    if not held.numel():
        address = NO_ELEMENTS
    return held, {
        "shape": tuple(held.shape),
        "strides": strides_of(held),
        "typestr": _dtypes.TYPESTRS[held.dtype],
        "data": (address, read_only),
        "version": 3,
    }


def array_interface(tensor):
    """Returns the array interface. The tensor keeps the exported memory."""
    held, interface = lend(tensor)
    try:
        kept = tensor._lent
    except AttributeError:
        kept = tensor._lent = {}
    kept[interface["data"]] = held
    return interface


def cuda_array_interface(tensor):
    """Returns the array interface of memory on a CUDA device. The consumer must order its reads after the current stream."""
    if not tensor.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor on {tensor.device}. "
            "If CUDA data is required use tensor.cuda() to copy tensor to device memory."
        )
    if tensor.layout is not _dtypes.strided or tensor.dtype not in _dtypes.TYPESTRS:
        raise AttributeError(f"Can't get __cuda_array_interface__ on a {tensor.layout} tensor of {tensor.dtype}")
    held, address, read_only = _f.lend(tensor)
    kept = tensor.__dict__.setdefault("_lent", {})
    kept[address] = held
    return {
        "shape": tuple(held.shape),
        "strides": strides_of(held),
        "typestr": _dtypes.TYPESTRS[held.dtype],
        "data": (address or 0, read_only),
        "version": 3,
        "stream": current_handle(tensor.device),
    }


class View:
    """The base object of a NumPy array over a tensor's memory."""

    __slots__ = ("held", "__array_interface__")

    def __init__(self, tensor):
        self.held, self.__array_interface__ = lend(tensor)


@_direct.getter(_direct.BYTES, "tensor_hold")
def raw_bytes(tensor):
    """Returns the bytes of the elements in row-major order."""
    return raw_bytes(resolved(tensor.cpu()).contiguous()) if tensor.numel() else b""


def elements(tensor):
    """Returns the bytes of the elements, for tobytes() and bytes()."""
    if tensor.layout is not _dtypes.strided:
        raise NotImplementedError(f"tobytes is not implemented for {tensor.layout.name} tensors; convert with to_dense()")
    if tensor.is_quantized:
        raise NotImplementedError("tobytes is not implemented for quantized tensors; use int_repr() or dequantize()")
    if tensor.is_meta:
        raise NotImplementedError("a meta tensor has no data")
    return raw_bytes(tensor)


def strides(tensor):
    if tensor.layout is not _dtypes.strided:
        raise AttributeError(f"strides: not supported for tensors of layout {tensor.layout.name}")
    return tuple(step * tensor.dtype.itemsize for step in tensor.stride())


WRITABLE = 1  # flags of a buffer request, as in Python's C API


def no_buffer(tensor, flags):
    """Raises BufferError with the reason why a buffer of the requested kind is not available."""
    try:
        reachable(tensor, "a buffer")
    except TypeError as error:
        raise BufferError(str(error)) from None
    if tensor.requires_grad:
        raise BufferError("a tensor that requires grad cannot be exported as a buffer; export its detach()")
    if tensor.is_conj() or tensor.is_neg():
        raise BufferError(
            "Can't export tensors with the conjugate or the negative bit set; resolve_conj() and resolve_neg() compute the elements"
        )
    if _f.lend(tensor)[2] and flags & WRITABLE:
        raise BufferError("the tensor is read-only, but a writable buffer was requested; clone() it")
    raise BufferError(
        f"a contiguous buffer was requested, but the tensor of sizes {list(tensor.shape)} has strides {list(tensor.stride())}; "
        "call contiguous() first"
    )


def storage_of_buffer(buffer, byte_order, count, offset, dtype):
    """Returns a storage with a copy of the elements of a buffer in native byte order."""
    if byte_order not in ("native", "little", "big"):
        raise ValueError(f"from_buffer: byte_order is '{byte_order}'; expected 'native', 'little' or 'big'")
    raw = memoryview(buffer).cast("B")[offset:]
    nbytes = len(raw) // dtype.itemsize * dtype.itemsize if count < 0 else count * dtype.itemsize
    if nbytes > len(raw):
        raise ValueError(f"from_buffer: {count} elements of {dtype} require {nbytes} bytes, but {len(raw)} follow offset {offset}")
    made = _f.untyped_storage(_f.from_data(bytes(raw[:nbytes]) if nbytes else None, (nbytes,), dtype=_dtypes.uint8))
    if byte_order not in ("native", sys.byteorder):
        made.byteswap(dtype)
    return made
