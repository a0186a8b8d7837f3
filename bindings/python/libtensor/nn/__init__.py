"""Neural network functions."""

from . import functional, utils

__all__ = ["functional", "utils"]
