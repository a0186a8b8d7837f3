"""torch.Tensor: its handle, and properties that need no fallible function of the library. _gen/gen_functions.py, _data/cast.py,
_data/compose.py, _tensors/gen_operators.py and _tensors/methods.py add the rest.
"""

import sys
from ctypes import c_int32, c_void_p

from .._base import device as _device
from .._base import direct as _direct
from .._base import dtypes as _dtypes
from .._base import errors as _errors
from .._base import overrides as _overrides
from .._base.library import Device, getter
from .._base.size import Size
from .._base.warnings import warn_once

c_layout = getter("tensor_get_layout", c_int32, c_void_p)

DTYPES = _dtypes.DTYPES
CPU = _device.of(Device(0, -1))


def checked(value, function, argument):
    if isinstance(value, Tensor):
        return value
    raise _errors.wrong_type(function, argument, "Tensor", value)


def no_tensor(value, function):
    """Returns the exception for a value that is not a tensor, or a tensor whose handle was moved to another object."""
    return _errors.wrong_type(function, "self", "Tensor that holds something", value)


def wrapped_dim(dim, tensor, what):
    n = tensor.dim()
    if isinstance(dim, str):
        if dim not in tensor.names:
            raise RuntimeError(f"{what}: Name '{dim}' not found in Tensor{list(tensor.names)}")
        return tensor.names.index(dim)
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{what}: argument 'dim' must be int, not {type(dim).__name__}")
    at = dim.__index__()
    if not -max(n, 1) <= at < max(n, 1) or not n:
        raise IndexError(f"{what}: dimension {at} is out of range for a tensor of {n} dimensions")
    return at % n


def element(tensor):
    """Returns the single element, for Python's number types."""
    if tensor.numel() != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, not one of {tensor.numel()} elements")
    return tensor.item()


def warn_of_history(tensor):
    """Warns if a tensor that requires grad is converted to a Python number, which has no gradient."""
    if tensor.requires_grad:
        warn_once(
            "float: no gradient goes through the number that is made of a tensor with requires_grad; detach() it first, or call item()"
        )


def real_element(tensor):
    found = element(tensor)
    if not isinstance(found, complex):
        return found
    if found.imag:
        raise RuntimeError(f"value cannot be converted to a real number without overflow: {found}")
    return found.real


def given_to(cls, tensor):
    """Moves the handle of a tensor to a new instance of a subclass, and returns it."""
    made = _direct.TensorBase.__new__(cls)
    made._h, tensor._h = tensor._h, 0
    return made


def as_object(kind, make, args):
    """Returns the instance of a subclass from a pickle."""
    return make(*args).as_subclass(kind)


def with_names(names, make, args):
    """Returns the tensor of a pickle with dimension names."""
    return make(*args).rename_(*names)


def as_leaf(make, args):
    """Returns the tensor of a pickle that requires grad."""
    return make(*args).requires_grad_()


