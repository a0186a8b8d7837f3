"""The module of PyTorch that has Interpreter, Transformer."""

from . import Interpreter, Transformer

__all__ = ["Interpreter", "Transformer"]
