"""The class Tensor under the name of the module that PyTorch writes it in."""

from . import Tensor

__all__ = ["Tensor"]
