"""Random chunks: NumPy's generators, whose arrays are returned as tensors."""

from numpy.random import PCG64, Generator

from .._data.dlpack import from_array


class Bits(PCG64):
    """NumPy's PCG64, under the name by which Dask finds libtensor.random.default_rng."""


class Draws:
    """NumPy's Generator with tensors instead of arrays."""

    def __init__(self, bits):
        self.generator = Generator(bits if isinstance(bits, PCG64) else Bits(bits))

    def __getattr__(self, name):
        method = getattr(self.generator, name)

        def draw(*args, **kwargs):
            made = method(*args, **kwargs)
            return from_array(made) if hasattr(made, "__array_interface__") else made

        return draw
