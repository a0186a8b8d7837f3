"""Tensors from Python data: numbers, nested sequences, arrays of other libraries, buffers."""

from __future__ import annotations

from .._base import device as _device
from .._base import direct as _direct
from .._base import dtypes as _dtypes
from .._base import errors as _errors
from .._base.direct import open_to_overrides
from .._base.size import Size
from .._base.warnings import warn, warn_once
from .._core import match as _match
from .._core.convert import known_dtype, sequence
from .._core.owner import StorageBase, TypedStorage, untyped
from .._core.results import named
from .._core.tensor import Tensor, checked
from .._gen import gen_functions as _f
from . import dlpack as _dlpack
from . import interop as _interop
from .sequence import from_sequence, is_sequence, item

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any


def is_array(data):
    """Returns whether data is an array of another library that shares its memory, or an object that converts to one, such as a table."""
    if sequence(data):
        return False
    if hasattr(data, "__array_interface__"):
        return True
    return not isinstance(data, Tensor) and any(hasattr(data, name) for name in ("__dlpack__", "__cuda_array_interface__", "__array__"))


def as_dtype(dtype):
    return None if dtype is None else known_dtype(dtype, "tensor", "dtype")


@_direct.special(_direct.MAKES_TENSOR, item)
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False, names=None):
    """Returns a tensor with a copy of `data`: a number, nested sequences of numbers, a tensor, or an array of another library.

    The dtype defaults to bool or int64 for bools and integers, to the default dtype for floats, and to its complex counterpart for complex
    numbers.

    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    warn_of_copy("tensor", data)
    if names is not None:
        return named(copied(data, dtype, device, requires_grad, pin_memory), names, "tensor")
    return copied(data, dtype, device, requires_grad, pin_memory)


def warn_of_copy(function, data):
    """Warns if a tensor is copied as data."""
    if isinstance(data, Tensor):
        warn(
            f"{function}: to copy construct from a tensor, it is recommended to use data.detach().clone() or "
            "data.detach().clone().requires_grad_(True)"
        )


def copied(data, dtype, device, requires_grad, pin_memory):
    """Returns a tensor with a copy of data; see tensor()."""
    if requires_grad:
        return copied(data, dtype, device, False, pin_memory).requires_grad_()
    if pin_memory:
        return copied(data, dtype, device, False, False).pin_memory()
    dtype = as_dtype(dtype)
    if isinstance(data, Tensor):
        return data.detach().as_subclass(Tensor).to(dtype=dtype, device=device, copy=True)
    if isinstance(data, TypedStorage) or is_storage(data) and dtype is not None:
        dtype = dtype or _f.get_default_dtype()
        made = _f.storage_view(untyped(data, dtype), dtype=dtype).clone()
    else:
        made = _dlpack.from_array(data, dtype).to(dtype=dtype, copy=True) if is_array(data) else from_sequence(data, dtype)
    device = device if device is not None else default_device()
    return made if device is None else made.to(device=device)


def default_device():
    """Returns the default device; None for the CPU, where new data is created."""
    found = _device.default()
    return None if found.type == "cpu" else found


def as_tensor(data, dtype=None, device=None):
    """Returns the data as a tensor, which shares its memory if possible.

    >>> x = torch.ones(2)
    >>> torch.as_tensor(x) is x
    True
    """
    dtype = as_dtype(dtype)
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    if is_array(data) and getattr(data, "ndim", 1):
        return _dlpack.from_array(data, dtype).to(dtype=dtype, device=device or default_device())
    return tensor(data, dtype=dtype, device=device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """Returns the object as a tensor, which shares its memory if `copy` is False, or if it is None and sharing is possible; True copies.

    >>> torch.asarray(bytearray(b"ab"), dtype=torch.uint8)
    tensor([97, 98], dtype=torch.uint8)
    """
    if requires_grad:
        return asarray(obj, dtype=dtype, device=device, copy=copy).requires_grad_()
    dtype = as_dtype(dtype)
    if type(obj).__name__ == "PyCapsule":
        obj = _dlpack.consume(obj)
    if copy is False and _dlpack.is_number(obj):
        raise RuntimeError("asarray(): a NumPy scalar cannot be shared, which copy=False requires; pass an array")
    if isinstance(obj, Tensor) or is_array(obj):
        if isinstance(obj, Tensor):
            made = _f.jvp_detach(obj)
        else:
            made, device = _dlpack.from_array(obj, dtype), device or default_device()
            _dlpack.check_not_copied("asarray", copy, made, obj)
        if copy:
            return made.to(dtype=dtype, device=device, copy=True)
        converted = made.to(dtype=dtype, device=device)
        if copy is False and converted.data_ptr() != made.data_ptr():
            raise ValueError("asarray(): the conversion to another dtype or device requires a copy, which copy=False forbids")
        return converted
    try:
        view = None if isinstance(obj, (str, list, tuple)) else memoryview(obj)
    except TypeError:
        view = None
    if view is not None:
        made = frombuffer(obj, dtype=dtype or _interop.of_format(view) or _f.get_default_dtype())
        return made.to(device=device, copy=bool(copy))
    if copy is False:
        raise ValueError("asarray(): a sequence or number cannot be shared, which copy=False requires")
    return tensor(obj, dtype=dtype, device=device)


def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Returns a zero-dimensional tensor of the number `s`. `dtype` defaults to the default dtype.

    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    return _f.scalar_tensor(s, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, requires_grad=requires_grad)


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """Returns a one-dimensional tensor that shares the memory of an object with the buffer protocol.

    It has `count` elements (-1: all) from byte `offset` on, and keeps the object alive. The tensor of a read-only buffer is read-only.
    Raises ValueError for empty buffers, an `offset` or `count` beyond the buffer, and a number of bytes that is not a multiple of the
    element size.

    >>> torch.frombuffer(bytearray(b"abcd"), dtype=torch.uint8, offset=2)
    tensor([ 99, 100], dtype=torch.uint8)
    """
    if requires_grad:
        return frombuffer(buffer, dtype=dtype, count=count, offset=offset).requires_grad_()
    dtype = as_dtype(dtype)
    try:
        view = _interop.Buffer(buffer)
    except TypeError:
        raise ValueError(
            f"frombuffer(): argument 'buffer' must support the buffer protocol, which {type(buffer).__name__} does not"
        ) from None
    try:
        if view.nbytes == 0 or count == 0:
            raise ValueError(f"both buffer length ({view.nbytes}) and count ({count}) must not be 0")
        if not 0 <= offset < view.nbytes:
            raise ValueError(
                f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({view.nbytes} bytes) minus 1"
            )
        left = view.nbytes - offset
        if count < 0:
            if left % dtype.itemsize:
                raise ValueError(
                    f"buffer length ({left} bytes) after offset ({offset} bytes) must be a multiple of element size ({dtype.itemsize})"
                )
            count = left // dtype.itemsize
        elif count * dtype.itemsize > left:
            raise ValueError(
                f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) "
                f"must not be greater than actual buffer length ({view.nbytes} bytes)"
            )
    except ValueError:
        view.release()
        raise
    return _interop.share(view.address + offset, count * dtype.itemsize, dtype, (count,), None, view, view.readonly)


# The legacy constructors torch.FloatTensor, torch.LongTensor and others.
LEGACY = {
    name: _dtypes.SCALAR_TYPES[name]
    for name in ("Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool", "ComplexDouble", "ComplexFloat")
}
# Dtypes whose legacy name exists as a string only.
NAMED = {
    name: d for name, d in _dtypes.SCALAR_TYPES.items() if name not in LEGACY and d not in _dtypes.QUANTIZED and d is not _dtypes.bcomplex32
}


def legacy(wanted, args, device=None):
    """torch.Tensor(2, 3), torch.Tensor([1, 2]), torch.Tensor(storage), torch.Tensor(tensor); `dtype` defaults to the default dtype."""
    dtype = wanted or _f.get_default_dtype()
    if all(isinstance(a, int) and not isinstance(a, bool) for a in args):
        return _f.empty(args or (0,), dtype=dtype, device=device)
    if len(args) != 1:
        raise TypeError(
            f"Tensor(): expected sizes, or one sequence, tensor or storage, but got {', '.join(type(a).__name__ for a in args)}"
        )
    data = args[0]
    if isinstance(data, Size):
        return _f.empty(data, dtype=dtype, device=device)
    if is_storage(data):
        return _f.storage_view(untyped(data, dtype), dtype=dtype)
    if isinstance(data, Tensor):
        if wanted is not None and data.dtype is not wanted:
            raise TypeError(f"expected {dtype} (got {data.dtype})")
        return data.as_subclass(Tensor)
    if not is_sequence(data):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return tensor(data, dtype=dtype, device=device)


class Legacy(type):
    """The type of the legacy classes torch.FloatTensor and others."""

    dtype: Any
    device: Any

    def __call__(cls, *args, device=None):
        device = device or cls.device
        if cls.device and _device.device(device).type != cls.device:
            raise TypeError(
                f"legacy constructor expects device type: {cls.device} but device type: {_device.device(device).type} was passed"
            )
        if len(args) == 1 and (isinstance(args[0], Tensor) or is_storage(args[0])) and args[0].is_cuda is not (cls.device == "cuda"):
            raise TypeError(f"expected a {type(args[0]).__name__} on {cls.device or 'cpu'}, but got one on {args[0].device}")
        return legacy(cls.dtype, args, device)

    def __instancecheck__(cls, value):
        strided = isinstance(value, Tensor) and value.layout is _dtypes.strided
        return strided and value.dtype is cls.dtype and value.is_cuda is (cls.device == "cuda")


LEGACY_DOC = """Creates a tensor of dtype {dtype}{where}; `tensor` and `empty` replace this legacy constructor.

