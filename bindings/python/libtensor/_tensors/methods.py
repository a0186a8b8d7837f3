"""Methods of Tensor that use other parts of the package."""

from __future__ import annotations

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

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds

VERSIONS = (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12")  # of the array API standard
PACKAGE = __name__.partition(".")[0]

if TYPE_CHECKING:
    Extended = Tensor
else:
    Extended = object


def itself(tensor):
    """Returns another object for a tensor, with its grad_fn and tangents."""
    return tensor[...] if tensor.requires_grad or _f.jvp_level(tensor) else _f.detach(tensor)


def replaced(function, tensor, callable, **others):
    """Replaces each element by the result of a callable for it and the corresponding elements of other tensors."""
    expanded = [checked(other, function, name).expand(tensor.shape) for name, other in others.items()]
    values = [callable(*numbers) for numbers in zip(*(t.flatten().tolist() for t in (tensor, *expanded)), strict=True)]
    for value in values:
        if not isinstance(value, (Number, Tensor)):
            raise TypeError(f"{function}(): callable must return a number for each element, not {type(value).__name__}")
    return tensor.copy_(_create.tensor(values, dtype=tensor.dtype).view(tensor.shape))


class NoPartError(AttributeError, RuntimeError, TypeError):
    """The tensor lacks a property: a real tensor `imag`, a vector `mT`. hasattr() returns False."""


def part(operator):
    """Returns the getter of a property that not all tensors have."""

    def get(tensor):
        try:
            return operator(tensor)
        except (RuntimeError, TypeError) as error:
            if type(error) not in (RuntimeError, TypeError):
                raise
            raise NoPartError(str(error)) from None

    return get


@extends(Tensor)
class Tensor(Extended):  # type: ignore[no-redef]  # extends() returns the imported class
    def __new__(cls, *args, device=None):
        made = _create.legacy(None, args, device)
        return made if cls is Tensor else given_to(cls, made)

    def as_subclass(self, cls):
        """Returns a view as an instance of `cls`, Tensor or a subclass.

        >>> class Metres(torch.Tensor): pass
        >>> torch.ones(2).as_subclass(Metres)
        Metres([1., 1.])
        """
        if not isinstance(cls, type) or not issubclass(cls, Tensor):
            raise TypeError(f"as_subclass(): argument 'cls' must be Tensor or a subclass of it, not {cls!r}")
        with _overrides.disabled():
            return given_to(cls, itself(self))

    def set_(self, *args, **kwargs):
        """Makes the tensor a view of other memory in place, and returns it.

        set_(): an empty tensor with a new storage. set_(tensor): the storage, shape and strides of a tensor of the same dtype.
        set_(storage): a 1-D view of the whole storage. set_(source, storage_offset, size, stride=()): a view of a storage, or of the
        storage of a tensor, with the given geometry in elements; strides default to contiguous. A geometry outside of the storage raises
        RuntimeError.

        >>> torch.zeros(2).set_(torch.FloatStorage([1, 2, 3]), 1, (2,))
        tensor([2., 3.])
        """
        if args:
            args = (untyped(args[0], self.dtype), *args[1:])
        elif "source" in kwargs:
            kwargs["source"] = untyped(kwargs["source"], self.dtype)
        self._kept = None
        return _f.set_(self, *args, **kwargs)

    def module_load(self, other, assign=False):
        """Returns the tensor that `load_state_dict` exchanges this parameter or buffer with, if
        `torch.__future__.set_swap_module_params_on_conversion` is set: `other` with `assign`, else this tensor with the elements of
        `other`.

        Subclasses override it. The result must be neither of the two objects.

        >>> torch.zeros(2).module_load(torch.tensor([1, 2]))
        tensor([1., 2.])
        """
        return other.detach() if assign else self.detach().copy_(other)

    def share_memory_(self):
        """Moves the storage into shared memory, and returns the tensor."""
        _f.share_memory_(self)
        _sharing.register()
        return self

    def pin_memory(self, device=None):
        """Returns the tensor in page-locked CPU memory, which devices copy asynchronously (`non_blocking`); `self` if it is page-locked.
        Requires a CUDA device.
        """
        return self if _f.is_pinned(self) else _f.pin_memory(self)

    def is_pinned(self, device=None):
        """Returns whether the memory is page-locked.

        >>> torch.ones(2).is_pinned()
        False
        """
        return _f.is_pinned(self)

    def record_stream(self, stream):
        """Notes that a stream uses the memory, which is not reused before the submitted operations of the stream have completed. Operators
        call it; it is needed for kernels of other libraries.
        """
        _f.record_stream(self, _streams.checked(stream, _streams.Stream, "record_stream", "stream").stream_id)

    def where(self, condition, other):
        """Returns the elements of `self` where `condition` is True, and those of `other`, a tensor or a scalar, elsewhere.

        >>> torch.tensor([1, 2]).where(torch.tensor([True, False]), 0)
        tensor([1, 0])
        """
        return _f.where(condition, self, other)

    def new(self, *args, device=None):
        """Returns a tensor of this dtype and device from sizes or a sequence: new(2, 3), new([1, 2]).

        >>> torch.ones(1, dtype=torch.int32).new([1, 2])
        tensor([1, 2], dtype=torch.int32)
        """
        if self.layout is not _dtypes.strided:
            return _overrides.converted(_sparse.new(self, args, device), type(self))
        return _overrides.converted(_create.legacy(self.dtype, args, device or self.device), type(self))

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        """Returns a copy of `data`; dtype and device default to those of this tensor.

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
        """Returns the negative; there is no negated view of a real tensor.

        >>> torch.tensor([1, -2])._neg_view()
        tensor([-1,  2])
        """
        return _f.neg(self)

    T = property(lambda self: _f.T(self), doc="A view with the dimensions in reverse order; of a matrix, the transpose.")
    H = property(part(_f.H), doc="A view of a matrix: the conjugate transpose.")
    mT = property(part(_f.mT), doc="A view of a batch of matrices: the transposes, which exchange the last two dimensions.")
    mH = property(part(_f.mH), doc="A view of a batch of matrices: the conjugate transposes.")
    real = property(
        lambda self: _f.real(self) if self.is_complex() else self,
        lambda self, value: _f.real(self).copy_(_create.as_tensor(value)),  # type: ignore[arg-type]  # the result is ignored
        doc="A view of the real parts; the tensor itself for a real dtype.",
    )
    imag = property(
        part(_f.imag),
        lambda self, value: _f.imag(self).copy_(_create.as_tensor(value)),  # type: ignore[arg-type]  # the result is ignored
        doc="A view of the imaginary parts. Raises an error for a real dtype.",
    )

    @property
    def data(self):
        """A tensor that shares the memory and is not in the autograd graph, which does not notice writes to it. Assignment replaces the
        memory."""
        return _f.untracked(self)

    @data.setter
    def data(self, value):
        self._kept = None
        _f.set_data_(self, value)

    @data.deleter
    def data(self):
        raise RuntimeError("data: a tensor's data cannot be deleted; delete the tensor")

    def _is_view(self):
        """Returns whether the tensor is a view: its base `_base` owns the memory.

        >>> x = torch.zeros(3)
        >>> x[1:]._is_view(), x[1:]._base is x, x._is_view()
        (True, True, False)
        """
        return self._base is not None and not self.is_inference()

    def storage(self):
        """Returns the storage as elements of the tensor's dtype: one object for all tensors of a dtype that share it.

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
        """Returns the legacy class of the storage, such as torch.FloatStorage.

        >>> torch.ones(2).storage_type()
        <class 'libtensor.FloatStorage'>
        """
        name = next((name for name, dtype in _typed_storage.LEGACY.items() if dtype is self.dtype), None)
        if name is None:
            raise TypeError(f"storage_type: {self.dtype} has no legacy storage class; use untyped_storage()")
        return _typed_storage.legacy(name)

    def type(self, dtype=None, non_blocking=False):
        """Returns the legacy name of the type, or the tensor converted to `dtype` (a dtype, or such a name or class).

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
        """Returns the elements as nested lists of Python numbers.

        >>> torch.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        _overrides.note_read("tolist", self)
        return self._list_elements()

    @_direct.getter(_direct.ELEMENTS, "tensor_hold")
    def _list_elements(self):
        """Returns the elements as nested lists; the modes are not notified."""
        if self.layout is not _dtypes.strided:
            raise NotImplementedError(f"tolist is not implemented for {self.layout.name} tensors; convert with to_dense()")
        if self.device.type != "cpu":
            return self.cpu()._list_elements()
        if self.is_quantized:
            return self.dequantize()._list_elements()
        if self.is_conj() or self.is_neg():
            return _interop.resolved(self)._list_elements()
        return self.to(_dtypes.complex64 if self.is_complex() else _dtypes.float32)._list_elements()  # 16-bit floats

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """Returns a copy with another dtype, as in NumPy; Dask and SciPy call it. `dtype` may be a NumPy dtype or its string. With
        `copy=False`, returns the tensor itself if it has the dtype. `order="C"` returns a contiguous tensor; `casting` is checked as by
        NumPy.

        >>> torch.ones(2).astype("i4")
        tensor([1, 1], dtype=torch.int32)
        """
        dtype = _dtypes.of_numpy(dtype)
        if casting != "unsafe":
            import numpy

            if not numpy.can_cast(self.dtype.dtype, dtype.dtype, casting):
                raise TypeError(f"astype: cannot cast from {self.dtype} to {dtype} according to the rule {casting!r}")
        made = self.to(dtype, copy=copy)
        return made.contiguous() if order == "C" else made

    def _note_read(self):
        """Notifies the active modes that another library reads the elements. C calls it for buffers."""
        _overrides.note_read("numpy", self)

    def numpy(self, *, force=False):
        """Returns a NumPy array that shares the memory of the tensor.

        Raises RuntimeError for a tensor that requires grad or is a lazy conjugate, and TypeError for one that is not on the CPU. With
        `force`, such a tensor is first detached, copied to the CPU and resolved."""
        self._note_read()
        return _dlpack.to_numpy(self, force)

    to_numpy = numpy  # matplotlib and others recognize arrays by it

    def __array__(self, dtype=None, copy=None):
        self._note_read()
        return _dlpack.array(self, dtype, copy)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """Returns the result of a NumPy function as a tensor."""
        return _overrides.converted(_dlpack.from_numpy(array), type(self))

    def __array_function__(self, func, types, args, kwargs):
        from .._data.array_protocols import array_function

        return array_function(self, func, types, args, kwargs)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        from .._data.array_protocols import array_ufunc

        return array_ufunc(self, ufunc, method, inputs, kwargs)

    @property
    def __array_interface__(self):
        self._note_read()
        return _interop.array_interface(self)

    @property
    def __cuda_array_interface__(self):
        return _interop.cuda_array_interface(self)

    @property
    def strides(self):
        """The strides in bytes, as in NumPy; stride() returns elements."""
        return _interop.strides(self)

    def conjugate(self):
        """Returns the complex conjugate, as `conj` does; this is NumPy's name of it."""
        return _f.conj(self)

    def tobytes(self):
        """Returns a copy of the elements in row-major order as bytes, for any strides and device: the same as bytes(tensor).

        >>> torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8).t().tobytes()
        b'\\x01\\x03\\x02\\x04'
        """
        self._note_read()
        return _interop.elements(self)

    __bytes__ = tobytes

    def _no_buffer(self, flags):
        _interop.no_buffer(self, flags)

    @_direct.special(_direct.LENDS)
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self._note_read()
        return _dlpack.export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return _dlpack.device(self)

    def __array_namespace__(self, /, *, api_version=None):
        """Returns libtensor.array_api, the functions of the array API standard, for versions up to 2025.12."""
        if api_version not in VERSIONS:
            raise ValueError(f"__array_namespace__(): api_version must be None or one of {', '.join(VERSIONS[1:])}, not {api_version!r}")
        return sys.modules[PACKAGE].array_api

    def to_device(self, device, /, *, stream=None):
        """Returns the tensor on another device; `self` if it is there. The copy is ordered by the current stream; `stream` must be None.

        >>> torch.ones(2).to_device("cpu")
        tensor([1., 1.])
        """
        if stream is not None:
            raise ValueError("to_device(): stream must be None; torch.cuda.stream() sets the stream of a copy")
        return self.to(device)

    def __arrow_c_array__(self, requested_schema=None):
        return _arrow.export(self)

    @_overrides.overridable
    def __reduce_ex__(self, protocol):
        return _sharing.send(self) if _sharing.spawning() else _serialize.whole(self, _serialize.reduce)

    def __copy__(self):
        made = _f.jvp_detach(self).as_subclass(type(self)).requires_grad_(self.requires_grad)
        made.__dict__.update(self.__dict__)
        return made

    @_overrides.overridable
    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment; "
                f"this one was computed by {self.grad_fn.name()}: copy its detach()"
            )
        with _overrides.disabled(), in_name_of("deepcopy"):
            made = _serialize.deepcopy(self, memo).as_subclass(type(self)).requires_grad_(self.requires_grad)
        memo[id(self)] = made
        if self.grad is not None:
            made.grad = copy.deepcopy(self.grad, memo)
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    @_overrides.overridable
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
        from .._data.html import html  # imported for notebooks only

        with _overrides.disabled():
            return html(self, type(self).__name__)

    def __iter__(self):
        if not self.dim():
            raise TypeError("iteration over a 0-d tensor")
        return iter(_f.unbind(self))

    def __reversed__(self):
        """Returns a copy with the first dimension reversed."""
        return _f.flip(self, 0) if self.dim() else self

    @_direct.first("select slice index_get", _direct.SUBSCRIPTS)
    def __getitem__(self, key):
        """Returns a view for integers, slices, None and ellipses, a copy for masks, index tensors and slices with negative steps."""
        key = _keys.plain(key)
        if not _keys.backwards(key):
            return _f.index_get(self, key)
        part, dims, rest = _keys.forwards(self, key)
        return _f.flip(part, dims)[rest]

    @_direct.first("index_set_ index_set_scalar_", _direct.ASSIGNS)
    def __setitem__(self, key, value):
        """Writes a tensor, a scalar or a sequence to the elements that a key selects."""
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
