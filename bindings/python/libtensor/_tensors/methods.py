"""The methods of Tensor that are made of the package's other parts."""

import copy
import sys
from numbers import Number

from .._base import direct as _direct
from .._base import dtypes as _dtypes
from .._base import forked as _forked
from .._base import overrides as _overrides
from .._base.errors import in_name_of
from .._base.extend import extends
from .._core import match as _match
from .._core.owner import untyped
from .._core.tensor import Tensor, checked, given_to
from .._data import arrow as _arrow
from .._data import create as _create
from .._data import dlpack as _dlpack
from .._data import interop as _interop
from .._data import keys as _keys
from .._data import print as _print
from .._data import sparse as _sparse
from .._devices import streams as _streams
from .._gen import gen_functions as _f
from .._storages import serialize as _serialize
from .._storages import sharing as _sharing
from .._storages import typed_storage as _typed_storage

VERSIONS = (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12")  # of the array API standard
PACKAGE = __name__.partition(".")[0]


def itself(tensor):
    """Another object for a tensor, with its history and tangents."""
    return tensor[...] if tensor.requires_grad or _f.jvp_level(tensor) else _f.detach(tensor)


def replaced(function, tensor, callable, **others):
    """The tensor with what a callable gives of each of its elements, and those of others at its place, instead of them."""
    expanded = [checked(other, function, name).expand(tensor.shape) for name, other in others.items()]
    values = [callable(*numbers) for numbers in zip(*(t.flatten().tolist() for t in (tensor, *expanded)), strict=True)]
    for value in values:
        if not isinstance(value, (Number, Tensor)):
            raise TypeError(f"{function}(): callable must give a number for each element, not {type(value).__name__}")
    return tensor.copy_(_create.tensor(values, dtype=tensor.dtype).view(tensor.shape))


class NoPartError(AttributeError, RuntimeError, TypeError):
    """A tensor has no such part: a real one no imaginary part, a vector no transposed matrix. hasattr() tells so who looks for it."""


def part(operator):
    """The getter of a property that not all tensors have."""

    def get(tensor):
        try:
            return operator(tensor)
        except (RuntimeError, TypeError) as error:
            if type(error) not in (RuntimeError, TypeError):
                raise
            raise NoPartError(str(error)) from None

    return get


@extends(Tensor)
class Tensor:
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
            return given_to(cls, itself(self))

    def set_(self, *args, **kwargs):
        """Makes the tensor a view of a storage, or of what another tensor views: see _f.set_."""
        if args:
            args = (untyped(args[0], self.dtype), *args[1:])
        elif "source" in kwargs:
            kwargs["source"] = untyped(kwargs["source"], self.dtype)
        self._kept = None
        return _f.set_(self, *args, **kwargs)

    def share_memory_(self):
        """Moves the storage into memory that other processes can map, and returns the tensor."""
        _f.share_memory_(self)
        _sharing.register()
        return self

    def pin_memory(self, device=None):
        """The tensor in page-locked memory of the CPU, from which a device copies by itself while the program goes on (`non_blocking`);
        `self` where it lies there. Needs a CUDA device.
        """
        return self if _f.is_pinned(self) else _f.pin_memory(self)

    def is_pinned(self, device=None):
        """Whether the memory is page-locked.

        >>> torch.ones(2).is_pinned()
        False
        """
        return _f.is_pinned(self)

    def record_stream(self, stream):
        """Notes that a stream uses the memory, which is then not used again before the stream has done what it was given. Operators note
        it by themselves; the work of other libraries needs it.
        """
        _f.record_stream(self, _streams.checked(stream, _streams.Stream, "record_stream", "stream").stream_id)

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
        if self.layout is not _dtypes.strided:
            return _overrides.converted(_sparse.new(self, args, device), type(self))
        return _overrides.converted(_create.legacy(self.dtype, args, device or self.device), type(self))

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        """A copy of `data`, of this tensor's dtype and device unless others are given.

        >>> torch.ones(1, dtype=torch.int32).new_tensor([1, 2])
        tensor([1, 2], dtype=torch.int32)
        """
        _create.warn_of_copy("new_tensor", data)
        made = _create.copied(data, dtype or self.dtype, device or self.device, requires_grad, pin_memory)
        return _overrides.converted(made, type(self))

    def apply_(self, callable):
        """Replaces every element of a CPU tensor with callable(element). Slow: each element goes through Python.

        >>> torch.tensor([1, 2]).apply_(lambda x: x * x)
        tensor([1, 4])
        """
        return replaced("apply_", self, callable)

    def map_(self, other, callable):
        """Replaces every element with callable(element, element of `other`), which broadcasts. Slow, like apply_.

        >>> torch.tensor([1, 2]).map_(torch.tensor([3, 4]), lambda a, b: a * b)
        tensor([3, 8])
        """
        return replaced("map_", self, callable, other=other)

    def map2_(self, first, second, callable):
        """Replaces every element with callable(element, element of `first`, element of `second`), which broadcast. Slow, like apply_.

        >>> torch.tensor([1, 2]).map2_(torch.tensor([3, 4]), torch.tensor(1), lambda a, b, c: a * b + c)
        tensor([4, 9])
        """
        return replaced("map2_", self, callable, first=first, second=second)

    def _nnz(self):
        return _f.nnz(self)

    def _indices(self):
        return _f.coo_indices(self)

    def _values(self):
        return _f.coo_values(self).detach()

    def _dimI(self):
        return _f.sparse_dim(self)

    def _dimV(self):
        return _f.dense_dim(self)

    def _coalesced_(self, coalesced):
        return _f.mark_coalesced_(self, coalesced)

    def _neg_view(self):
        """The negative, which is computed: tensors with a mark for it are not there.

        >>> torch.tensor([1, -2])._neg_view()
        tensor([-1,  2])
        """
        return _f.neg(self)

    T = property(lambda self: _f.T(self))
    H = property(part(_f.H))
    mT = property(part(_f.mT))
    mH = property(part(_f.mH))
    real = property(lambda self: _f.real(self) if self.is_complex() else self, lambda self, value: _f.real(self).copy_(_create.as_tensor(value)))
    imag = property(part(_f.imag), lambda self, value: _f.imag(self).copy_(_create.as_tensor(value)))

    @property
    def data(self):
        return _f.untracked(self)

    @data.setter
    def data(self, value):
        self._kept = None
        _f.set_data_(self, value)

    @data.deleter
    def data(self):
        raise RuntimeError("data: a tensor's data cannot be deleted; del the tensor")

    def _is_view(self):
        """True for what an operator gave that shares the memory of its argument: `_base` is the tensor that owns it.

        >>> x = torch.zeros(3)
        >>> x[1:]._is_view(), x[1:]._base is x, x._is_view()
        (True, True, False)
        """
        return self._base is not None and not self.is_inference()

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
        name = next((name for name, dtype in _typed_storage.LEGACY.items() if dtype is self.dtype), None)
        if name is None:
            raise TypeError(f"storage_type: {self.dtype} has no legacy class of storages; untyped_storage() has the bytes")
        return _typed_storage.legacy(name)

    def type(self, dtype=None, non_blocking=False):
        """The legacy name of the type, or the tensor converted to `dtype` (a dtype, or such a name or class).

        >>> torch.ones(2).type(), torch.ones(2).type(torch.int32)
        ('torch.FloatTensor', tensor([1, 1], dtype=torch.int32))
        """
        if dtype is None:
            return _create.type_name(self)
        device = None
        if isinstance(dtype, str):
            dtype, device = _create.type_named(dtype)
        elif isinstance(dtype, _create.Legacy):
            dtype, device = dtype.dtype, dtype.device or "cpu"
        elif dtype is Tensor:
            dtype, device = _f.get_default_dtype(), "cpu"
        if device == "cuda" and self.is_cuda:
            device = None
        if not _match.is_dtype(dtype):
            raise TypeError(f"type(): argument 'dtype' must be a dtype, a legacy class or its name, not {type(dtype).__name__}")
        return self.to(device, dtype, non_blocking)

    @_direct.getter(_direct.LIST, "tensor_hold")
    def tolist(self):
        """The elements as nested lists of Python numbers.

        >>> torch.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        if self.layout is not _dtypes.strided:
            raise NotImplementedError(f"tolist is not implemented for {self.layout.name} tensors; to_dense() converts")
        if self.device.type != "cpu":
            return self.cpu().tolist()
        if self.is_quantized:
            return self.dequantize().tolist()
        if self.is_conj() or self.is_neg():
            return _interop.resolved(self).tolist()
        return self.to(_dtypes.complex64 if self.is_complex() else _dtypes.float32).tolist()  # of 16 bits

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """NumPy's name for a copy of a dtype, which Dask and SciPy call: `dtype` may be NumPy's, or a word for one; without `copy` the tensor itself
        where it is of that dtype. Of `order` "C" lays the elements out in rows; "safe" and the like for `casting` refuse what NumPy refuses.

        >>> torch.ones(2).astype("i4")
        tensor([1, 1], dtype=torch.int32)
        """
        dtype = _dtypes.of_numpy(dtype)
        if casting != "unsafe":
            import numpy

            if not numpy.can_cast(self.dtype.dtype, dtype.dtype, casting):
                raise TypeError(f"astype: {self.dtype} is not cast to {dtype} by the rule {casting!r}")
        made = self.to(dtype, copy=copy)
        return made.contiguous() if order == "C" else made

    def numpy(self, *, force=False):
        """The tensor as a NumPy array that shares its memory."""
        return _dlpack.to_numpy(self, force)

    to_numpy = numpy  # by which matplotlib and others tell arrays from sequences

    def __array__(self, dtype=None, copy=None):
        return _dlpack.array(self, dtype, copy)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """The result of a NumPy function of tensors."""
        return _overrides.converted(_dlpack.from_numpy(array), type(self))

    def __array_function__(self, func, types, args, kwargs):
        from .._data.array_protocols import array_function

        return array_function(self, func, types, args, kwargs)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        from .._data.array_protocols import array_ufunc

        return array_ufunc(self, ufunc, method, inputs, kwargs)

    @property
    def __array_interface__(self):
        return _interop.array_interface(self)

    @property
    def __cuda_array_interface__(self):
        return _interop.cuda_array_interface(self)

    @property
    def strides(self):
        """The steps from one element to the next along each dimension, in bytes, as NumPy has them; stride() counts elements."""
        return _interop.strides(self)

    def conjugate(self):
        """conj(), by NumPy's name for it."""
        return _f.conj(self)

    def tobytes(self):
        """The bytes of the elements in row-major order, a copy, whatever the strides and the device are; bytes(tensor) gives the same.

        >>> torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8).t().tobytes()
        b'\\x01\\x03\\x02\\x04'
        """
        return _interop.elements(self)

    __bytes__ = tobytes

    def _no_buffer(self, flags):
        _interop.no_buffer(self, flags)

    @_direct.special(_direct.LENDS)
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return _dlpack.export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return _dlpack.device(self)

    def __array_namespace__(self, /, *, api_version=None):
        """libtensor.array_api, the functions of the array API standard, of any version of it up to 2025.12."""
        if api_version not in VERSIONS:
            raise ValueError(f"__array_namespace__(): api_version must be None or one of {', '.join(VERSIONS[1:])}, not {api_version!r}")
        return sys.modules[PACKAGE].array_api

    def to_device(self, device, /, *, stream=None):
        """The tensor on another device; `self` where it is there. The copy is ordered by the current stream, so that `stream` must be None.

        >>> torch.ones(2).to_device("cpu")
        tensor([1., 1.])
        """
        if stream is not None:
            raise ValueError("to_device(): stream must be None; torch.cuda.stream() sets the stream of a copy")
        return self.to(device)

    def __arrow_c_array__(self, requested_schema=None):
        return _arrow.export(self)

    def __reduce_ex__(self, protocol):
        return _sharing.send(self) if _sharing.spawning() else _serialize.whole(self, _serialize.reduce)

    def __copy__(self):
        made = _f.jvp_detach(self).as_subclass(type(self)).requires_grad_(self.requires_grad)
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment; "
                f"this one was made by {self.grad_fn.name()}: copy its detach()"
            )
        with _overrides.disabled(), in_name_of("deepcopy"):
            made = _serialize.deepcopy(self, memo).as_subclass(type(self)).requires_grad_(self.requires_grad)
        memo[id(self)] = made
        if self.grad is not None:
            made.grad = copy.deepcopy(self.grad, memo)
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    @_forked.shows
    def __repr__(self, *, tensor_contents=None):
        name = type(self).__name__
        with _overrides.disabled():
            if tensor_contents is not None:
                return _print.with_contents(_f.to_string(self, **_print.options), name, tensor_contents)
            if type(self) is Tensor:
                return _f.to_string(self, **_print.options)
            return _print.renamed(_f.to_string(self, **_print.narrowed(name)), name)

    def _repr_html_(self):
        from .._data.html import html  # which only notebooks need

        with _overrides.disabled():
            return html(self, type(self).__name__)

    def __iter__(self):
        if not self.dim():
            raise TypeError("iteration over a 0-d tensor")
        return iter(_f.unbind(self))

    def __reversed__(self):
        """The tensor with the order of its first dimension reversed: a copy."""
        return _f.flip(self, 0) if self.dim() else self

    @_direct.first("select slice index_get", _direct.SUBSCRIPTS)
    def __getitem__(self, key):
        """The part of the tensor that a key tells, or the elements at its indices. Slices with negative steps give copies."""
        key = _keys.plain(key)
        if not _keys.backwards(key):
            return _f.index_get(self, key)
        part, dims, rest = _keys.forwards(self, key)
        return _f.flip(part, dims)[rest]

    @_direct.first("index_set_ index_set_scalar_", _direct.ASSIGNS)
    def __setitem__(self, key, value):
        """Writes a tensor, a number or a sequence to the part of the tensor that a key tells, or to the elements at its indices."""
        key = _keys.plain(key)
        if _keys.backwards(key):
            part, dims, rest = _keys.forwards(self, key)
            turned = _f.flip(part, dims)
            turned[rest] = value
            part.copy_(_f.flip(turned, dims))
        elif isinstance(value, Tensor):
            _f.index_set_(self, key, value)
        elif _match.is_number(value):
            _f.index_set_scalar_(self, key, value)
        else:
            _f.index_set_(self, key, _create.tensor(value, dtype=self.dtype, device=self.device))


_direct.convert("X", _keys.converted)
