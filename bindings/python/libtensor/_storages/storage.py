"""The methods of storages: bytes that tensors share."""

import ctypes

from .._base import device as _device
from .._base import dtypes as _dtypes
from .._base.extend import extends
from .._base.forked import shows
from .._core.convert import storage as checked
from .._core.owner import StorageBase, UntypedStorage
from .._data import interop as _interop
from .._devices import streams as _streams
from .._gen import gen_functions as _f
from . import sharing as _sharing


def readable(storage):
    """Raises an error for storages without data."""
    if storage.device.type == "meta":
        raise NotImplementedError("a storage on the meta device has no data")
    return storage


@extends(StorageBase)
class StorageBase:
    is_sparse = False

    @property
    def _cdata(self):
        """A number that identifies the storage: equal for all objects of one storage."""
        return self.untyped()._h

    def data_ptr(self):
        """Returns the address of the first byte, 0 for an empty storage."""
        return _f.storage_data_ptr(self.untyped())

    def nbytes(self):
        """Returns the size in bytes."""
        return _f.storage_nbytes(self.untyped())

    @property
    def device(self):
        return _f.storage_get_device(self.untyped())

    def get_device(self):
        """Returns the index of the device; -1 for the CPU."""
        index = self.device.index
        return -1 if index is None else index

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    @property
    def filename(self):
        """The mapped file that writes change; None for other storages."""
        return _f.storage_filename(self.untyped()) or None

    def resizable(self):
        return _f.storage_resizable(self.untyped())

    def is_shared(self):
        """Returns whether other processes can map the storage."""
        return _f.storage_is_shared(self.untyped()) or self.device.type == "meta"

    def share_memory_(self):
        """Moves the storage into shared memory, which other processes can map."""
        _f.storage_share_memory_(self.untyped())
        _sharing.register()
        return self

    def is_pinned(self, device=None):
        return _f.storage_is_pinned(self.untyped())

    def _within(self, i):
        """Returns a checked index of an element."""
        n = len(self)
        if not -n <= i.__index__() < n:
            raise IndexError(f"index {i} is out of range for a storage of size {n}")
        return i

    def cpu(self):
        return self.to(device="cpu")

    def cuda(self, device=None, non_blocking=False):
        return self.to(device=_streams.cuda(device))

    def tolist(self):
        return readable(self)._tensor().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __copy__(self):
        return self.clone()

    def __dir__(self):
        return [name for name in object.__dir__(self) if name[0] != "_" or name.startswith("__")]


@extends(UntypedStorage)
class UntypedStorage:
    is_sparse_csr = False

    def __new__(cls, size=0, *, device=None):
        if isinstance(size, int):
            return _f.storage_new(size, device=device)
        kind = type(size).__name__
        if not hasattr(size, "__iter__"):
            raise RuntimeError(f"torch.UntypedStorage(): expected a size or a sequence of bytes, but got {kind}")
        for item in size:
            if not isinstance(item, int):
                raise RuntimeError(f"torch.UntypedStorage(): an item of the sequence ({kind}) is {type(item).__name__} instead of int")
        data = bytes(item & 255 for item in size)
        self = _f.storage_new(len(data), device=device)
        if self.data_ptr():
            ctypes.memmove(self.data_ptr(), data, len(data))
        return self

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """Maps the first `nbytes` bytes of a file. With `shared`, writes change the file, which is created or enlarged if necessary."""
        return _f.storage_from_file(str(filename), shared=shared, nbytes=nbytes)

    @classmethod
    def from_buffer(cls, buffer, byte_order="native", count=-1, offset=0, *, dtype=_dtypes.uint8):
        """Returns a copy of the elements of an object with the buffer protocol, converted from `byte_order` ("little", "big") to the native
        order.
        """
        return _interop.storage_of_buffer(buffer, byte_order, count, offset, dtype)

    size = StorageBase.nbytes
    __len__ = StorageBase.nbytes

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self):
        return 1

    def resize_(self, nbytes):
        """Changes the size, and keeps the bytes that fit."""
        _f.storage_resize_(self, nbytes)
        return self

    def pin_memory(self, device=None):
        """Raises RuntimeError: page-locked memory requires an accelerator."""
        return _f.storage_pin_memory(self)

    def _tensor(self, dtype=_dtypes.uint8):
        """Returns a tensor of `dtype` that shares the storage."""
        return _f.storage_view(self, dtype=dtype)

    def __getitem__(self, i):
        if not isinstance(i, slice):
            if not hasattr(i, "__index__"):
                raise TypeError(f"can't index a torch.UntypedStorage with {type(i).__name__}")
            return readable(self)._tensor()[self._within(i)].item()
        start, stop, step = i.indices(len(self))
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        return _f.storage_slice(self, start, max(start, stop))

    def __setitem__(self, i, value):
        part = isinstance(i, slice)
        if not isinstance(value, int) and not (part and isinstance(value, UntypedStorage)):
            raise RuntimeError(f"can only set storage content with an int, but got {type(value).__name__} instead")
        if part and i.indices(len(self))[2] != 1:
            raise RuntimeError(f"Trying to slice with a step of {i.step}, but only a step of 1 is supported")
        at = i if part else self._within(i)
        readable(self)._tensor()[at] = value & 255 if isinstance(value, int) else value._tensor()

    def fill_(self, value):
        """Sets every byte to `value` modulo 256."""
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        _f.storage_fill_(self, value)
        return self

    def copy_(self, source, non_blocking=None):
        """Copies the bytes of `source`, which must have the same size."""
        _f.storage_copy_(self, checked(source, "copy_", "source"))
        return self

    def byteswap(self, dtype):
        """Reverses the bytes of every element of `dtype` in place."""
        _f.storage_byteswap_(self, dtype)

    def clone(self):
        return _f.storage_clone(self)

    def new(self):
        """Returns an empty storage on the same device."""
        return UntypedStorage(0, device=self.device)

    def to(self, *, device, non_blocking=False):
        return self if self.device == _device.device(device) else _f.untyped_storage(self._tensor().to(device))

    def untyped(self):
        return self

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and (self._h == other._h or self.data_ptr() == other.data_ptr() != 0)

    def __hash__(self):
        return hash(self.data_ptr() or self._h)

    def __deepcopy__(self, memo):
        place = self.data_ptr()  # an empty storage has no address that identifies it
        key = ("libtensor storage", place) if place else id(self)
        if key not in memo:
            memo[key] = self.clone()
        return memo[key]

    def __reduce__(self):
        if self.device.type == "meta":
            return meta, (len(self),)
        return restore, (bytes(self),)

    def __bytes__(self):
        return _interop.raw_bytes(readable(self)._tensor())

    def __buffer__(self, flags):
        return memoryview(self._tensor())

    @shows
    def __repr__(self):
        return _f.storage_to_string(self)


def restore(data):
    return UntypedStorage(data)


def meta(nbytes):
    return _f.storage_new(nbytes, device="meta")