A sequence is copied, integers or a `Size` are the sizes of an uninitialized tensor, and no arguments create an empty tensor. The result
shares memory with a tensor or storage of this dtype; one of another dtype raises an error. `isinstance(x, {name})` is true for strided
tensors of this dtype and device.
"""


def legacy_class(name, device=None):
    """Returns the class torch.FloatTensor, torch.cuda.FloatTensor, ..."""
    where = f" on {device}" if device else ""
    body = {"dtype": LEGACY[name], "device": device, "__module__": f"libtensor.{device}" if device else "libtensor"}
    return Legacy(name + "Tensor", (), body | {"__doc__": LEGACY_DOC.format(name=name + "Tensor", dtype=LEGACY[name], where=where)})


def type_name(value):
    if value.is_quantized:
        return (
            "torch.quantized."
            + {"quint8": "QUInt8", "qint8": "QInt8", "qint32": "QInt32"}[str(value.dtype).removeprefix("torch.")]
            + "Tensor"
        )
    parts = "" if value.layout is _dtypes.strided else "sparse." if value.layout is _dtypes.sparse_coo else f"{value.layout.name}."
    cuda = "cuda." if value.is_cuda else ""
    return f"torch.{cuda}{parts}{next(n for n, d in (LEGACY | NAMED).items() if d is value.dtype)}Tensor"


def type_named(name):
    """Returns the dtype and the device type of a legacy name."""
    short = name.removeprefix("torch.").removeprefix("cuda.")
    found = (LEGACY | NAMED).get(short.removesuffix("Tensor"))
    if found is None or not name.startswith("torch.") or not name.endswith("Tensor"):
        raise ValueError(f"invalid type: '{name}'")
    return found, "cuda" if name.startswith("torch.cuda.") else "cpu"


def set_default_dtype(d):
    """Sets the default dtype of floating-point numbers and factories. Raises TypeError for a dtype that is not floating-point.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor(0.5).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    if isinstance(d, _dtypes.dtype) and not d.is_floating_point:
        raise TypeError(f"set_default_dtype(): only floating-point types are supported as the default type, not {d}")
    _f.set_default_dtype(d)


