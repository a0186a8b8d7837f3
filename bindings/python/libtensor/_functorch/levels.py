"""Predicates of tensors inside transforms."""

from enum import Enum

from .._core.tensor import Tensor
from .._gen.gen_functions import jvp_level, vmap_level

__all__ = ["TransformType", "is_batchedtensor", "is_functorch_wrapped_tensor", "is_gradtrackingtensor"]


class TransformType(Enum):
    """The transforms of torch.func, for functions that register implementations."""

    Torch, Vmap, Grad, Jvp, Functionalize = range(5)


def is_batchedtensor(tensor: Tensor) -> bool:
    """Returns whether a tensor has a batch dimension that vmap hides."""
    return vmap_level(tensor) > 0  # type: ignore[no-any-return]


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Returns whether a tensor has a tangent at a level of forward-mode differentiation."""
    return jvp_level(tensor) > 0  # type: ignore[no-any-return]


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Returns whether a tensor belongs to a transform."""
    return is_batchedtensor(tensor) or is_gradtrackingtensor(tensor)
