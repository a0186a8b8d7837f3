"""Random numbers: the default generator's state."""

from contextlib import contextmanager

from ._random import default as _default
from ._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

default_generator = _default()

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
