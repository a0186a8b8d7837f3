"""Names of torch.func and others under the path that PyTorch has them in, and restore_vmap."""

from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor
from .._gradients.function_levels import Batch
from .._gradients.vmap import leaves, refilled, spread
from ..func import vmap
from ..utils._pytree import tree_flatten, tree_unflatten
from .levels import is_batchedtensor

__all__ = ["Tensor", "is_batchedtensor", "restore_vmap", "tree_flatten", "tree_unflatten", "vmap"]


def restore_vmap(func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str) -> Callable[..., tuple[Any, Any]]:
    """Returns a function that calls `func` with arguments that are batched along `in_dims`, and returns its results with all batch elements and
    the structure of their batch dimensions, None for results that are not batched."""

    def batched(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        with Batch((batch_size, randomness)) as batch:  # type: ignore[no-untyped-call]
            given = batch.wrap(leaves(args), spread(in_dims, args))  # type: ignore[no-untyped-call]
            output = func(*refilled(args, given), **kwargs)  # type: ignore[no-untyped-call]
            pairs = [batch.unwrap(t) for t in leaves(output)]  # type: ignore[no-untyped-call]
        values, dims = ([pair[i] for pair in pairs] for i in range(2))
        return refilled(output, values), refilled(output, dims)  # type: ignore[no-untyped-call]

    return batched
