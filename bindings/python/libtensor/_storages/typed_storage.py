"""The methods of the legacy storages: elements of one dtype in an UntypedStorage."""

from functools import cache
from weakref import WeakValueDictionary

from .._base import dtypes as _dtypes
from .._base.extend import extends
from .._base.forked import shows
from .._core.owner import StorageBase, TypedStorage, UntypedStorage
from .._data import create as _create
from .._gen import gen_functions as _f
from .storage import readable

LEGACY = {
    **_create.LEGACY,
    "QUInt8": _dtypes.quint8,
    "QInt8": _dtypes.qint8,
    "QInt32": _dtypes.qint32,
    "QUInt4x2": _dtypes.quint4x2,
    "QUInt2x4": _dtypes.quint2x4,
}


@extends(TypedStorage)
class TypedStorage:
    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
        self.dtype = dtype or _f.get_default_dtype()
        if len(args) > (wrap_storage is None):
            raise RuntimeError(
                f"{self.dtype} storage: expected a size, a sequence or wrap_storage, but got {len(args)} positional arguments"
            )
        data = args[0] if args else 0
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(f"TypedStorage(): wrap_storage must be an UntypedStorage, not {type(wrap_storage).__name__}")
            if dtype is None or device is not None:
                raise RuntimeError("TypedStorage(): wrap_storage requires a dtype and does not accept a device")
            self._untyped = wrap_storage
        elif isinstance(data, int):
            self._untyped = UntypedStorage(data * self.dtype.itemsize, device=device)
        else:
            values = _create.tensor(data, dtype=_f.storage_view(UntypedStorage(0), dtype=self.dtype).dtype, device=device)
            self._untyped = _f.untyped_storage(values)

    @classmethod
    def _kind(cls):
        """Adds the dtype of the class to a call, if it has one."""
        kind = cls.__dict__.get("dtype")
        return {"dtype": kind} if isinstance(kind, _dtypes.dtype) else {}

    @classmethod
    def from_file(cls, filename, shared=False, size=0):
        """Maps the first `size` elements of a file. With `shared`, writes change the file, which is created or enlarged if necessary."""
        dtype = cls._kind().get("dtype") or _f.get_default_dtype()
        return typed(UntypedStorage.from_file(filename, shared, size * dtype.itemsize), dtype)

    @classmethod
    def from_buffer(cls, buffer, byte_order="native", count=-1, offset=0, *, dtype=None):
        """Returns a copy of the elements of an object with the buffer protocol, converted from `byte_order` ("little", "big") to the native
        order.
        """
        dtype = cls._kind().get("dtype") or dtype or _f.get_default_dtype()
        return typed(UntypedStorage.from_buffer(buffer, byte_order=byte_order, count=count, offset=offset, dtype=dtype), dtype)

    @property
    def _untyped_storage(self):
        return self._untyped

    @property
    def _cdata(self):
        return self._untyped._cdata

    def element_size(self):
        return self.dtype.itemsize

    def size(self):
        """Returns the number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    def resize_(self, size):
        self._untyped.resize_(size * self.dtype.itemsize)
        return self

    def pin_memory(self, device=None):
        """Raises RuntimeError: page-locked memory requires an accelerator."""
        return typed(self._untyped.pin_memory(device), self.dtype)

    def _tensor(self):
        return _f.storage_view(self._untyped, dtype=self.dtype)

    def _at(self, i):
        if isinstance(i, slice) or not hasattr(i, "__index__"):
            raise RuntimeError(f"can't index a {type(self).__name__} with {type(i).__name__}; slices are only supported in UntypedStorage")
        return self._within(i)

    def __getitem__(self, i):
        return readable(self)._tensor()[self._at(i)].item()

    def __setitem__(self, i, value):
        self._tensor()[i if isinstance(i, slice) else self._at(i)] = value._tensor() if isinstance(value, TypedStorage) else value

    def fill_(self, value):
        self._tensor().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Copies and converts the elements of `source`, which must have the same number of elements."""
        if isinstance(source, UntypedStorage):
            self._untyped.copy_(source)
        elif len(self) != len(source):
            raise RuntimeError(f"size does not match, self has {len(self)} elements but source has {len(source)}")
        else:
            self._tensor().copy_(source._tensor())
        return self

    def clone(self):
        return typed(self._untyped.clone(), self.dtype)

    def type(self, dtype=None):
        """Returns the legacy name of the class, or the elements converted to another legacy class."""
        if dtype is not None:
            return self._cast(dtype_of(dtype))
        return f"torch.{'cuda.' if self.is_cuda else ''}{self.pickle_storage_type()}"

    def pickle_storage_type(self):
        return next((n for n, d in LEGACY.items() if d is self.dtype), "Typed") + "Storage"

    def _cast(self, dtype):
        return self if dtype is self.dtype else of(self._tensor(), dtype)

    def to(self, *, device, non_blocking=False):
        return typed(self._untyped.to(device=device), self.dtype)

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self._untyped == other._untyped and self.dtype is other.dtype

    def __hash__(self):
        return hash((self._untyped, self.dtype))

    def __deepcopy__(self, memo):
        return typed(self._untyped.__deepcopy__(memo), self.dtype)

    def __reduce__(self):
        return typed, (self._untyped, self.dtype)

    @shows
    def __repr__(self):
        return _f.storage_to_string(self._untyped, dtype=self.dtype)


