"""Names of torch.func under the path that PyTorch has them in."""

from typing import Any

from .. import func
from ..func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp

__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _slice_argnums(args: tuple[Any, ...], argnums: Any, as_tuple: bool = True) -> Any:
    """Returns the arguments that `argnums` chooses, as a tuple or as the only one for an int with `as_tuple=False`."""
    chosen = func.positions(argnums, len(args), "argnums")  # type: ignore[attr-defined]
    return tuple(args[i] for i in chosen) if as_tuple or not isinstance(argnums, int) else args[argnums]
