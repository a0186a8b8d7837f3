"""Private helpers of PyTorch that packages use, and the functions that create tensors from PyTorch's files."""

import sys
import traceback

from . import cat
from . import device as _device
from ._storages.rebuild import (
    _rebuild_meta_tensor_no_storage,
    _rebuild_qtensor,
    _rebuild_sparse_tensor,
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
)

__all__ = ["ExceptionWrapper", "_rebuild_meta_tensor_no_storage", "_rebuild_qtensor", "_rebuild_sparse_tensor", "_rebuild_tensor"]
__all__ += ["_rebuild_tensor_v2", "_rebuild_tensor_v3"]


def _flatten_dense_tensors(tensors):
    """Returns the elements of tensors in one one-dimensional tensor."""
    return cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Returns consecutive views of a one-dimensional tensor with the shapes of tensors."""
    made, at = [], 0
    for tensor in tensors:
        made.append(flat.narrow(0, at, tensor.numel()).view_as(tensor))
        at += tensor.numel()
    return tuple(made)


def _get_device_index(device, optional=False, allow_cpu=False):
    """Returns the index of a device; -1 for the CPU if `allow_cpu`."""
    if isinstance(device, str):
        device = _device(device)
    if isinstance(device, _device):
        if device.type == "cpu":
            if allow_cpu or optional:
                return -1
            raise ValueError(f"Expected a device with a specified index or an integer, but got: {device}")
        device = device.index
    if device is None and not optional:
        raise ValueError("Expected a device with a specified index or an integer, but got: None")
    return 0 if device is None else device


def _element_size(dtype):
    """Returns the size of an element in bytes."""
    return dtype.itemsize


def _get_available_device_type():
    """Returns the type of the accelerator; None without one."""
    from .accelerator import current_accelerator

    found = current_accelerator()
    return found.type if found is not None else None


def _get_device_module(device_type):
    """Returns the module of a device type."""
    from ._inert.names import get_device_module

    return get_device_module(device_type)


def is_compiling():
    """Returns whether torch.export.export calls a function on this thread: functions are never compiled."""
    from ._inert.compilation import exporting

    return exporting.active


def __getattr__(name):
    if name in ("_rebuild_parameter", "_rebuild_parameter_with_state"):
        from .nn import parameter

        return getattr(parameter, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class _ClassPropertyDescriptor:
    def __init__(self, fget):
        self.fget = fget

    def __get__(self, instance, owner=None):
        return self.fget.__get__(instance, owner or type(instance))()


def classproperty(func):
    """Returns a property of a class from a function of the class."""
    return _ClassPropertyDescriptor(func if isinstance(func, (classmethod, staticmethod)) else classmethod(func))


class KeyErrorMessage(str):
    """A message that repr() shows without quotes."""

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """An exception of a worker with its formatted traceback, which the parent raises again."""

    def __init__(self, exc_info=None, where="in background"):
        exc_info = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.where = exc_info[0], where
        self.exc_msg = "".join(traceback.format_exception(*exc_info))

    def reraise(self):
        """Raises an exception of the worker's class, with its traceback in the message."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error
