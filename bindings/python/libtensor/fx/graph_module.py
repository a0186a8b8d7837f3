"""The module of PyTorch that has GraphModule."""

from . import GraphModule

__all__ = ["GraphModule"]
