"""Storages: the bytes that tensors share."""

import ctypes

from . import _create, _dtypes
from . import gen_functions as _f
from ._errors import wrong_type
from ._library import storage_free

LEGACY = {
    "Double": _dtypes.float64,
    "Float": _dtypes.float32,
    "Half": _dtypes.float16,
    "Long": _dtypes.int64,
    "Int": _dtypes.int32,
    "Short": _dtypes.int16,
    "Char": _dtypes.int8,
    "Byte": _dtypes.uint8,
    "Bool": _dtypes.bool_,
    "BFloat16": _dtypes.bfloat16,
    "ComplexDouble": _dtypes.complex128,
    "ComplexFloat": _dtypes.complex64,
}


class UntypedStorage:
    """A sequence of bytes: UntypedStorage(8) has 8 zero bytes, UntypedStorage([1, 2]) these two."""

    __slots__ = ("_h", "__weakref__")

    def __new__(cls, size=0, *, device=None):
        if isinstance(size, int):
            return _f.storage_new(size, device=device)
        data = bytes(size)
        self = _f.storage_new(len(data), device=device)
        ctypes.memmove(self.data_ptr(), data, len(data))
        return self

    @classmethod
    def _wrap(cls, handle):
        self = object.__new__(cls)
        self._h = handle
        return self

    def __del__(self, free=storage_free):
        free(self._h)

    def data_ptr(self):
        return _f.storage_data_ptr(self)

    def nbytes(self):
        return _f.storage_nbytes(self)

    size = nbytes
    __len__ = nbytes

    def element_size(self):
        return 1

    @property
    def device(self):
        return _f.storage_get_device(self)

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    is_sparse = False

    def resize_(self, nbytes):
        """Changes the size, keeping the bytes that fit."""
        _f.storage_resize_(self, nbytes)
        return self

    def _tensor(self):
        """The storage as a uint8 tensor that shares its bytes."""
        return _f.empty(0, dtype=_dtypes.uint8, device=self.device).set_(self)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return _f.untyped_storage(self._tensor()[i].clone())
        return self._tensor()[i].item()

    def __setitem__(self, i, value):
        self._tensor()[i] = value._tensor() if isinstance(value, UntypedStorage) else value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._tensor().tolist()

    def fill_(self, value):
        self._tensor().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        self._tensor().copy_(source._tensor())
        return self

    def clone(self):
        return _f.untyped_storage(self._tensor().clone())

    def cpu(self):
        return self if self.device.type == "cpu" else _f.untyped_storage(self._tensor().cpu())

    def untyped(self):
        return self

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self._h == other._h

    def __hash__(self):
        return hash(self._h)

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = self.clone()
        return memo[id(self)]

    def __reduce__(self):
        return UntypedStorage, (bytes(self.tolist()),)

    def __repr__(self):
        return _f.storage_to_string(self)


def checked(value, function, argument):
    if isinstance(value, UntypedStorage):
        return value
    if isinstance(value, TypedStorage):
        return value.untyped()
    raise wrong_type(function, argument, "UntypedStorage", value)


class TypedStorage:
    """The elements of one dtype in an UntypedStorage."""

    __slots__ = ("_untyped", "dtype", "__weakref__")
    is_sparse = False

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
        self.dtype = dtype or _f.get_default_dtype()
        if wrap_storage is not None:
            self._untyped = wrap_storage
        elif len(args) == 1 and not isinstance(args[0], int):
            self._untyped = _f.untyped_storage(_create.tensor(list(args[0]), dtype=self.dtype, device=device))
        else:
            self._untyped = UntypedStorage((args[0] if args else 0) * self.dtype.itemsize, device=device)

    def untyped(self):
        return self._untyped

    def data_ptr(self):
        return self._untyped.data_ptr()

    def nbytes(self):
        return self._untyped.nbytes()

    def element_size(self):
        return self.dtype.itemsize

    def size(self):
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    @property
    def device(self):
        return self._untyped.device

    @property
    def is_cuda(self):
        return self._untyped.is_cuda

    def _tensor(self):
        return _f.empty(0, dtype=self.dtype, device=self.device).set_(self._untyped)

    def _of(self, tensor):
        return TypedStorage(wrap_storage=_f.untyped_storage(tensor), dtype=tensor.dtype)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return self._of(self._tensor()[i].clone())
        if not isinstance(i, int):
            raise TypeError(f"can't index a {type(self).__name__} with {type(i).__name__}")
        return self._tensor()[i].item()

    def __setitem__(self, i, value):
        self._tensor()[i] = value._tensor() if isinstance(value, TypedStorage) else value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._tensor().tolist()

    def fill_(self, value):
        self._tensor().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        self._tensor().copy_(source._tensor())
        return self

    def resize_(self, size):
        self._untyped.resize_(size * self.dtype.itemsize)
        return self

    def clone(self):
        return self._of(self._tensor().clone())

    def type(self, dtype=None):
        if dtype is not None:
            return self._of(self._tensor().to(dtype))
        return "torch." + next((n for n, d in LEGACY.items() if d is self.dtype), "Typed") + "Storage"

    def cpu(self):
        return self._of(self._tensor().cpu())

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self.data_ptr() == other.data_ptr() and self.dtype is other.dtype

    def __hash__(self):
        return hash((self.data_ptr(), self.dtype))

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        return self.clone()

    def __reduce__(self):
        return typed, (self._untyped, self.dtype)

    def __repr__(self):
        return _f.storage_to_string(self._untyped, dtype=self.dtype)


def typed(untyped, dtype):
    return TypedStorage(wrap_storage=untyped, dtype=dtype)


def cast(kind):
    return lambda self: self._of(self._tensor().to(kind))


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
for method, legacy_name in CASTS.items():
    setattr(TypedStorage, method, cast(LEGACY[legacy_name]))


class _Legacy(type):
    """The class of FloatStorage and its like, whose calls make a TypedStorage of one dtype."""

    def __call__(cls, *args, wrap_storage=None, device=None):
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, value):
        return isinstance(value, TypedStorage) and value.dtype is cls.dtype


def legacy(name):
    """The class torch.<name>Storage."""
    return _Legacy(name + "Storage", (TypedStorage,), {"dtype": LEGACY[name], "__slots__": (), "__module__": "libtensor"})
