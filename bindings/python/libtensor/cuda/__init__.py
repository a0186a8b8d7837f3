"""CUDA devices: device properties, the current device, streams, events, memory. Functions that require a device raise RuntimeError without
one.
"""

from types import SimpleNamespace

from .._base.errors import OutOfMemoryError
from .._data.create import LEGACY as _LEGACY
from .._data.create import legacy_class as _legacy_class
from .._devices import accelerators as _accelerators
from .._devices.cuda_random import generators as _generators
from .._devices.cuda_random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .._devices.streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    device,
    device_of,
    get_stream_from_external,
    set_stream,
    stream,
)
from .._devices.streams import cuda as _cuda
from .._gen import gen_functions as _f

_asked = _accelerators.Kind("cuda")
globals().update(_accelerators.functions("cuda") | {"manual_seed": manual_seed, "manual_seed_all": manual_seed_all})
globals().update({name + "Tensor": _legacy_class(name, "cuda") for name in _LEGACY})

for _made in (
    *(Event, ExternalStream, Stream, StreamContext, device, device_of),
    *(current_stream, default_stream, get_stream_from_external, set_stream, stream),
    *(get_rng_state, get_rng_state_all, initial_seed, manual_seed, manual_seed_all, seed, seed_all, set_rng_state, set_rng_state_all),
):
    _made.__module__ = __name__


def is_initialized():
    """Returns whether a device is in use."""
    return is_available()  # noqa: F821  one of the functions above


def init():
    """Initializes the current device. Raises RuntimeError without one."""
    _asked.require("init")


def absence():
    """Returns the reason why there is no device; an empty string if there is one."""
    return _f.device_absence("cuda")


def is_bf16_supported(including_emulation=True):
    """Returns whether there is a device: kernels emulate bfloat16 arithmetic with float32."""
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))  # noqa: F821


def is_tf32_supported():
    """Returns whether the current device supports TF32 products."""
    return is_available() and get_device_capability() >= (8, 0)  # noqa: F821


def get_arch_list():
    """Returns the architectures for which kernels are compiled, from which the driver generates code; empty without a device."""
    return ["compute_75"] if is_available() else []  # noqa: F821


def is_current_stream_capturing():
    """Returns False: CUDA graphs are not supported."""
    return False


def __getattr__(name):
    if name == "default_generators":
        return _generators()
    if name == "amp":
        from .amp import GradScaler as _loaded

        return globals()["amp"]
    if name == "nvtx":
        from .nvtx import mark as _loaded

        return globals()["nvtx"]
    if not name.startswith("__"):
        from .._inert.cuda import NAMED

        if name in NAMED:
            return NAMED[name]
    raise AttributeError(f"module 'libtensor.cuda' has no attribute '{name}'")


# ------------------------------------------------------------------------------------------------------------ what a device is


def get_device_name(device=None):
    """Returns the driver's name of a device, by default of the current one."""
    return _f.device_name(_cuda(device))


def get_device_capability(device=None):
    """Returns the compute capability of a device, such as (8, 0)."""
    found = _cuda(device)
    return _f.device_attribute(found, "major"), _f.device_attribute(found, "minor")


_NUMBERS = (
    *("major", "minor", "total_memory", "multi_processor_count", "warp_size", "max_threads_per_block", "max_threads_per_multi_processor"),
    *(
        "shared_memory_per_block",
        "shared_memory_per_block_optin",
        "shared_memory_per_multiprocessor",
        "regs_per_multiprocessor",
        "L2_cache_size",
    ),
    *(
        "clock_rate",
        "memory_clock_rate",
        "memory_bus_width",
        "is_integrated",
        "is_multi_gpu_board",
        "pci_bus_id",
        "pci_device_id",
        "pci_domain_id",
    ),
)


class _CudaDeviceProperties(SimpleNamespace):
    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, "
            f"multi_processor_count={self.multi_processor_count}, uuid={self.uuid}, L2_cache_size={self.L2_cache_size // 2**20}MB)"
        )


def get_device_properties(device=None):
    """Returns the properties of a device: name, major, minor, total_memory, multi_processor_count, warp_size, uuid and others."""
    found = _cuda(device)
    return _CudaDeviceProperties(
        name=_f.device_name(found), uuid=_f.device_uuid(found), **{name: _f.device_attribute(found, name) for name in _NUMBERS}
    )


def can_device_access_peer(device, peer_device):
    """Returns whether a device can access the memory of another one."""
    return _f.device_can_access_peer(_cuda(device), _cuda(peer_device))


# ------------------------------------------------------------------------------------------------------------ memory


def _account(device):
    return _f.device_memory(_cuda(device)) if is_available() else None  # noqa: F821


def memory_allocated(device=None):
    """Returns the bytes of tensors on a device; 0 without one."""
    account = _account(device)
    return account.in_use if account else 0


def max_memory_allocated(device=None):
    """Returns the peak of memory_allocated() since the start or reset_peak_memory_stats()."""
    account = _account(device)
    return account.peak if account else 0


def memory_reserved(device=None):
    """Returns the bytes that the library has allocated from the driver, including its cache."""
    account = _account(device)
    return account.reserved if account else 0


def max_memory_reserved(device=None):
    """Returns the peak of memory_reserved() since the start or reset_peak_memory_stats()."""
    account = _account(device)
    return account.reserved_peak if account else 0


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def mem_get_info(device=None):
    """Returns the free and the total bytes of a device."""
    account = _f.device_memory(_cuda(device))
    return account.free, account.total


def memory_stats(device=None):
    """Returns memory statistics of a device under PyTorch's names; empty without one."""
    account = _account(device)
    if not account:
        return {}
    blocks, retries, failures = _f.device_allocations(_cuda(device))
    return {
        "allocated_bytes.all.current": account.in_use,
        "allocated_bytes.all.peak": account.peak,
        "reserved_bytes.all.current": account.reserved,
        "reserved_bytes.all.peak": account.reserved_peak,
        "allocation.all.current": blocks,
        "num_alloc_retries": retries,
        "num_ooms": failures,
    }


def memory_stats_as_nested_dict(device=None):
    """Returns memory_stats() as nested dicts: stats["allocated_bytes"]["all"]["peak"]."""
    nested = {}
    for name, value in memory_stats(device).items():
        at = nested
        *parts, last = name.split(".")
        for part in parts:
            at = at.setdefault(part, {})
        at[last] = value
    return nested


def memory_summary(device=None, abbreviated=False):
    """Returns memory statistics of a device as a table."""
    return "\n".join([f"CUDA memory of {_cuda(device)}", *(f"{name:30} {value:>16}" for name, value in memory_stats(device).items())])


def reset_peak_memory_stats(device=None):
    """Resets peaks to the current values; has no effect without a device."""
    if is_available():  # noqa: F821
        _f.device_reset_peak_memory(_cuda(device))


def reset_accumulated_memory_stats(device=None):
    """Has no effect: totals since the start are not counted."""


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def set_per_process_memory_fraction(fraction, device=None):
    """Limits the memory of the library on a device to a fraction, from 0 to 1, of its memory; allocations beyond it raise
    OutOfMemoryError."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    total = mem_get_info(device)[1]
    _f.device_set_memory_limit(_cuda(device), max(1, int(fraction * total)) if fraction < 1 else 0)


def get_per_process_memory_fraction(device=None):
    """Returns the fraction of a device's memory to which the library is limited."""
    account = _f.device_memory(_cuda(device))
    return account.limit / account.total if account.limit else 1.0
