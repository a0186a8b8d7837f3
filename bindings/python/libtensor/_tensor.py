"""The class Tensor, and what files call to make its subclasses, under the name of the module that PyTorch writes them in."""

from . import Tensor
from ._core.tensor import _rebuild_from_type_v2

__all__ = ["Tensor", "_rebuild_from_type_v2"]
