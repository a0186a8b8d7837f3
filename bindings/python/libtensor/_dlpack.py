"""DLPack, both ways (dmlc.github.io/dlpack, versions 0.8 and 1.0)."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, py_object

from . import _dtypes
from . import gen_functions as _f
from ._interop import lend, share
from ._tensor import Tensor


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", DLTensor), ("context", c_void_p), ("deleter", c_void_p)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", DLTensor),
    ]


READ_ONLY, COPIED = 1, 2
CPU, CUDA = 1, 2
KINDS = {  # DLDataTypeCode and bits
    _dtypes.bool_: (6, 8),
    _dtypes.uint8: (1, 8),
    _dtypes.int8: (0, 8),
    _dtypes.int16: (0, 16),
    _dtypes.int32: (0, 32),
    _dtypes.int64: (0, 64),
    _dtypes.float16: (2, 16),
    _dtypes.bfloat16: (4, 16),
    _dtypes.float32: (2, 32),
    _dtypes.float64: (2, 64),
    _dtypes.complex64: (5, 64),
    _dtypes.complex128: (5, 128),
}
DTYPES = {kind: dtype for dtype, kind in KINDS.items()}

api = ctypes.pythonapi
capsule_new = CFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", api))
# The argument is an address and not an object: a destructor's capsule must not be counted again.
capsule_is = api.PyCapsule_IsValid
capsule_is.argtypes, capsule_is.restype = [c_void_p, c_char_p], c_int
capsule_pointer = api.PyCapsule_GetPointer
capsule_pointer.argtypes, capsule_pointer.restype = [c_void_p, c_char_p], c_void_p
capsule_rename = api.PyCapsule_SetName
capsule_rename.argtypes, capsule_rename.restype = [py_object, c_char_p], c_int

NAME, VERSIONED_NAME = b"dltensor", b"dltensor_versioned"
USED_NAME, USED_VERSIONED_NAME = b"used_dltensor", b"used_dltensor_versioned"

# What was exported, by the address of its struct, until the consumer calls the deleter.
exported = {}
Deleter = CFUNCTYPE(None, c_void_p)


@Deleter
def forget(address, take=exported.pop):
    take(address, None)


@Deleter
def discard(capsule):
    """Frees what nobody consumed."""
    for name in (NAME, VERSIONED_NAME):
        if capsule_is(capsule, name):
            exported.pop(capsule_pointer(capsule, name), None)


def device(tensor):
    found = tensor.device
    if found.type == "meta":
        raise BufferError("a meta tensor has no data to export through DLPack")
    return (CPU, 0) if found.type == "cpu" else (CUDA, found.index)


def export(tensor, stream, max_version, dl_device, copy):
    if tensor.dtype not in KINDS:
        raise BufferError(f"DLPack has no type for {tensor.dtype}")
    if stream is not None and tensor.is_cpu:
        raise BufferError("stream must be None for a tensor on the CPU")
    here = device(tensor)
    if dl_device is not None and tuple(dl_device) != here:
        if tuple(dl_device) != (CPU, 0) or copy is False:
            raise BufferError(f"a tensor on device {here} cannot be exported to device {tuple(dl_device)}")
        tensor, here = tensor.cpu(), (CPU, 0)
        copy = None
    if copy:
        tensor = tensor.clone()
    versioned = max_version is not None and max_version[0] >= 1
    read_only = _f.is_read_only(tensor)
    if read_only and not versioned:
        raise BufferError("a read-only tensor needs DLPack 1.0, which the consumer does not ask for; export a copy")
    managed = (Versioned if versioned else Managed)()
    n = tensor.dim()
    shape, strides = (c_int64 * max(n, 1))(*tensor.shape), (c_int64 * max(n, 1))(*tensor.stride())
    code, bits = KINDS[tensor.dtype]
    managed.tensor = DLTensor(lend(tensor) or None, *here, n, code, bits, 1, shape, strides, 0)
    managed.deleter = ctypes.cast(forget, c_void_p)
    if versioned:
        managed.major, managed.minor = 1, 0
        managed.flags = READ_ONLY * read_only | COPIED * bool(copy)
    address = ctypes.addressof(managed)
    exported[address] = tensor, managed, shape, strides
    return capsule_new(address, VERSIONED_NAME if versioned else NAME, ctypes.cast(discard, c_void_p))


class Import:
    """A consumed DLPack tensor: its deleter runs with the last tensor over it."""

    def __init__(self, managed):
        self.managed = managed

    def __del__(self, cast=ctypes.cast, deleter=Deleter):
        if self.managed.deleter:
            cast(self.managed.deleter, deleter)(ctypes.addressof(self.managed))


def to_dlpack(tensor):
    """The tensor as a DLPack capsule."""
    return tensor.__dlpack__()


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of an object with __dlpack__, or of a DLPack capsule."""
    made = ext_tensor.detach() if isinstance(ext_tensor, Tensor) else consume(capsule_of(ext_tensor, copy))
    if device is not None:
        made = made.to(device)
    return made.clone() if copy and isinstance(ext_tensor, Tensor) else made


def capsule_of(ext, copy):
    if not hasattr(ext, "__dlpack__"):
        return ext
    if ext.__dlpack_device__()[0] != CPU:
        raise BufferError(f"from_dlpack(): device {tuple(ext.__dlpack_device__())} is not available")
    options = {} if copy is None else {"copy": copy}
    try:
        return ext.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        return ext.__dlpack__()


def consume(capsule):
    address = id(capsule)
    if type(capsule).__name__ != "PyCapsule":
        raise TypeError(f"from_dlpack(): an object with __dlpack__ or a DLPack capsule is needed, not {type(capsule).__name__}")
    if capsule_is(address, VERSIONED_NAME):
        name, used, kind = VERSIONED_NAME, USED_VERSIONED_NAME, Versioned
    elif capsule_is(address, NAME):
        name, used, kind = NAME, USED_NAME, Managed
    else:
        raise ValueError("from_dlpack(): the capsule was consumed before, or holds no DLPack tensor")
    managed = kind.from_address(capsule_pointer(address, name))
    if kind is Versioned and managed.major > 1:
        raise BufferError(f"from_dlpack(): DLPack version {managed.major}.{managed.minor} is newer than 1")
    found = managed.tensor
    dtype = DTYPES.get((found.code, found.bits))
    if dtype is None or found.lanes != 1:
        raise BufferError(f"from_dlpack(): no dtype for DLPack type code {found.code} with {found.bits} bits and {found.lanes} lanes")
    if found.device_type != CPU:
        raise BufferError(f"from_dlpack(): device type {found.device_type} is not available")
    size = tuple(found.shape[: found.ndim])
    stride = tuple(found.strides[: found.ndim]) if found.strides else None
    if stride is not None and any(s < 0 for s in stride):
        raise BufferError(f"from_dlpack(): strides {stride}: negative strides are not supported")
    count = 1
    for n in size:
        count *= n
    if count and stride is not None:
        count = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1
    read_only = kind is Versioned and bool(managed.flags & READ_ONLY)
    capsule_rename(capsule, used)
    owner = Import(managed)
    return share((found.data or 0) + found.byte_offset, count * dtype.itemsize, dtype, size, stride, owner, read_only)
