"""The class Tensor, and what files call to make its subclasses, under the name of the module that PyTorch writes them in."""

from . import Tensor
from ._core.tensor import _rebuild_from_type_v2, as_leaf, with_names

__all__ = ["Tensor", "_rebuild_from_type_v2", "as_leaf", "with_names"]  # the last two: of pickles that libtensor wrote before
