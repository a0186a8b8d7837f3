"""Whether the library can use CUDA devices; the settings of its products are kept."""

from types import SimpleNamespace

from .._accelerators import count

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False, allow_bf16_reduced_precision_reduction=False)


def is_built():
    """True when the library finds a CUDA device that it can use."""
    return count("cuda") > 0
