"""Neural network functions."""

from . import functional
from .linear_cross_entropy import LinearCrossEntropyOptions

__all__ = ["LinearCrossEntropyOptions", "functional"]
