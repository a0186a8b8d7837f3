"""The top-level package functorch, whose transforms call those of torch.func and warn that they are deprecated, as in PyTorch."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from ... import func
from ..._inert import declare_unsupported
from .. import make_functional as _modules
from ..make_functional import FunctionalModule, FunctionalModuleWithBuffers

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
]
__all__ += ["jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "vjp", "vmap"]


def _deprecate(function: Callable[..., Any], successor: str) -> Callable[..., Any]:
    """Returns a function that calls another one and warns that it is deprecated in favor of `successor`."""
    name = function.__name__
    text = f"`functorch.{name}` is deprecated. Please use `{successor}` instead."

    @wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(text, FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return deprecated


functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp = (
    _deprecate(getattr(func, _name), f"torch.func.{_name}")
    for _name in ("functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp")
)
vmap = _deprecate(func.vmap, "torch.vmap")
make_functional = _deprecate(_modules.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecate(_modules.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _deprecate(_modules.combine_state_for_ensemble, "torch.func.stack_module_state")
__all__ += declare_unsupported(globals(), "operators are not traced; torch.fx.symbolic_trace traces modules", "make_fx")
