"""Fourier transforms."""

from .gen_fft import *  # noqa: F403
from .gen_fft import __all__  # noqa: F401
