"""The accelerator, if there is one."""

from ._base.device import device as _device
from ._devices.accelerators import count

KINDS = ("cuda", "mps", "xpu")

__all__ = ["current_accelerator", "device_count", "is_available"]


def current_accelerator(check_available=False):
    """The kind of accelerator that there is; None without one."""
    return next((_device(kind) for kind in KINDS if count(kind)), None)


def is_available():
    return current_accelerator() is not None


def device_count():
    found = current_accelerator()
    return 0 if found is None else count(found.type)
