"""The accelerator, if there is one."""

from ._base.device import device as _device
from ._devices.accelerators import count

KINDS = ("cuda", "mps", "xpu")

__all__ = [
    *("current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache"),
    *("get_device_capability", "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated"),
    *("memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index"),
    *("set_stream", "synchronize"),
]
# The functions of torch.cuda that have another name here.
OF_CUDA = {"current_device_index": "current_device", "current_device_idx": "current_device", "device_index": "device"}
OF_CUDA |= {"set_device_index": "set_device", "set_device_idx": "set_device", "get_memory_info": "mem_get_info"}


def current_accelerator(check_available=False):
    """The kind of accelerator that there is; None without one."""
    return next((_device(kind) for kind in KINDS if count(kind)), None)


def is_available():
    return current_accelerator() is not None


def device_count():
    found = current_accelerator()
    return 0 if found is None else count(found.type)


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'libtensor.accelerator' has no attribute '{name}'")
    from . import cuda

    return getattr(cuda, OF_CUDA.get(name, name))
