"""torch.Tensor: what is not generated from the schema."""

import copy
from ctypes import POINTER, c_int32, c_int64, c_void_p

from . import _device, _direct, _dtypes, _forked, _overrides, _print
from ._library import Device, getter
from ._size import Size

c_dim = getter("tensor_dim", c_int64, c_void_p)
c_numel = getter("tensor_numel", c_int64, c_void_p)
c_offset = getter("tensor_storage_offset", c_int64, c_void_p)
c_sizes = getter("tensor_sizes", POINTER(c_int64), c_void_p)
c_strides = getter("tensor_strides", POINTER(c_int64), c_void_p)
c_dtype = getter("tensor_get_dtype", c_int32, c_void_p)
c_device = getter("tensor_get_device", Device, c_void_p)
c_layout = getter("tensor_get_layout", c_int32, c_void_p)

DTYPES = _dtypes.DTYPES
CPU = _device.of(Device(0, -1))
make_size = tuple.__new__


def checked(value, function, argument):
    if isinstance(value, Tensor):
        return value
    raise _errors.wrong_type(function, argument, "Tensor", value)


def wrapped_dim(dim, n, what):
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{what}: argument 'dim' must be int, not {type(dim).__name__}")
    at = dim.__index__()
    if not -max(n, 1) <= at < max(n, 1) or not n:
        raise IndexError(f"{what}: dimension {at} is out of range for a tensor of {n} dimensions")
    return at % n


def given_to(cls, tensor):
    """An object of a subclass with the handle of a tensor, which has none from now on."""
    made = _direct.TensorBase.__new__(cls)
    made._h, tensor._h = tensor._h, 0
    return made


def element(tensor):
    """The one element, for Python's number types."""
    if tensor.numel() != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, not one of {tensor.numel()} elements")
    return tensor.item()


def real_element(tensor):
    found = element(tensor)
    if not isinstance(found, complex):
        return found
    if found.imag:
        raise RuntimeError(f"value cannot be converted to a real number without overflow: {found}")
    return found.real


@_forked.rebuilds
def as_object(kind, make, args):
    """The object of a subclass in a pickle."""
    return make(*args).as_subclass(kind)


