"""Settings of the libraries that PyTorch uses. Those of libraries that libtensor does not use are stored without effect."""

from . import cpu, cuda, cudnn, cusparselt, kleidiai, mha, miopen, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized, xnnpack

__all__ = ["cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "miopen", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]
__all__ += ["quantized", "xnnpack"]

fp32_precision = "none"


def flags_frozen():
    """Returns False: the settings can be changed."""
    return False


def disable_global_flags():
    """Accepted without effect: the settings can always be changed."""
