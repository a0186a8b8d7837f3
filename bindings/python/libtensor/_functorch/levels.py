"""Predicates of tensors inside transforms."""

from enum import Enum

from .._core.tensor import Tensor
from .._gen.gen_functions import jvp_level, vmap_level, vmap_unwrap, vmap_wrap

__all__ = ["TransformType", "is_batchedtensor", "is_functorch_wrapped_tensor", "is_gradtrackingtensor"]


class TransformType(Enum):
    """The transforms of torch.func, for functions that register implementations."""

    Torch, Vmap, Grad, Jvp, Functionalize = range(5)


def is_batchedtensor(tensor: Tensor) -> bool:
    """Returns whether a tensor has a batch dimension that vmap hides."""
    return vmap_level(tensor) > 0


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Returns whether a tensor has a tangent at a level of forward-mode differentiation."""
    return jvp_level(tensor) > 0


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Returns whether a tensor belongs to a transform."""
    return is_batchedtensor(tensor) or is_gradtrackingtensor(tensor)


def maybe_get_level(tensor: Tensor) -> int:
    """Returns the level of the innermost transform of a tensor; -1 for a tensor outside of transforms."""
    return max(vmap_level(tensor), jvp_level(tensor)) or -1


def _add_batch_dim(tensor: Tensor, in_dim: int, level: int) -> Tensor:
    """Returns a tensor whose dimension `in_dim` is hidden at a level of vmap."""
    return vmap_wrap(tensor, in_dim, level)


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """Returns a tensor with the dimension that a level of vmap hides at `out_dim`."""
    return vmap_unwrap(tensor, out_dim, level)