class Tensor(_direct.TensorBase):
    """A multi-dimensional array of elements of one dtype. `Tensor(2, 3)` and `Tensor([1, 2])` make one of the default dtype."""

    __slots__ = ("__weakref__", "__dict__", "_kept")
    __array_priority__ = 1000
    __torch_function__ = classmethod(_overrides.torch_function)

    def __new__(cls, *args, device=None):
        made = _create.legacy(None, args, device)
        return made if cls is Tensor else given_to(cls, made)

    def as_subclass(self, cls):
        """A view of all elements as an object of `cls`, Tensor or a subclass.

        >>> class Metres(torch.Tensor): pass
        >>> torch.ones(2).as_subclass(Metres)
        Metres([1., 1.])
        """
        if not isinstance(cls, type) or not issubclass(cls, Tensor):
            raise TypeError(f"as_subclass(): argument 'cls' must be Tensor or a subclass of it, not {cls!r}")
        with _overrides.disabled():
            return given_to(cls, _f.detach(self))

    @staticmethod
    def _make_subclass(cls, data, require_grad=False):
        if require_grad:
            _errors.unsupported(True, False)
        return data.as_subclass(cls)

    @_direct.getter(_direct.SIZES, "tensor_sizes")
    def size(self, dim=None):
        """The sizes, or the size of dimension `dim`.

        >>> torch.ones(2, 3).size(), torch.ones(2, 3).size(1)
        (torch.Size([2, 3]), 3)
        """
        n = c_dim(self._h)
        sizes = make_size(Size, c_sizes(self._h)[:n])
        return sizes if dim is None else sizes[wrapped_dim(dim, n, "size()")]

    shape = property(size)

    @_direct.getter(_direct.STRIDES, "tensor_strides")
    def stride(self, dim=None):
        """The strides in elements, or the stride of dimension `dim`.

        >>> torch.ones(2, 3).stride()
        (3, 1)
        """
        n = c_dim(self._h)
        strides = tuple(c_strides(self._h)[:n])
        return strides if dim is None else strides[wrapped_dim(dim, n, "stride()")]

    @_direct.getter(_direct.NUMBER, "tensor_dim")
    def dim(self):
        """The number of dimensions.

        >>> torch.ones(2, 3).dim()
        2
        """
        return c_dim(self._h)

    ndimension = dim
    ndim = property(dim)

    @_direct.getter(_direct.NUMBER, "tensor_numel")
    def numel(self):
        """The number of elements."""
        return c_numel(self._h)

    nelement = numel

    @_direct.getter(_direct.NUMBER, "tensor_storage_offset")
    def storage_offset(self):
        """Where the first element lies in the storage, in elements.

        >>> torch.arange(4)[1:].storage_offset()
        1
        """
        return c_offset(self._h)

    def element_size(self):
        """The bytes of one element.

        >>> torch.ones(2, dtype=torch.int16).element_size()
        2
        """
        return DTYPES[c_dtype(self._h)].itemsize

    itemsize = property(element_size)

    @property
    def nbytes(self):
        return self.numel() * self.itemsize

    @property
    @_direct.getter(_direct.DTYPE, "tensor_get_dtype")
    def dtype(self):
        return DTYPES[c_dtype(self._h)]

    @property
    @_direct.getter(_direct.DEVICE, "tensor_get_device")
    def device(self):
        return _device.of(c_device(self._h))

    @property
    def layout(self):
        return _dtypes.LAYOUTS[c_layout(self._h)]

    def get_device(self):
        """The index of the device; -1 for the CPU.

        >>> torch.ones(2).get_device()
        -1
        """
        index = self.device.index
        return -1 if index is None else index

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def is_complex(self):
        return self.dtype.is_complex

    def is_signed(self):
        return self.dtype.is_signed

    def set_(self, *args, **kwargs):
        """Makes the tensor a view of a storage, or of what another tensor views: see _f.set_."""
        if args:
            args = (_typed_storage.untyped(args[0], self.dtype), *args[1:])
        elif "source" in kwargs:
            kwargs["source"] = _typed_storage.untyped(kwargs["source"], self.dtype)
        self._kept = None
        return _f.set_(self, *args, **kwargs)

    def share_memory_(self):
        """Moves the storage into memory that other processes can map, and returns the tensor."""
        _f.share_memory_(self)
        _sharing.register()
        return self

    def where(self, condition, other):
        """The elements where `condition` holds, and those of `other`, a tensor or a number, elsewhere.

        >>> torch.tensor([1, 2]).where(torch.tensor([True, False]), 0)
        tensor([1, 0])
        """
        return _f.where(condition, self, other)

    def new(self, *args, device=None):
        """A tensor of this dtype and device, of sizes or of a sequence's elements: new(2, 3), new([1, 2]).

        >>> torch.ones(1, dtype=torch.int32).new([1, 2])
        tensor([1, 2], dtype=torch.int32)
        """
        return _overrides.converted(_create.legacy(self.dtype, args, device or self.device), type(self))

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        """A copy of `data`, of this tensor's dtype and device unless others are given.

        >>> torch.ones(1, dtype=torch.int32).new_tensor([1, 2])
        tensor([1, 2], dtype=torch.int32)
        """
        if requires_grad or pin_memory:
            _errors.unsupported(requires_grad, pin_memory)
        return _overrides.converted(_create.tensor(data, dtype=dtype or self.dtype, device=device or self.device), type(self))

    def apply_(self, callable):
        """Replaces every element of a CPU tensor with callable(element). Slow: each element goes through Python.

        >>> torch.tensor([1, 2]).apply_(lambda x: x * x)
        tensor([1, 4])
        """
        return self.copy_(_create.tensor([callable(x) for x in self.flatten().tolist()], dtype=self.dtype).view(self.shape))

    def map_(self, other, callable):
        """Replaces every element with callable(element, element of `other`), which broadcasts. Slow, like apply_.

        >>> torch.tensor([1, 2]).map_(torch.tensor([3, 4]), lambda a, b: a * b)
        tensor([3, 8])
        """
        other = checked(other, "map_", "other")
        pairs = zip(self.flatten().tolist(), other.expand(self.shape).flatten().tolist(), strict=True)
        return self.copy_(_create.tensor([callable(a, b) for a, b in pairs], dtype=self.dtype).view(self.shape))

    def to_dense(self, dtype=None, *, masked_grad=None):
        """The tensor itself, converted to `dtype`: it is dense.

        >>> torch.ones(2).to_dense()
        tensor([1., 1.])
        """
        return self if dtype is None else self.to(dtype)

    def dense_dim(self):
        """The number of dimensions."""
        return c_dim(self._h)

    is_cpu = property(lambda self: self.device.type == "cpu")
    is_cuda = property(lambda self: self.device.type == "cuda")
    is_meta = property(lambda self: self.device.type == "meta")
    is_sparse = property(lambda self: self.layout is _dtypes.sparse_coo)
    is_sparse_csr = property(lambda self: self.layout is _dtypes.sparse_csr)
    is_quantized = is_mkldnn = is_nested = requires_grad = retains_grad = False
    is_mps = is_xpu = is_xla = is_ipu = is_hpu = is_mtia = is_maia = is_vulkan = False
    is_leaf = True
    grad = grad_fn = name = None
    output_nr = 0

    def is_inference(self):
        """False: nothing records what happens to a tensor."""
        return False

    def is_distributed(self):
        return False

    def detach_(self):
        """The tensor itself: it is detached."""
        return self

    def dim_order(self):
        """The dimensions from the one with the largest stride to the one with the smallest.

        >>> torch.ones(2, 3).t().dim_order()
        (1, 0)
        """
        strides = self.stride()
        return tuple(sorted(range(self.dim()), key=lambda dim: -strides[dim]))

    def requires_grad_(self, requires_grad=True):
        if requires_grad:
            _errors.unsupported(True, False)
        return self

    T = property(lambda self: _f.T(self))
    H = property(lambda self: _f.H(self))
    mT = property(lambda self: _f.mT(self))
    mH = property(lambda self: _f.mH(self))
    real = property(lambda self: _f.real(self) if self.is_complex() else self, lambda self, value: _f.real(self).copy_(_create.as_tensor(value)))
    imag = property(lambda self: _f.imag(self), lambda self, value: _f.imag(self).copy_(_create.as_tensor(value)))

    @property
    def data(self):
        return _f.detach(self)

    @data.setter
    def data(self, value):
        self._kept = None
        _f.set_(self, value)

    def storage(self):
        """The storage as elements of the tensor's dtype: one object for all tensors of a dtype that share it.

        >>> torch.tensor([[1, 2], [3, 4]]).t().storage()
         1
         2
         3
         4
        [torch.LongStorage of size 4]
        """
        self._kept = made = _typed_storage.typed(_f.untyped_storage(self), self.dtype)
        return made

    def storage_type(self):
        """The legacy class of the storage, such as torch.FloatStorage.

        >>> torch.ones(2).storage_type()
        <class 'libtensor.FloatStorage'>
        """
        return _typed_storage.legacy(next(name for name, dtype in _typed_storage.LEGACY.items() if dtype is self.dtype))

    def type(self, dtype=None, non_blocking=False):
        """The legacy name of the type, or the tensor converted to `dtype` (a dtype, or such a name).

        >>> torch.ones(2).type(), torch.ones(2).type(torch.int32)
        ('torch.FloatTensor', tensor([1, 1], dtype=torch.int32))
        """
        if dtype is None:
            return _create.type_name(self)
        if isinstance(dtype, str):
            dtype = _create.type_named(dtype)
        dtype = getattr(dtype, "dtype", dtype)
        if not _match.is_dtype(dtype):
            raise TypeError(f"type(): argument 'dtype' must be a dtype, a legacy class or its name, not {type(dtype).__name__}")
        return self.to(dtype)

    @_direct.getter(_direct.LIST, "tensor_data_ptr")
    def tolist(self):
        """The elements as nested lists of Python numbers.

        >>> torch.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return _interop.tolist(self)

    def numpy(self, *, force=False):
        """The tensor as a NumPy array that shares its memory."""
        return _dlpack.to_numpy(self, force)

    def __array__(self, dtype=None, copy=None):
        return _dlpack.array(self, dtype, copy)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """The result of a NumPy function of tensors."""
        return _overrides.converted(_dlpack.from_numpy(array), type(self))

    @property
    def __array_interface__(self):
        return _interop.array_interface(self)

    def __buffer__(self, flags):
        return _interop.buffer(self, flags)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return _dlpack.export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return _dlpack.device(self)

    def __arrow_c_array__(self, requested_schema=None):
        return _arrow.export(self)

    def __reduce_ex__(self, protocol):
        with _overrides.disabled():
            made = _sharing.reduce_tensor(self) if _sharing.spawning() else _serialize.reduce(self)
        kind = type(self)
        return *(made if kind is Tensor else (as_object, (kind, *made))), self.__dict__ or None

    def __copy__(self):
        made = self.as_subclass(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        with _overrides.disabled():
            made = _serialize.deepcopy(self, memo).as_subclass(type(self))
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    @_forked.shows
    def __repr__(self, *, tensor_contents=None):
        name = type(self).__name__
        with _overrides.disabled():
            if type(self) is Tensor:
                return _f.to_string(self, **_print.options)
            return _print.renamed(_f.to_string(self, **_print.narrowed(name)), name)

    def __format__(self, spec):
        if self.dim() or self.is_meta or type(self) is not Tensor:
            return object.__format__(self, spec)
        return format(self.item(), spec)

    @_direct.getter(_direct.LENGTH, "tensor_sizes")
    def __len__(self):
        n = c_dim(self._h)
        if not n:
            raise TypeError("len() of a 0-d tensor")
        return c_sizes(self._h)[0]

    def __iter__(self):
        if not self.dim():
            raise TypeError("iteration over a 0-d tensor")
        return iter(_f.unbind(self))

    def __reversed__(self):
        """The tensor with the order of its first dimension reversed: a copy."""
        return _f.flip(self, 0) if self.dim() else self

    def __delitem__(self, key):
        raise TypeError("Tensor does not support deleting items")

    def __contains__(self, value):
        if isinstance(value, (Tensor, bool, int, float, complex)):
            return (self == value).any().item()
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}")

    def __bool__(self):
        n = self.numel()
        if n != 1:
            several = "more than one value" if n else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {several} is ambiguous")
        return bool(self.item())

    def __index__(self):
        if self.numel() != 1 or self.is_floating_point() or self.is_complex():
            raise TypeError(f"only integer tensors of a single element can be converted to an index, not one of {self.dtype} and {list(self.shape)}")
        return int(self.item())

    def __int__(self):
        return int(real_element(self))

    def __float__(self):
        return float(real_element(self))

    def __complex__(self):
        return complex(element(self))

    def __hash__(self):
        return id(self)

    def __getitem__(self, key):
        return _f.index_get(self, key)

    def __setitem__(self, key, value):
        if isinstance(value, Tensor):
            _f.index_set_(self, key, value)
        elif _match.is_number(value):
            _f.index_set_scalar_(self, key, value)
        else:
            _f.index_set_(self, key, _create.tensor(value, dtype=self.dtype, device=self.device))

    def __dir__(self):
        return [name for name in object.__dir__(self) if name[0] != "_" or name.startswith("__")]


_direct.start(Tensor, Size, DTYPES, CPU)

# The generated functions take the class above.
from . import gen_functions as _f  # noqa: E402, I001
from . import _arrow, _create, _dlpack, _errors, _interop, _match, _serialize, _sharing, _typed_storage  # noqa: E402

Tensor.__getitem__ = _direct.subscript(_f.select, _f.slice, _f.index_get)(Tensor.__getitem__)
Tensor.__setitem__ = _direct.first(_f.index_set_, _f.index_set_scalar_)(Tensor.__setitem__)