class Tensor(_direct.TensorBase):
    """A multi-dimensional array of elements of one dtype. `Tensor(2, 3)` and `Tensor([1, 2])` create one of the default dtype."""

    __slots__ = ("__weakref__", "__dict__", "_kept", "_lent", "_known_grad", "_hooks")
    __array_priority__ = 1000
    __torch_function__ = classmethod(_overrides.torch_function)

    @staticmethod
    def _make_subclass(cls, data, require_grad=False):
        with _overrides.disabled():
            return given_to(cls, data.detach()).requires_grad_(require_grad)

    @staticmethod
    def _make_wrapper_subclass(
        cls,
        size,
        strides=None,
        storage_offset=None,
        memory_format=None,
        dtype=None,
        layout=None,
        device=None,
        pin_memory=False,
        requires_grad=False,
        dispatch_sizes_strides_policy=None,
        dispatch_device=False,
        dispatch_layout=False,
        _extra_dispatch_keys=None,
        storage_size=None,
    ):
        """Returns an instance of a class with `__torch_dispatch__` that has a shape and a dtype, and whose elements are not initialized:
        the class receives the operators of all calls with it, and keeps the values elsewhere. Unlike in PyTorch the memory of the elements
        is allocated."""
        root = sys.modules[__name__.partition(".")[0]]
        if getattr(cls, "__torch_dispatch__", None) is None:
            raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__")
        if layout is not None and layout is not _dtypes.strided:
            raise NotImplementedError(f"_make_wrapper_subclass: layout {layout} is not supported; use torch.strided")
        root.utils._python_dispatch.enable_subclass(cls)
        with _overrides.disabled():
            options = {"dtype": dtype, "device": device}
            made = root.empty(list(size), **options) if strides is None else root.empty_strided(list(size), list(strides), **options)
            return given_to(cls, made).requires_grad_(requires_grad)

    @_direct.getter(_direct.SIZES, "tensor_sizes")
    def size(self, dim=None):
        """Returns the sizes, or the size of dimension `dim`.

        >>> torch.ones(2, 3).size(), torch.ones(2, 3).size(1)
        (torch.Size([2, 3]), 3)
        """
        if dim is None or not isinstance(self, Tensor):
            raise no_tensor(self, "size")
        return self.size()[wrapped_dim(dim, self, "size()")]

    shape = property(size, doc="The sizes, a torch.Size.")

    @_direct.getter(_direct.STRIDES, "tensor_strides")
    def stride(self, dim=None):
        """Returns the strides in elements, or the stride of dimension `dim`.

        >>> torch.ones(2, 3).stride()
        (3, 1)
        """
        if dim is None or not isinstance(self, Tensor):
            if isinstance(self, Tensor) and self.layout is not _dtypes.strided:
                raise RuntimeError(f"{self.layout} tensors do not have strides; their parts, such as values(), do")
            raise no_tensor(self, "stride")
        return self.stride()[wrapped_dim(dim, self, "stride()")]

    @_direct.getter(_direct.NUMBER, "tensor_dim")
    def dim(self):
        """Returns the number of dimensions.

        >>> torch.ones(2, 3).dim()
        2
        """
        raise no_tensor(self, "dim")

    ndimension = dim
    ndim = property(dim, doc="The number of dimensions.")

    @_direct.getter(_direct.NUMBER, "tensor_numel")
    def numel(self):
        """Returns the number of elements."""
        raise no_tensor(self, "numel")

    nelement = numel

    @_direct.getter(_direct.NUMBER, "tensor_storage_offset")
    def storage_offset(self):
        """Returns the offset of the first element in the storage, in elements.

        >>> torch.arange(4)[1:].storage_offset()
        1
        """
        raise no_tensor(self, "storage_offset")

    def element_size(self):
        """Returns the size of one element in bytes.

        >>> torch.ones(2, dtype=torch.int16).element_size()
        2
        """
        return self.dtype.itemsize

    itemsize = property(element_size, doc="The size of one element in bytes.")

    @property
    def nbytes(self):
        """The size of all elements in bytes. Raises RuntimeError for sparse tensors."""
        if self.layout is not _dtypes.strided:
            raise RuntimeError(f"nbytes is not defined for {self.layout} tensors; add the nbytes of their parts, such as values()")
        return self.numel() * self.itemsize

    @property
    @_direct.getter(_direct.DTYPE, "tensor_get_dtype")
    def dtype(self):
        """The type of the elements, such as torch.float32."""
        raise no_tensor(self, "dtype")

    @property
    @_direct.getter(_direct.DEVICE, "tensor_get_device")
    def device(self):
        """The device of the memory, such as device(type='cpu')."""
        raise no_tensor(self, "device")

    @property
    def layout(self):
        """The layout: torch.strided, torch.sparse_coo, torch.sparse_csr, ..."""
        return _dtypes.LAYOUTS[c_layout(self._h)]

    def get_device(self):
        """Returns the index of the device; -1 for the CPU.

        >>> torch.ones(2).get_device()
        -1
        """
        index = self.device.index
        return -1 if index is None else index

    def is_floating_point(self):
        """Returns whether the dtype is floating-point."""
        return self.dtype.is_floating_point

    def is_complex(self):
        """Returns whether the dtype is complex."""
        return self.dtype.is_complex

    def is_signed(self):
        """Returns whether the dtype represents negative numbers."""
        return self.dtype.is_signed

    _cdata = property(lambda self: self._h, doc="A number that identifies the tensor: views and detached tensors have others.")
    is_cpu = property(lambda self: self.device.type == "cpu", doc="Whether the tensor is on the CPU.")
    is_cuda = property(lambda self: self.device.type == "cuda", doc="Whether the tensor is on a CUDA device.")
    is_meta = property(lambda self: self.device.type == "meta", doc="Whether the tensor is on the meta device, which has no memory.")
    is_sparse = property(lambda self: self.layout is _dtypes.sparse_coo, doc="Whether the layout is torch.sparse_coo.")
    is_sparse_csr = property(lambda self: self.layout is _dtypes.sparse_csr, doc="Whether the layout is torch.sparse_csr.")
    is_quantized = property(lambda self: self.dtype in _dtypes.QUANTIZED, doc="Whether the dtype is a quantized one.")
    is_mkldnn = is_nested = False
    is_mps = is_xpu = is_xla = is_ipu = is_hpu = is_mtia = is_maia = is_vulkan = False
    name = None

    def is_distributed(self):
        """Returns False: distributed tensors are not supported."""
        return False

    def dim_order(self, *, ambiguity_check=False):
        """Returns the dimensions in the order of their strides, the largest first. With `ambiguity_check=True` raises RuntimeError if two
        strides are equal or a size is 1; a list of memory formats allows this for tensors that are contiguous in exactly one of them.

        >>> torch.ones(2, 3).t().dim_order()
        (1, 0)
        """
        formats = ambiguity_check if isinstance(ambiguity_check, list) else []
        if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(f, _dtypes.memory_format) for f in formats):
            raise TypeError(f"The ambiguity_check argument must be a bool or a list of memory formats, not {ambiguity_check!r}")
        strides = self.stride()
        ambiguous = 1 in self.shape or len(set(strides)) < len(strides)
        if ambiguity_check is not False and ambiguous and sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats: "
                f"the sizes are {tuple(self.shape)}, the strides {strides}, the formats {formats}"
            )
        contiguous = self.is_contiguous()
        if contiguous != (self.dim() == 4 and self.is_contiguous(memory_format=_dtypes.channels_last)):
            return tuple(range(self.dim())) if contiguous else (0, 2, 3, 1)
        order = [*range(self.dim())]  # an insertion sort, as stride 0 is neither smaller nor larger than another one
        for start in reversed(range(self.dim() - 1)):
            at = start
            for other in range(start + 1, self.dim()):
                a, b = strides[order[at]], strides[order[other]]
                if a and b and a > b:
                    break
                if a and b and (a < b or self.shape[order[at]] < self.shape[order[other]]):
                    order[at], order[other] = order[other], order[at]
                    at = other
        return tuple(order)

    def __format__(self, spec):
        if self.dim() or self.is_meta or not _overrides.own(type(self)):
            return object.__format__(self, spec)
        return format(self.item(), spec)

    @_direct.getter(_direct.LENGTH, "tensor_sizes")
    def __len__(self):
        raise TypeError("len() of a 0-d tensor")

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
            raise TypeError(
                f"only integer tensors of a single element can be converted to an index, not one of {self.dtype} and {list(self.shape)}"
            )
        return int(self.item())

    def __int__(self):
        return int(real_element(self))

    def __float__(self):
        warn_of_history(self)
        return float(real_element(self))

    def __complex__(self):
        warn_of_history(self)
        return complex(element(self))

    def __hash__(self):
        return id(self)

    def __dir__(self):
        return [name for name in object.__dir__(self) if name[0] != "_" or name.startswith("__")]


_direct.start(Tensor, Size, DTYPES, CPU)


def _rebuild_from_type_v2(func, new_type, args, state):
    """Returns func(*args) as an instance of `new_type`, a subclass of Tensor, with the attributes `state`: a dictionary, or a pair of a
    dictionary and one for slots.
    """
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    if "__setstate__" in {name for kind in new_type.__mro__ if kind not in Tensor.__mro__ for name in vars(kind)}:
        made.__setstate__(state)
        return made
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    made.__dict__.update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(made, name, value)
    return made


_rebuild_from_type_v2.__module__ = "libtensor._tensor"  # the name in files
