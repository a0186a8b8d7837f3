"""CUDA devices: whether there are any. Whatever needs one raises the library's error where there is none."""

from . import _accelerators
from . import gen_functions as _f
from ._device import device as _device

_asked = _accelerators.Kind("cuda")
globals().update(_accelerators.functions("cuda"))


def _account(device):
    return _f.device_memory(_device("cuda", _asked.require(device))) if is_available() else None  # noqa: F821


def memory_allocated(device=None):
    """The bytes that tensors hold on a device: none, where there is none."""
    account = _account(device)
    return account.in_use if account else 0


def max_memory_allocated(device=None):
    """The most bytes that tensors held at once."""
    account = _account(device)
    return account.peak if account else 0


def memory_reserved(device=None):
    """The bytes that the library has from the driver, for tensors and for reuse."""
    account = _account(device)
    return account.reserved if account else 0


def max_memory_reserved(device=None):
    """None where there is no device; this version does not keep the highest number."""
    if _account(device):
        raise NotImplementedError("max_memory_reserved(): not available in this version; memory_reserved() has the bytes now")
    return 0


def mem_get_info(device=None):
    """Free and all bytes of a device, as its driver counts them."""
    account = _f.device_memory(_device("cuda", _asked.require(device)))
    return account.free, account.total


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
