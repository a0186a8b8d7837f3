"""Names of torch.func under the path that PyTorch has them in."""

from ..func import functional_call, stack_module_state

__all__ = ["functional_call", "stack_module_state"]