def set_default_tensor_type(t):
    """Sets the default dtype and device from a legacy class or its name, such as torch.DoubleTensor or torch.cuda.FloatTensor."""
    warn_once("set_default_tensor_type: deprecated, as in PyTorch; use set_default_dtype() and set_default_device()")
    if isinstance(t, _dtypes.dtype):
        raise TypeError(
            f"set_default_tensor_type(): invalid type object: expected a legacy class or its name, not {t}; use set_default_dtype({t})"
        )
    dtype, device = type_named(t) if isinstance(t, str) else (t.dtype, t.device or "cpu")
    _f.set_default_dtype(dtype)
    if "cuda" in (device, _device.default().type):
        _device.set_default(device)


def set_default_device(device):
    """Sets the default device of factories in the calling thread; None is the CPU."""
    _device.set_default(device)


def get_default_device():
    """Returns the default device of factories in the calling thread, initially the CPU.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return _device.default()


def is_tensor(obj):
    """Returns whether the object is a Tensor.

    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor(1)
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj):
    """Returns whether the object is an UntypedStorage or a TypedStorage.

    >>> torch.is_storage(torch.ones(1).untyped_storage())
    True
    """
    return isinstance(obj, StorageBase)


@open_to_overrides
def numel(input):
    """Returns the number of elements of a tensor.

    >>> torch.numel(torch.ones(2, 3))
    6
    """
    if not isinstance(input, Tensor):
        raise _errors.wrong_type("numel", "input", "Tensor", input)
    return input.numel()


@_direct.open_to_overrides
def is_floating_point(input):
    """Returns whether the dtype of a tensor is floating-point.

    >>> torch.is_floating_point(torch.ones(1, dtype=torch.float16))
    True
    """
    return checked(input, "is_floating_point", "input").dtype.is_floating_point


@_direct.open_to_overrides
def is_complex(input):
    """Returns whether the dtype of a tensor is complex.

    >>> torch.is_complex(torch.ones(1))
    False
    """
    return checked(input, "is_complex", "input").dtype.is_complex


@_direct.open_to_overrides
def is_inference(input):
    """Returns whether a tensor was created in inference_mode().

    >>> torch.is_inference(torch.ones(1))
    False
    """
    return _f.is_inference(checked(input, "is_inference", "input"))


@_direct.open_to_overrides
def is_signed(input):
    """Returns whether the dtype of a tensor represents negative numbers.

    >>> torch.is_signed(torch.ones(1, dtype=torch.uint8))
    False
    """
    return checked(input, "is_signed", "input").dtype.is_signed


def broadcast_shapes(*shapes):
    """Returns the shape to which the given shapes broadcast.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    for shape in shapes:
        if not (_match.is_int(shape) or _match.is_ints(shape)):
            raise RuntimeError(f"broadcast_shapes(): argument 'shapes' must be ints or tuples of ints, not {type(shape).__name__}")
    metas = [_f.empty(s, device="meta") for s in shapes]
    return Size(_f.broadcast_tensors(*metas)[0].shape if metas else ())
