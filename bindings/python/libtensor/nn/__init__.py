"""Neural network functions."""

from . import functional

__all__ = ["functional"]
