"""The default generators of CUDA devices, for torch.cuda: counter-based (docs/random.md), and reset by torch.manual_seed."""

from .._base.device import device as _device
from .._data.random import seed_number
from .._gen import gen_functions as _f
from . import accelerators as _accelerators

_asked = _accelerators.Kind("cuda")


def _generator(device=None):
    if device == "cuda":
        device = None
    return _f.default_generator(_device("cuda", _asked.require("default_generator", device)))


def generators():
    """Returns the default generators of all devices."""
    return tuple(_generator(index) for index in range(_asked.device_count()))


def manual_seed(seed):
    """Sets the seed of the current device's generator; without a device it has no effect."""
    seed = seed_number(seed)
    if _asked.is_available():
        _f.generator_manual_seed(_generator(), seed)


def manual_seed_all(seed):
    """Sets the seed of the generators of all devices."""
    seed = seed_number(seed)
    for generator in generators():
        _f.generator_manual_seed(generator, seed)


def seed():
    """Sets the seed of the current device's generator to a random number from the operating system; without a device it has no effect."""
    if _asked.is_available():
        _generator().seed()


def seed_all():
    """Sets the seeds of the generators of all devices to one random number from the operating system."""
    if _asked.is_available():
        manual_seed_all(_generator().seed())


def initial_seed():
    """Returns the seed that was set last for the current device's generator."""
    return _generator().initial_seed()


def get_rng_state(device="cuda"):
    """Returns the state of a device's generator, a uint8 tensor on the CPU."""
    return _generator(device).get_state()


def get_rng_state_all():
    """Returns the states of the generators of all devices."""
    return [generator.get_state() for generator in generators()]


def set_rng_state(new_state, device="cuda"):
    """Restores a state of get_rng_state."""
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states):
    """Restores the states of get_rng_state_all."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
