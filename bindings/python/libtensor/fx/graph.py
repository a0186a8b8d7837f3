"""The module of PyTorch that has Graph, CodeGen."""

from . import CodeGen, Graph

__all__ = ["Graph", "CodeGen"]
