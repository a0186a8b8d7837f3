"""Availability of CUDA devices, and settings of matrix products and attention."""

from contextlib import contextmanager

from .._devices.accelerators import count
from .._gen import gen_functions as _f
from ._flags import PRECISIONS


class Products:
    """Settings of matrix products. Products of 16-bit floats are always summed in float32.

    Raises AttributeError for other names.
    """

    allow_fp16_reduced_precision_reduction = allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    def __setattr__(self, name, value):
        if not hasattr(type(self), name):
            raise AttributeError("Unknown attribute " + name)
        object.__setattr__(self, name, value)

    @property
    def fp32_precision(self):
        """The precision of float32 products: tf32, or ieee if set_float32_matmul_precision is "highest"."""
        return "tf32" if self.allow_tf32 else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, precision):
        if precision not in PRECISIONS:
            raise RuntimeError(f"Unknown precision: {precision}; choose from {', '.join(PRECISIONS)}")
        self.allow_tf32 = precision == "tf32"

    @property
    def allow_tf32(self):
        """Whether float32 operands may be rounded to TF32; set_float32_matmul_precision sets it too."""
        return _f.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        _f.set_float32_matmul_precision("high" if allowed else "highest")


matmul = Products()


_preferred = {"linalg": "default", "blas": "default"}


def _prefer(kind, names, backend):
    if backend is not None:
        if backend not in names:
            raise RuntimeError(f"preferred_{kind}_library: unknown backend {backend!r}; choose from {', '.join(names)}")
        _preferred[kind] = backend
    return _preferred[kind]


def preferred_linalg_library(backend=None):
    """Returns the linear algebra library that was requested for CUDA devices, which is stored without effect.

    >>> torch.backends.cuda.preferred_linalg_library("cusolver")
    'cusolver'
    >>> torch.backends.cuda.preferred_linalg_library("default")
    'default'
    """
    return _prefer("linalg", ("default", "cusolver", "magma"), backend)


def preferred_blas_library(backend=None):
    """Returns the BLAS library that was requested for CUDA devices, which is stored without effect."""
    return _prefer("blas", ("default", "cublas", "cublaslt", "hipblaslt", "ck"), backend)


def is_built():
    """Returns whether the library finds a CUDA device that it supports."""
    return count("cuda") > 0


# Attention has one kernel: settings of its backends are stored without effect.
_allowed = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "reduction": False}


def flash_sdp_enabled():
    """Returns the setting of enable_flash_sdp."""
    return _allowed["flash"]


def enable_flash_sdp(enabled):
    """Stores whether flash attention may be used, without effect."""
    _allowed["flash"] = enabled


def mem_efficient_sdp_enabled():
    """Returns the setting of enable_mem_efficient_sdp."""
    return _allowed["mem_efficient"]


def enable_mem_efficient_sdp(enabled):
    """Stores whether memory-efficient attention may be used, without effect."""
    _allowed["mem_efficient"] = enabled


def math_sdp_enabled():
    """Returns the setting of enable_math_sdp."""
    return _allowed["math"]


def enable_math_sdp(enabled):
    """Stores whether attention may be computed by products and softmax, without effect."""
    _allowed["math"] = enabled


def cudnn_sdp_enabled():
    """Returns the setting of enable_cudnn_sdp."""
    return _allowed["cudnn"]


def enable_cudnn_sdp(enabled):
    """Stores whether cuDNN's attention may be used, without effect."""
    _allowed["cudnn"] = enabled


def fp16_bf16_reduction_math_sdp_allowed():
    """Returns the setting of allow_fp16_bf16_reduction_math_sdp."""
    return _allowed["reduction"]


def allow_fp16_bf16_reduction_math_sdp(enabled):
    """Stores whether attention may sum in 16 bits, without effect: it sums in float32."""
    _allowed["reduction"] = enabled


def is_flash_attention_available():
    """Returns False: there is no separate kernel of flash attention."""
    return False


@contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A context manager that sets the backends of attention, without effect."""
    before = dict(_allowed)
    _allowed.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _allowed.update(before)
