"""Sliding blocks of images, as columns."""

from __future__ import annotations

from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]

Sizes = int | tuple[int, ...]


class Fold(Module):
    """Adds up blocks to an image: the element at each position is the sum of those of all blocks that cover it. The adjoint of Unfold.

    Shapes: input (N, C * prod(kernel_size), L) or without N, output (N, C, *output_size), with L the number of blocks:
    `prod over d of floor((output_size[d] + 2*padding[d] - dilation[d]*(kernel_size[d] - 1) - 1) / stride[d] + 1)`.
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]
    output_size: Sizes
    kernel_size: Sizes
    dilation: Sizes
    padding: Sizes
    stride: Sizes

    def __init__(self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.output_size, self.kernel_size, self.dilation, self.padding, self.stride = output_size, kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Unfold(Module):
    """Copies sliding blocks of images to columns (im2col).

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C * prod(kernel_size), L), with L the number of blocks as in Fold.
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]
    kernel_size: Sizes
    dilation: Sizes
    padding: Sizes
    stride: Sizes

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
