"""Whether the library can use CUDA devices, and how they multiply matrices."""

from .. import gen_functions as _f
from .._accelerators import count


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


def is_built():
    """True when the library finds a CUDA device that it can use."""
    return count("cuda") > 0
