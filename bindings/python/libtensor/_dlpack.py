"""DLPack, both ways (dmlc.github.io/dlpack, versions 0.8 and 1), and NumPy, whose arrays come and go as DLPack."""

import sys
from ctypes import c_bool, c_char_p, c_int, c_void_p, cast, py_object

from . import _direct, _dtypes
from . import gen_functions as _f
from ._interop import TYPES, View, from_interface, python_function, reachable
from ._library import Cell, bind, cells, getter, last_error
from ._results import wrap
from ._tensor import Tensor, checked

capsule_new = python_function("PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
capsule_pointer = python_function("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
capsule_rename = python_function("PyCapsule_SetName", c_int, py_object, c_char_p)
# The argument is an address and not an object: a dying capsule must not be counted again.
dying_is = python_function("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
dying_pointer = python_function("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)

c_export = bind("tensor_to_dlpack", c_void_p, c_bool, c_bool, c_void_p)
c_import = bind("tensor_from_dlpack", c_void_p, c_bool, c_void_p)
c_discard = getter("tensor_dlpack_free", None, c_void_p, c_bool)

NAME, VERSIONED_NAME = b"dltensor", b"dltensor_versioned"
USED_NAME, USED_VERSIONED_NAME = b"used_dltensor", b"used_dltensor_versioned"
VERSION = (1, 1)
CPU, CUDA = 1, 2


destructor = cast(_direct.direct.direct_discard, c_void_p).value  # frees what nobody consumed


def device(tensor):
    found = tensor.device
    if found.type == "meta":
        raise BufferError("a meta tensor has no data to export through DLPack")
    return (CPU, 0) if found.type == "cpu" else (CUDA, found.index)


def capsule_with(tensor, versioned, copy):
    """A capsule with the DLManagedTensorVersioned of a tensor, or with its DLManagedTensor."""
    cell = cells.pop() if cells else Cell()
    if c_export(tensor._h, versioned, copy, cell.address):
        raise BufferError(last_error().decode())
    capsule = capsule_new(cell.p, VERSIONED_NAME if versioned else NAME, destructor)
    cells.append(cell)
    return capsule


@_direct.special(_direct.LENDS)
def lend(tensor):
    """A tensor's memory as a capsule of DLPack 1."""
    return capsule_with(tensor, True, False)


def export(tensor, stream, max_version, dl_device, copy):
    here = device(tensor)
    if stream is not None and here[0] == CPU:
        raise BufferError("stream must be None for a tensor on the CPU")
    if dl_device is not None and tuple(dl_device) != here:
        if tuple(dl_device) != (CPU, 0) or copy is False:
            raise BufferError(f"a tensor on device {here} cannot be exported to device {tuple(dl_device)}")
        tensor, copy = tensor.cpu(), None
    versioned = max_version is not None and max_version[0] >= 1
    return capsule_with(tensor, versioned, bool(copy))


def to_dlpack(tensor):
    """The tensor as a DLPack capsule."""
    return checked(tensor, "to_dlpack", "tensor").__dlpack__()


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of an object with __dlpack__, or of a DLPack capsule.

    Nothing is copied unless `copy` asks for it or a stride is negative.
    """
    made = ext_tensor.detach() if isinstance(ext_tensor, Tensor) else consume(capsule_of(ext_tensor, copy))
    if device is not None:
        made = made.to(device)
    return made.clone() if copy and isinstance(ext_tensor, Tensor) else made


def capsule_of(ext, copy):
    if not hasattr(ext, "__dlpack__"):
        return ext
    if ext.__dlpack_device__()[0] != CPU:
        raise BufferError(f"from_dlpack(): device {tuple(ext.__dlpack_device__())} is not available")
    options = {} if copy is None else {"copy": copy}
    try:
        return ext.__dlpack__(max_version=VERSION, **options)
    except TypeError:
        return ext.__dlpack__()


@_direct.special(_direct.RECEIVES)
def consume(capsule):
    """The tensor over the memory of a capsule."""
    if type(capsule).__name__ != "PyCapsule":
        raise TypeError(f"from_dlpack(): an object with __dlpack__ or a DLPack capsule is needed, not {type(capsule).__name__}")
    versioned = bool(dying_is(id(capsule), VERSIONED_NAME))
    name, used = (VERSIONED_NAME, USED_VERSIONED_NAME) if versioned else (NAME, USED_NAME)
    if not dying_is(id(capsule), name):
        raise ValueError("from_dlpack(): the capsule was consumed before, or holds no DLPack tensor")
    cell = cells.pop() if cells else Cell()
    if c_import(capsule_pointer(capsule, name), versioned, cell.address):
        raise BufferError(last_error().decode())
    capsule_rename(capsule, used)
    made = wrap(cell.p)
    cells.append(cell)
    return made


# ---------------------------------------------------------------------------------------------------------------- NumPy


ndarray = None  # NumPy's class, once an array came


def from_numpy(array):
    """A tensor that shares the memory of a NumPy array, or of another object with __array_interface__.

    Tensors over read-only arrays refuse to be written. Arrays with negative strides, which tensors do not have, are copied.
    """
    if array.__class__ is not ndarray:
        return from_other(array)
    try:
        return consume(array.__dlpack__(max_version=VERSION))
    except (BufferError, TypeError):  # a dtype or a geometry that DLPack does not have, or a NumPy before 2.1
        return from_numpy_slowly(array)


def from_other(array):
    global ndarray
    numpy = sys.modules.get("numpy")
    if numpy is not None and ndarray is None:
        ndarray = numpy.ndarray
        return from_numpy(array)
    if not hasattr(array, "__array_interface__") or isinstance(array, Tensor) or is_number(array):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return from_interface(array)


def is_number(value):
    """Tells whether a value is a number of NumPy's, whose array interface has the address of memory that is gone by then."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def from_array(data):
    """A tensor of an array, or of one of NumPy's numbers, sharing its memory where that is possible."""
    if not hasattr(data, "__array_interface__"):
        return from_dlpack(data)
    return from_numpy(data.__array__() if is_number(data) else data)


def from_numpy_slowly(array):
    if array.dtype.name == "bfloat16":
        return _f.view(from_numpy(array.view("i2")), _dtypes.bfloat16)
    try:
        return consume(array.__dlpack__())
    except (BufferError, TypeError):
        return from_interface(array)


class Lent:
    """A tensor's capsule, for numpy.from_dlpack."""

    __slots__ = ("capsule",)

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return CPU, 0


def find_from_lent():
    """What makes a NumPy array of a Lent tensor. Before 2.1 NumPy takes DLPack only as memory that must not be written."""
    global from_lent
    import numpy

    def refuse(lent):
        raise BufferError("this NumPy does not take DLPack with a version")

    from_lent = numpy.from_dlpack if numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0" else refuse


from_lent = None  # until NumPy is needed


def to_numpy(tensor, force=False):
    if force:
        tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if from_lent is None:
        find_from_lent()
    lent = Lent()
    try:
        lent.capsule = lend(tensor)
        return from_lent(lent)
    except (BufferError, RuntimeError, TypeError):
        return to_numpy_slowly(tensor)


def to_numpy_slowly(tensor):
    """to_numpy for the dtypes and versions of NumPy that DLPack does not serve."""
    import numpy

    if tensor.dtype is _dtypes.bfloat16:
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            pass
        else:
            return to_numpy(_f.view(tensor, _dtypes.int16)).view(bfloat16)
    reachable(tensor, "numpy")
    return numpy.asarray(View(tensor)) if tensor.numel() else numpy.empty(tensor.shape, TYPES[tensor.dtype][0])


def array(tensor, dtype, copy):
    found = to_numpy(tensor)
    if dtype is not None and found.dtype != dtype:
        if copy is False:
            raise ValueError("a conversion to another dtype needs a copy, which copy=False forbids")
        return found.astype(dtype)
    return found.copy() if copy else found
