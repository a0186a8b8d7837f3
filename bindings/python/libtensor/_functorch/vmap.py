"""Names of torch.func and others under the path that PyTorch has them in."""

from .._core.tensor import Tensor
from ..func import vmap
from ..utils._pytree import tree_flatten, tree_unflatten
from .levels import is_batchedtensor

__all__ = ["Tensor", "is_batchedtensor", "tree_flatten", "tree_unflatten", "vmap"]
