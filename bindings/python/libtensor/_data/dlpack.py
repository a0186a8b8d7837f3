"""DLPack in both directions (dmlc.github.io/dlpack, versions 0.8 and 1), and NumPy, whose arrays are exchanged by DLPack."""

from __future__ import annotations

import sys

from .._base import direct as _direct
from .._base import dtypes as _dtypes
from .._base.device import device as Device
from .._core.tensor import Tensor, checked
from .._gen import gen_functions as _f
from .arrow import from_arrow
from .interop import FOREIGN_ORDER, LEGACY_STREAM, View, current_handle, from_cuda, from_interface, lendable, reachable
from .sequence import from_sequence

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

VERSION = (1, 1)
CPU, CUDA, CUDA_HOST = 1, 2, 3


def device(tensor):
    found = tensor.device
    if found.type == "meta":
        raise BufferError("a meta tensor has no data to export through DLPack")
    return (CPU, 0) if found.type == "cpu" else (CUDA, found.index)


def export(tensor, stream, max_version, dl_device, copy):
    """Implements __dlpack__ for streams, devices and unusual arguments: returns the remaining call, or raises."""
    here = device(tensor)
    if here[0] == CUDA and stream != -1:
        ready(tensor, stream)
    elif stream is not None and stream != -1:
        raise BufferError("stream must be None for a tensor on the CPU")
    if dl_device is not None and tuple(dl_device) != here:
        if tuple(dl_device) != (CPU, 0) or copy is False:
            raise BufferError(f"a tensor on device {here} cannot be exported to device {tuple(dl_device)}")
        tensor, copy = tensor.cpu(), None
    versioned = max_version is not None and max_version[0] >= 1
    return Tensor.__dlpack__(tensor, stream=-1, max_version=VERSION if versioned else None, copy=bool(copy))


def ready(tensor, stream):
    """Makes a stream of the consumer, given by the driver's handle, wait for the writes to a tensor."""
    if not isinstance(stream, int | None) or stream == 0:
        raise BufferError(f"stream must be None, -1 or the handle of a CUDA stream that is not 0, not {stream!r}")
    theirs = _f.stream_external(tensor.device, LEGACY_STREAM if stream is None else stream)
    _f.stream_wait_stream(theirs, _f.stream_current(tensor.device))
    _f.record_stream(tensor, theirs)


def to_dlpack(tensor):
    """Returns the tensor as a DLPack capsule."""
    return checked(tensor, "to_dlpack", "tensor").__dlpack__()


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """Returns a tensor that shares memory with an object with __dlpack__, or with a DLPack capsule.

    The memory is copied only if `copy` is True, a stride is negative, or the elements are not aligned.
    """
    if isinstance(ext_tensor, Tensor) and ext_tensor.requires_grad:
        raise BufferError("from_dlpack(): Can't export tensors that require gradient, use tensor.detach()")
    made = ext_tensor.detach() if isinstance(ext_tensor, Tensor) else consume(capsule_of(ext_tensor, copy))
    check_not_copied("from_dlpack", copy, made, ext_tensor)
    if device is not None:
        made = made.to(device)
    return made.clone() if copy and isinstance(ext_tensor, Tensor) else made


def check_not_copied(function, copy, made, data):
    """Raises BufferError if the memory was copied although it must not be."""
    if copy is not False or isinstance(data, Tensor):
        return
    if made.untyped_storage().resizable() or hasattr(data, "__array_interface__") and in_native_order(data) is not data:
        raise ValueError(
            f"{function}(): arrays with negative strides, unaligned elements or another byte order must be copied, which copy=False forbids"
        )


def capsule_of(ext, copy):
    if not hasattr(ext, "__dlpack__"):
        return ext
    kind, index = ext.__dlpack_device__()
    if kind not in (CPU, CUDA, CUDA_HOST):
        raise BufferError(f"from_dlpack(): device {(int(kind), index)} is not available")
    stream = {"stream": current_handle(Device("cuda", index))} if kind == CUDA else {}
    options = {} if copy is None else {"copy": copy}
    try:
        return ext.__dlpack__(max_version=VERSION, **stream, **options)
    except TypeError:  # a producer that knows no versions, and copies
        capsule = ext.__dlpack__(**stream)
        return to_dlpack(consume(capsule).clone()) if copy else capsule


@_direct.special(_direct.RECEIVES)
def consume(capsule):
    """Returns the tensor that shares the memory of a capsule."""
    if type(capsule).__name__ != "PyCapsule":
        raise TypeError(f"from_dlpack(): expected an object with __dlpack__ or a DLPack capsule, not {type(capsule).__name__}")
    raise ValueError("from_dlpack(): the capsule was consumed before, or does not contain a DLPack tensor")


