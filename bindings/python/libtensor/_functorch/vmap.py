"""Names of torch.func under the path that PyTorch has them in."""

from ..func import vmap

__all__ = ["vmap"]
