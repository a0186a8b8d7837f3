"""Names of torch.func under the path that PyTorch has them in."""

from ..func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
