"""Random numbers: the default generator's state."""

from contextlib import contextmanager

from ._random import default as _default
from ._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextmanager
def fork_rng(devices=None, enabled=True, *_, **__):
    """While it is active, random numbers leave the default generator's state as it was."""
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)


def __getattr__(name):
    if name == "default_generator":
        return _default()
    raise AttributeError(f"module 'libtensor.random' has no attribute '{name}'")
