"""The methods of Generator, and functions of the default generator."""

from weakref import WeakValueDictionary

from .._base.device import device as _device
from .._base.extend import extends
from .._core.owner import Generator
from .._gen import gen_functions as _f

# Functions whose names in PyTorch begin with an underscore.
PRIVATE = ("standard_gamma", "standard_gamma_grad", "sample_dirichlet", "dirichlet_grad")


@extends(Generator)
class Generator:
    def __new__(cls, device="cpu", engine=None):
        if engine is None:
            engine = "mt19937" if _device(device).type == "cpu" else "philox"
        return _f.generator_new(device=device, engine=engine)

    @property
    def device(self):
        """The device for which the generator draws."""
        return _f.generator_device(self)

    @property
    def engine(self):
        """The algorithm: "mt19937" or "philox"."""
        return _f.generator_engine(self)

    def manual_seed(self, seed):
        """Sets the seed, and returns the generator."""
        if not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed(): the seed must be an int, not {type(seed).__name__}")
        _f.generator_manual_seed(self, seed_number(seed))
        return self

    def seed(self):
        """Sets the seed to a random number from the operating system, and returns the seed."""
        return _f.generator_seed(self) & (2**64 - 1)

    def initial_seed(self):
        """Returns the seed that was set last."""
        return _f.generator_initial_seed(self) & (2**64 - 1)

    def get_state(self):
        """Returns the state, a uint8 tensor on the CPU."""
        return _f.generator_get_state(self)

    def set_state(self, state):
        """Restores a state of get_state(), and returns the generator."""
        _f.generator_set_state(self, state)
        return self

    def get_offset(self):
        """Returns the offset of a philox generator: the number of 32-bit words that precede the next one."""
        return _f.generator_get_offset(self)

    def set_offset(self, offset):
        """Sets the offset of a philox generator, a multiple of 4."""
        _f.generator_set_offset(self, offset)

    def clone_state(self):
        """Returns a new generator with the same state."""
        return _f.generator_clone(self)

    def graphsafe_get_state(self):
        """Raises NotImplementedError, as for every CPU generator: draws are not captured in graphs."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator; use get_state or clone_state")

    def graphsafe_set_state(self, state):
        """Raises NotImplementedError, as for every CPU generator: draws are not captured in graphs."""
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator; use set_state")

    def philox_state(self, increment):
        """Raises NotImplementedError, as for every CPU generator: draws are not captured in graphs."""
        raise NotImplementedError("philox_state is not supported in this Generator; use get_state")

    def __setstate__(self, state):
        """Restores (seed, offset, state), as in PyTorch's files."""
        seed, offset, numbers = state
        self.manual_seed(seed)
        if numbers is not None:
            self.set_state(numbers)
        if offset is not None:
            self.set_offset(offset)

    def __reduce__(self):
        return restore, (self.get_state(), self.engine, str(self.device))


def restore(state, engine, device="cpu"):
    return Generator(device, engine=engine).set_state(state)


def seed_number(seed):
    seed = int(seed)
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"manual_seed(): seed {seed} does not fit into 64 bits")
    return seed - 2**64 if seed >= 2**63 else seed


known = WeakValueDictionary()


def default():
    """Returns the default generator, one object while it is referenced."""
    return known.get("default") or known.setdefault("default", _f.default_generator())


def manual_seed(seed):
    """Sets the seed of the default generators of the CPU and of CUDA devices, and returns the generator of the CPU.

    >>> _ = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default().manual_seed(int(seed))


def seed():
    """Sets the seed of the default generators to a random number from the operating system, and returns the seed."""
    return default().seed()


def initial_seed():
    """Returns the seed that was set last for the default generator.

    >>> _ = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default().initial_seed()


def get_rng_state():
    """Returns the state of the default generator, a uint8 tensor.

    >>> state = torch.get_rng_state()
    >>> x = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(torch.rand(2), x)
    True
    """
    return default().get_state()


def set_rng_state(new_state):
    """Restores a state of get_rng_state."""
    default().set_state(new_state)


def thread_safe_generator():
    """Returns the generator of a data loader's thread: None, the default one.

    >>> x = torch.rand(2, generator=torch.thread_safe_generator())
    """
    return None
