"""Conversion of modules to dynamically quantized ones (docs/quantized.md). PyTorch's other tools for smaller models are not supported."""

from . import nn, quantization

__all__ = ["nn", "quantization"]
