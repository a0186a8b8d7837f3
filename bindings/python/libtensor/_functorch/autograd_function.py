"""Helpers of custom functions inside transforms, under the path that PyTorch has them in."""

from typing import Any

from .._core.tensor import Tensor

__all__ = ["CtxWithSavedTensors", "reductify_leaf"]

RESERVED = ("_pt_inner_ctx", "_pt_new_saved_tensors")


class CtxWithSavedTensors:
    """The context of a custom function with other saved tensors. All other attributes are those of the context."""

    def __init__(self, ctx: Any, new_saved_tensors: Any) -> None:
        if not isinstance(ctx, CtxWithSavedTensors) and any(hasattr(ctx, name) for name in RESERVED):
            raise RuntimeError(f"CtxWithSavedTensors: name collision: the context has an attribute {' or '.join(RESERVED)}; rename it")
        object.__setattr__(self, "_pt_inner_ctx", ctx)
        object.__setattr__(self, "_pt_new_saved_tensors", new_saved_tensors)

    @property
    def saved_tensors(self) -> Any:
        """The given tensors."""
        return self._pt_new_saved_tensors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in RESERVED:
            object.__setattr__(self, name, value)
        else:
            setattr(self._pt_inner_ctx, name, value)


def reductify_leaf(
    grad_input: Tensor | None, grad_input_bdim: int | None, input_bdim: int | None, batch_size: int, target_shape_without_bdim: Any = None
) -> Tensor | None:
    """Returns the gradient of an argument with the batch dimension of the argument: the sum over the batch if the argument is not batched.
    With a target shape the gradient is also summed to that shape."""
    if grad_input is None or grad_input_bdim is None and input_bdim is None:
        return grad_input
    if input_bdim is None:
        return grad_input.sum(grad_input_bdim)
    batched = grad_input.expand(batch_size, *grad_input.shape) if grad_input_bdim is None else grad_input.movedim(grad_input_bdim, 0)
    if target_shape_without_bdim is not None:
        extra = batched.dim() - 1 - len(target_shape_without_bdim)
        batched = batched.flatten(1, extra).sum(1) if extra > 0 else batched
        batched = batched.sum_to_size(batch_size, *target_shape_without_bdim)
    return batched.movedim(0, input_bdim)
