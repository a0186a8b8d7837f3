"""The classes of storages and generators, with what the generated functions need of them; _storages/storage.py, _storages/typed_storage.py and
_data/random.py add the rest."""

from ctypes import c_void_p
from weakref import WeakValueDictionary

from .._base.errors import failure
from .._base.library import Cell, bind, cells, generator_free, storage_free

c_storage_id = bind("tensor_storage_id", c_void_p, c_void_p)


class Held:
    """Frees a handle when the object that has this is gone. A finalizer of the object itself would run while weak references still find
    it: another thread would be given an object whose handle is freed."""

    __slots__ = ("free", "handle")

    def __init__(self, handle, free):
        self.handle, self.free = handle, free

    def __del__(self):
        self.free(self.handle)


class Owner:
    """What owns a handle of the library's. An object that only object.__new__ made has none: it can be dropped, and not used."""

    __slots__ = ("_h", "_held")

    def __getattr__(self, name):
        kind = type(self).__name__
        if name == "_h":
            raise TypeError(f"this {kind} was made by object.__new__ and holds nothing; call torch.{kind}() to make one")
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")


class StorageBase:
    """What untyped and typed storages have in common."""

    __slots__ = ()


class UntypedStorage(StorageBase, Owner):
    """A sequence of bytes: UntypedStorage(8) has 8 zero bytes, UntypedStorage([1, 2]) these two."""

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


# The objects of the storages that are in use, by the library's number: one storage is one object.
known = WeakValueDictionary()


class TypedStorage(StorageBase):
    """The elements of one dtype in an UntypedStorage: TypedStorage(3) has 3 zeros, TypedStorage([1, 2]) these two.

    `dtype` is the default dtype unless given; `wrap_storage` is an UntypedStorage to share.
    """

    __slots__ = ("_untyped", "dtype", "__weakref__", "__dict__")

    def untyped(self):
        return self._untyped


UntypedStorage.__module__ = TypedStorage.__module__ = __name__.partition(".")[0] + ".storage"  # as PyTorch's files name them


def untyped(value, dtype):
    """The UntypedStorage of a storage of `dtype`; other values as they are."""
    if not isinstance(value, TypedStorage):
        return value
    if value.dtype is not dtype:
        raise RuntimeError(f"expected a storage of {dtype} or an UntypedStorage, but got one of {value.dtype}")
    return value.untyped()


class Generator(Owner):
    """A stream of random numbers. `engine` is its algorithm: "mt19937", which draws PyTorch's streams, or "philox", whose numbers depend
    on the seed, the offset and the index of an element alone.
    """

    __slots__ = ("__weakref__",)

    @classmethod
    def _wrap(cls, handle):
        self = object.__new__(cls)
        self._h, self._held = handle, Held(handle, generator_free)
        return self
