"""Quantization schemes, and functions whose names in PyTorch begin with an underscore."""

from .._base.dtypes import NAMES
from .._core.tensor import Tensor
from .._gen import gen_functions as _f

# Functions whose names in PyTorch begin with an underscore.
PRIVATE = (
    *("make_per_tensor_quantized_tensor", "make_per_channel_quantized_tensor", "choose_qparams_per_tensor"),
    *("empty_affine_quantized", "empty_per_channel_affine_quantized"),
    *("fake_quantize_learnable_per_tensor_affine", "fake_quantize_learnable_per_channel_affine"),
    *("int_mm", "weight_int8pack_mm", "convert_weight_to_int4pack_for_cpu", "weight_int4pack_mm_for_cpu"),
)


def qscheme(tensor):
    """Returns the quantization scheme: torch.per_tensor_affine or torch.per_channel_affine.

    >>> torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.qint8).qscheme()
    torch.per_tensor_affine
    """
    return NAMES[_f.qscheme(tensor)]


Tensor.qscheme = qscheme  # type: ignore[method-assign]
