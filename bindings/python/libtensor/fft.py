"""Fourier transforms."""

from ._gen.gen_fft import *  # noqa: F403
from ._gen.gen_fft import __all__  # noqa: F401
