"""Operators that PyTorch has by the name of a library."""

from . import quantized as quantized

__all__ = ["quantized"]
