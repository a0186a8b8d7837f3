"""CUDA devices: whether there are any. Whatever needs one raises the library's error where there is none."""

from . import _accelerators
from . import gen_functions as _f
from ._device import device as _device

_asked = _accelerators.Kind("cuda")
globals().update(_accelerators.functions("cuda"))
memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _asked.none_allocated


def is_initialized():
    """True when a device is in use."""
    return is_available()  # noqa: F821  one of the functions above


def init():
    """Needs a device."""
    _asked.require()


def absence():
    """Why there is no device, in words; empty where there is one."""
    return _f.device_absence("cuda")


def is_bf16_supported(including_emulation=True):
    return is_available()  # noqa: F821


def get_device_name(device=None):
    """The name of a device, which must exist."""
    return str(_device("cuda", _asked.require(device)))


def get_device_capability(device=None):
    """Needs a device; this version knows no capability of one."""
    _asked.require(device)
    raise NotImplementedError("get_device_capability(): not available in this version")


get_device_properties = get_device_capability


def reset_peak_memory_stats(device=None):
    """Accepted: nothing is counted where there is no device."""
