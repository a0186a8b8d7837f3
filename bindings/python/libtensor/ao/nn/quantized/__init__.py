"""Layers of quantized tensors, of which the dynamically quantized ones are supported."""

from . import dynamic

__all__ = ["dynamic"]
