"""Random numbers: the default generator's state."""

from contextlib import contextmanager

from ._random import Generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state, thread_safe_generator
from ._random import default as _default

__all__ = ["Generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state", "thread_safe_generator"]


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


def __dir__():
    return [*__all__, "default_generator"]