# ---------------------------------------------------------------------------------------------------------------- NumPy


ndarray = None  # NumPy's class, after the first array


def from_numpy(array):
    """Returns a tensor that shares the memory of a NumPy array, or of another object with __array_interface__.

    Tensors over read-only arrays are read-only. Arrays with negative strides or unaligned elements (as in packed records) are copied.
    """
    if array.__class__ is not ndarray:
        return from_other(array)
    try:
        return consume(array.__dlpack__(max_version=VERSION))
    except (BufferError, TypeError):  # a dtype or layout that DLPack lacks, or NumPy before 2.1
        return from_numpy_slowly(array)


def from_other(array):
    global ndarray
    numpy = sys.modules.get("numpy")
    if numpy is not None and ndarray is None:
        ndarray = numpy.ndarray
        return from_numpy(array)
    if isinstance(array, Tensor) or not hasattr(array, "__array_interface__") or is_number(array):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if numpy is not None and hasattr(array, "filled") and numpy.ma.is_masked(array):
        raise ValueError(
            f"{numpy.ma.count_masked(array)} of {array.size} elements of the array are masked, which tensors do not support; "
            "use filled(value) to replace them, or compressed() to drop them"
        )
    return from_interface(array)


def is_number(value):
    """Returns whether a value is a NumPy scalar, whose array interface refers to freed memory."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def shows_bytes(data):
    """Returns whether an array interface holds its elements in an object that creates them on request, as that of an image."""
    interface = data.__array_interface__
    return isinstance(interface, dict) and isinstance(interface.get("data"), (bytes, bytearray, memoryview))


def in_native_order(data):
    """Returns the array, or a copy of it in the processor's byte order if it has the other one."""
    if data.__class__ is ndarray:
        return data if data.dtype.isnative else data.astype(data.dtype.newbyteorder("="))
    interface = data.__array_interface__
    if not isinstance(interface, dict) or not str(interface.get("typestr")).startswith(FOREIGN_ORDER):
        return data
    import numpy

    array = numpy.asanyarray(data)
    return array.astype(array.dtype.newbyteorder("="))


def from_array(data, dtype=None):
    """Returns a tensor of an array, a NumPy scalar, or an object that converts to an array, which shares memory if possible. Arrays of
    objects, such as columns of several types, are read as `dtype`.
    """
    if hasattr(data, "__array_interface__"):
        if is_number(data):
            return from_numpy(data.__array__())
        if not shows_bytes(data):
            return from_numpy(in_native_order(data))
    elif hasattr(data, "__dlpack__"):
        return from_arrow(data) if hasattr(data, "__arrow_c_array__") else from_dlpack(data)  # Arrow supports bool, too
    elif hasattr(data, "__cuda_array_interface__"):
        return from_cuda(data)
    import numpy

    made = numpy.asarray(data)
    return from_sequence(made.tolist(), dtype) if made.dtype.kind == "O" else from_numpy(made)


def from_numpy_slowly(array):
    if array.dtype.name == "bfloat16":
        return _f.view(from_numpy(array.view("i2")), _dtypes.bfloat16)
    try:
        return consume(array.__dlpack__())
    except (BufferError, TypeError):
        return from_interface(array)


def find_from_tensor():
    """Returns the function that converts tensors to NumPy arrays. Before 2.1 NumPy reads DLPack as read-only memory."""
    global from_tensor
    try:
        import numpy
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("numpy(): NumPy is not installed; pip install numpy", name="numpy") from error

    def raise_unsupported(tensor):
        raise BufferError("this NumPy does not support versioned DLPack")

    from_tensor = numpy.from_dlpack if numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0" else raise_unsupported


from_tensor: Any = None  # until NumPy is used


def to_numpy(tensor, force=False):
    if force:
        tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if from_tensor is None:
        find_from_tensor()
    try:
        return from_tensor(tensor)
    except (BufferError, RuntimeError, TypeError):
        return to_numpy_slowly(tensor)


def to_numpy_slowly(tensor):
    """Implements to_numpy for dtypes and versions of NumPy that DLPack does not support."""
    import numpy

    tensor = lendable(tensor)
    if tensor.dtype is _dtypes.bfloat16:
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            pass
        else:
            return to_numpy(_f.view(tensor, _dtypes.int16)).view(bfloat16)
    reachable(tensor, "numpy")
    return numpy.asarray(View(tensor)) if tensor.numel() else numpy.empty(tensor.shape, _dtypes.TYPESTRS[tensor.dtype])


def array(tensor, dtype, copy):
    found = to_numpy(tensor)
    if dtype is not None and found.dtype != dtype:
        if copy is False:
            raise ValueError("a conversion to another dtype requires a copy, which copy=False forbids")
        return found.astype(dtype)
    return found.copy() if copy else found
