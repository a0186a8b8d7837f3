"""Neural network functions."""

from . import functional, utils
from .linear_cross_entropy import LinearCrossEntropyOptions

__all__ = ["LinearCrossEntropyOptions", "functional", "utils"]
