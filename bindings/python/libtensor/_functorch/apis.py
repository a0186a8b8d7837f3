"""Names of torch.func under the path that PyTorch has them in, and chunk_vmap."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from .._gradients.vmap import Mapping
from ..func import grad, grad_and_value, vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """Returns vmap of a function that computes the batch elements in at most `chunks` chunks, as `torch.chunk` divides them."""

    @wraps(func)
    def chunked(*args: Any, **kwargs: Any) -> Any:
        size = Mapping(func, in_dims, out_dims, args).size
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(1, -(-size // chunks)))(*args, **kwargs)

    return chunked
