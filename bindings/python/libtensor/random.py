"""The state of the default random number generator."""

from contextlib import contextmanager

from ._base.device import device as _device
from ._data.random import Generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state, thread_safe_generator
from ._data.random import default as _default
from ._devices.accelerators import Kind

__all__ = [
    "Generator",
    "default_rng",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


@contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """A context manager that restores the state of the default generator at its end. One generator serves all devices; the devices of
    `device_type` in `devices` must exist.
    """
    kind = Kind(_device(device_type).type)
    if not enabled or kind.kind == "meta":
        yield
        return
    for device in () if devices is None else devices:
        kind.require("fork_rng", device)
    before = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(before)


def default_rng(bits=None):
    """Returns NumPy's Generator with tensors instead of arrays, from one of its bit generators or a seed. Dask draws random chunks with
    it."""
    from .dask.random import Draws

    return Draws(bits)


def __getattr__(name):
    if name == "default_generator":
        return _default()
    raise AttributeError(f"module 'libtensor.random' has no attribute '{name}'")


def __dir__():
    return [*__all__, "default_generator"]
