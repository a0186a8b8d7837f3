"""What the library is built with. Settings of software that it does not use are kept, and change nothing."""

from . import cpu, cuda, cudnn, cusparselt, kleidiai, mha, miopen, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized, xnnpack

__all__ = ["cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "miopen", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]
__all__ += ["quantized", "xnnpack"]

fp32_precision = "none"


def flags_frozen():
    """False: the settings can be changed."""
    return False


def disable_global_flags():
    """Accepted: the settings can be changed throughout."""
