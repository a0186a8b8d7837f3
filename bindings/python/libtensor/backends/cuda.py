"""Whether the library can use CUDA devices, and how they multiply matrices."""

from .._devices.accelerators import count
from .._gen import gen_functions as _f


class Products:
    """Settings of products. Sums of 16-bit floats are in 32 bits throughout, whatever the last two are."""

    allow_fp16_reduced_precision_reduction = allow_bf16_reduced_precision_reduction = False

    @property
    def allow_tf32(self):
        """Whether factors of float32 may be rounded to TF32: set_float32_matmul_precision says so too."""
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
    """The name of the library that linear algebra on CUDA devices was asked to take, which is kept and changes nothing.

    >>> torch.backends.cuda.preferred_linalg_library("cusolver")
    'cusolver'
    >>> torch.backends.cuda.preferred_linalg_library("default")
    'default'
    """
    return _prefer("linalg", ("default", "cusolver", "magma"), backend)


def preferred_blas_library(backend=None):
    """The name of the library that products on CUDA devices were asked to take, which is kept and changes nothing."""
    return _prefer("blas", ("default", "cublas", "cublaslt", "hipblaslt", "ck"), backend)


def is_built():
    """True when the library finds a CUDA device that it can use."""
    return count("cuda") > 0
