"""The version of the package, and of accelerator libraries: none."""

from ._base.library import __version__

cuda = hip = xpu = rocm = None
debug = False

__all__ = ["__version__", "cuda", "debug", "hip", "rocm", "xpu"]
