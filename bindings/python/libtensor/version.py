"""The version of the package, and of accelerator libraries: none."""

from ._base.library import __version__

cuda = hip = xpu = rocm = None
debug = False
git_version = "Unknown"  # as in builds of PyTorch outside of a repository

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
