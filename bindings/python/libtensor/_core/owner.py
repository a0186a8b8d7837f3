"""The classes of storages and generators, with the parts that generated functions need; _storages/storage.py, _storages/typed_storage.py
and _data/random.py add the rest.
"""

from __future__ import annotations

from ctypes import c_void_p
from weakref import WeakValueDictionary

from .._base.errors import failure
from .._base.library import Cell, bind, cells, generator_free, storage_free

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

c_storage_id = bind("tensor_storage_id", c_void_p, c_void_p)


class Held:
    """Frees a handle when its owner no longer exists. A finalizer of the owner itself would run while weak references still find it, so
    that another thread could get an object with a freed handle.
    """

    __slots__ = ("free", "handle")

    def __init__(self, handle, free):
        self.handle, self.free = handle, free

    def __del__(self):
        self.free(self.handle)

    def __reduce__(self):
        raise TypeError("a handle of the library cannot be copied or pickled")


class Owner:
    """An owner of a handle of the library. An object that only object.__new__ created has no handle: it can be freed, but not used."""

    __slots__ = ("_h", "_held")
    _h: Any
    _held: Held

    def __getattr__(self, name):
        kind = type(self).__name__
        if name == "_h":
            raise TypeError(f"this {kind} was created by object.__new__ and is empty; call torch.{kind}()")
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")


class StorageBase:
    """The base class of untyped and typed storages."""

    __slots__ = ()
    if TYPE_CHECKING:  # the constructors are in _storages

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...


class UntypedStorage(StorageBase, Owner):
    """A sequence of bytes: UntypedStorage(8) has 8 zero bytes, UntypedStorage([1, 2]) the bytes 1 and 2."""

    __slots__ = ("__weakref__", "__dict__")

    @classmethod
    def _wrap(cls, handle):
        self = object.__new__(cls)
        self._h, self._held = handle, Held(handle, storage_free)
        cell = cells.pop() if cells else Cell()
        status = c_storage_id(handle, cell.address)
        if status:
            raise failure(status)
        number = cell.i
        cells.append(cell)
        return known.setdefault(number, self)


# The objects of existing storages, by the library's number: one object for each storage.
known: WeakValueDictionary[int, UntypedStorage] = WeakValueDictionary()


class TypedStorage(StorageBase):
    """The elements of one dtype in an UntypedStorage: TypedStorage(3) has 3 zeros, TypedStorage([1, 2]) the elements 1 and 2.

    `dtype` defaults to the default dtype; `wrap_storage` is an UntypedStorage to share.
    """

    __slots__ = ("_untyped", "dtype", "__weakref__", "__dict__")
    _untyped: UntypedStorage
    dtype: Any

    def untyped(self):
        return self._untyped


UntypedStorage.__module__ = TypedStorage.__module__ = __name__.partition(".")[0] + ".storage"  # the name in PyTorch's files


def untyped(value, dtype):
    """Returns the UntypedStorage of a storage of `dtype`; other values unchanged."""
    if not isinstance(value, TypedStorage):
        return value
    if value.dtype is not dtype:
        raise RuntimeError(f"expected a storage of {dtype} or an UntypedStorage, but got one of {value.dtype}")
    return value.untyped()


class Generator(Owner):
    """A generator of pseudorandom numbers for tensors on `device`. Random operators accept it as `generator`.

    `engine` is the algorithm: "mt19937" (the default on the CPU), which generates the same numbers as PyTorch on the CPU, or "philox" (the
    default and only one on CUDA devices), whose numbers are determined by the seed, the offset and the index of the element."""

    __slots__ = ("__weakref__",)

    @classmethod
    def _wrap(cls, handle):
        self = object.__new__(cls)
        self._h, self._held = handle, Held(handle, generator_free)
        return self
