"""Names of PyTorch's tools for smaller models, which are not supported; quantized tensors are (docs/quantized.md)."""

from . import quantization

__all__ = ["quantization"]