# The existing objects, by untyped storage and dtype.
known = WeakValueDictionary()


def typed(untyped, dtype):
    """Returns the object for the elements of `dtype` in an untyped storage; one object exists for each."""
    found = known.get((id(untyped), dtype))
    if found is None:
        found = object.__new__(TypedStorage)
        found._untyped, found.dtype = untyped, dtype
        found = known.setdefault((id(untyped), dtype), found)
    return found


def of(tensor, dtype):
    """Returns a storage of the tensor's elements, converted to `dtype`."""
    stored = _f.storage_view(UntypedStorage(0), dtype=dtype).dtype
    return typed(_f.untyped_storage(tensor.to(stored, copy=True)), dtype)


def dtype_of(kind):
    """Returns the dtype of a legacy storage class or of its name; a dtype unchanged."""
    if isinstance(kind, str):
        found = LEGACY.get(kind.removeprefix("torch.").removesuffix("Storage"))
        if found is None or not kind.endswith("Storage"):
            raise ValueError(f"'{kind}' is not the name of a storage class, such as torch.FloatStorage")
        return found
    found = getattr(kind, "dtype", kind)
    if not isinstance(found, _dtypes.dtype):
        raise TypeError(f"type(): expected a storage class, its name or a dtype, not {type(kind).__name__}")
    return found


@extends(UntypedStorage)
class UntypedStorage:
    def type(self, dtype=None):
        """Returns the name of the class, or the bytes converted to the elements of a legacy storage class."""
        if dtype is None:
            return "torch.storage.UntypedStorage"
        return self._cast(dtype_of(dtype))

    def _cast(self, dtype):
        return of(self._tensor(), dtype)


# The conversions of untyped and typed storages, by name.
CASTS = {
    "double": "Double",
    "float": "Float",
    "half": "Half",
    "long": "Long",
    "int": "Int",
    "short": "Short",
    "char": "Char",
    "byte": "Byte",
    "bool": "Bool",
    "bfloat16": "BFloat16",
    "complex_double": "ComplexDouble",
    "complex_float": "ComplexFloat",
}


def cast(name, kind):
    def convert(self):
        return self._cast(kind)

    convert.__name__ = name
    convert.__doc__ = f"The elements converted to {kind}."
    return convert


for method, legacy_name in CASTS.items():
    setattr(StorageBase, method, cast(method, LEGACY[legacy_name]))


class Legacy(type):
    """The type of the legacy classes torch.FloatStorage and others, whose calls create a TypedStorage of one dtype."""

    def __call__(cls, *args, wrap_storage=None, device=None):
        return TypedStorage(*args, wrap_storage=wrap_storage, device=device, **cls._kind())

    def __instancecheck__(cls, value):
        return isinstance(value, TypedStorage) and value.dtype is cls.dtype


@cache
def legacy(name):
    """Returns the class torch.<name>Storage."""
    return Legacy(name + "Storage", (TypedStorage,), {"dtype": LEGACY[name], "__slots__": (), "__module__": "libtensor"})
