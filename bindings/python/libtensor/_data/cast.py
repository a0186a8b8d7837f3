"""Conversions to other dtypes and devices: Tensor.to and its shorter forms."""

from .._base import direct as _direct
from .._base import dtypes as _dtypes
from .._base.device import device as _device
from .._base.errors import no_overload
from .._core.match import is_dtype
from .._core.tensor import CPU, Tensor, checked
from .._gen import gen_functions as _f

SIGNATURES = (
    "(torch.dtype dtype, bool non_blocking=False, bool copy=False, *, torch.memory_format memory_format=None)",
    "(torch.device device=None, torch.dtype dtype=None, bool non_blocking=False, bool copy=False, *, torch.memory_format "
    "memory_format=None)",
    "(Tensor tensor, bool non_blocking=False, bool copy=False, *, torch.memory_format memory_format=None)",
)
# The names of the positional arguments, by the first one.
AFTER_DTYPE = ("dtype", "non_blocking", "copy")
AFTER_DEVICE = ("device", "dtype", "non_blocking", "copy")
AFTER_OTHER = ("tensor", "non_blocking", "copy")
NAMES = {"dtype", "device", "tensor", "non_blocking", "copy", "memory_format"}


def to(self, *args, **kwargs):
    """Returns the tensor with another dtype or device, or with those of another tensor; `self` if nothing changes.

    to(dtype), to(device, dtype=None) and to(other) accept `non_blocking`, `copy` and `memory_format`. `copy=True` returns a copy in any
    case. `non_blocking` copies between page-locked memory and CUDA devices asynchronously.

    >>> torch.tensor([1, 2]).to(torch.float32)
    tensor([1., 2.])
    """
    if len(args) == 1 and not kwargs and isinstance(self, Tensor):
        target = args[0]
        if target.__class__ is _dtypes.dtype:
            return self if self.dtype is target else _f.to(self, dtype=target)
        if (target is CPU or target.__class__ is str and target == "cpu") and self.device is CPU:
            return self
    if args:
        first = args[0]
        names = AFTER_DTYPE if is_dtype(first) else AFTER_OTHER if isinstance(first, Tensor) else AFTER_DEVICE
        given = dict(zip(names, args, strict=False))
        if len(args) > len(names) or given.keys() & kwargs.keys():
            raise no_overload("to", SIGNATURES, args, kwargs)
        kwargs |= given
    if kwargs.keys() - NAMES or "tensor" in kwargs and kwargs.keys() & {"dtype", "device"}:
        raise no_overload("to", SIGNATURES, args, kwargs)
    other = kwargs.pop("tensor", None)
    if other is not None:
        kwargs["dtype"], kwargs["device"] = other.dtype, other.device
    if "memory_format" in kwargs and kwargs["memory_format"] is None:
        del kwargs["memory_format"]
    if isinstance(self, Tensor) and kwargs.get("dtype") is self.dtype:
        kwargs["dtype"] = None  # unchanged, which may be quantized
    made = _f.to(self, **kwargs)
    return self if not kwargs.get("copy") and made.is_set_to(self) and made.dtype is self.dtype else made


def losses(dtype):
    """Returns a sentence about the values that a dtype does not represent."""
    if dtype is _dtypes.bool_:
        return "Elements other than 0 become True."
    if dtype.is_complex:
        return "Real numbers become the real part."
    return (
        "" if dtype.is_floating_point else "Fractions are truncated, and integers out of range wrap around. "
    ) + "Imaginary parts are discarded."


def cast(name, dtype):
    def method(self, memory_format=None):
        return to(self, dtype) if memory_format is None else to(self, dtype, memory_format=memory_format)

    method.__name__ = name
    method.__doc__ = (
        f"Returns the tensor converted to {dtype}: `self` if it has this dtype, otherwise a copy. {losses(dtype)}\n\n"
        "`memory_format` defaults to preserve_format: the order of the dimensions in memory is that of `self`."
    )
    return method


CASTS = {
    "bool": _dtypes.bool_,
    "byte": _dtypes.uint8,
    "char": _dtypes.int8,
    "short": _dtypes.int16,
    "int": _dtypes.int32,
    "long": _dtypes.int64,
    "half": _dtypes.float16,
    "bfloat16": _dtypes.bfloat16,
    "float": _dtypes.float32,
    "double": _dtypes.float64,
    "chalf": _dtypes.complex32,
    "cfloat": _dtypes.complex64,
    "cdouble": _dtypes.complex128,
}


@_direct.getter(_direct.CONTIGUOUS, "tensor_strides")
def contiguous(self, *, memory_format=_dtypes.contiguous_format):
    """Returns `self` if it is contiguous in `memory_format`, and a contiguous copy otherwise.

    >>> torch.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    return self if _f.is_contiguous(self, memory_format=memory_format) else _f.contiguous(self, memory_format=memory_format)


def cpu(self, memory_format=None):
    """Returns the tensor on the CPU; `self` if it is there.

    >>> torch.ones(2).cpu().device
    device(type='cpu')
    """
    return to(self, "cpu", memory_format=memory_format)


def cuda(self, device=None, non_blocking=False, memory_format=None):
    """Returns the tensor on a CUDA device, by default on the current one."""
    if device is not None and not isinstance(device, int) and _device(device).type != "cuda":
        raise RuntimeError(f"cuda(): Invalid device, must be cuda device, but got: {device}")
    return to(self, "cuda" if device is None else device, non_blocking=non_blocking, memory_format=memory_format)


def type_as(self, other):
    """Returns the tensor with the dtype of `other`.

    >>> torch.ones(2).type_as(torch.tensor([True]))
    tensor([True, True])
    """
    return to(self, checked(other, "type_as", "other").dtype)


METHODS = {name: cast(name, dtype) for name, dtype in CASTS.items()}
METHODS |= {"to": to, "contiguous": contiguous, "cpu": cpu, "cuda": cuda, "type_as": type_as}
for method_name, function in METHODS.items():
    setattr(Tensor, method_name, function)
