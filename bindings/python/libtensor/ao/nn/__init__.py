"""Layers with quantized weights."""

from . import quantized

__all__ = ["quantized"]
