"""The version, and those of the accelerators' software that the library is built with: none."""

from ._base.library import __version__

cuda = hip = xpu = rocm = None
debug = False

__all__ = ["__version__", "cuda", "debug", "hip", "rocm", "xpu"]
