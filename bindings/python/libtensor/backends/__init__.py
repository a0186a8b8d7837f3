"""Settings of the libraries that PyTorch uses. Those of libraries that libtensor does not use are stored without effect."""

from collections.abc import Iterator
from contextlib import contextmanager

from . import cpu, cuda, cudnn, cusparselt, kleidiai, mha, miopen, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized, xnnpack

__all__ = ["cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "miopen", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]
__all__ += ["quantized", "xnnpack"]

fp32_precision = "none"


def flags_frozen():
    """Returns False: the settings can be changed."""
    return False


def disable_global_flags():
    """Accepted without effect: the settings can always be changed."""


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """A context manager without effect, which packages enter to change settings: they can always be changed."""
    yield
