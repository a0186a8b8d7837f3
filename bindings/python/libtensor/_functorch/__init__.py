"""The package functorch, whose transforms are those of torch.func."""

from ..func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from .make_functional import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian"]
__all__ += ["jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "vjp", "vmap"]
