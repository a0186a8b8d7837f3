"""Layers that pad the last dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _repeated

__all__ = [
    *("CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d"),
    *("ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d"),
    *("ZeroPad1d", "ZeroPad2d", "ZeroPad3d"),
]


class _PadNd(Module):
    """A layer that pads the last `_dims` dimensions in `_mode`. `padding` is one size for all sides, or the sizes before and after each
    dimension, the last dimension first.
    """

    __constants__ = ["padding"]
    padding: Sequence[int]
    _dims: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _repeated(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads an input (N, C, W) or (C, W) with elements from the opposite end. `padding` is one size for all sides, or (left, right), each
    no larger than the dimension; negative sizes remove elements. The output has W_out = W + left + right."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pads an input (N, C, H, W) or (C, H, W) with elements from the opposite ends. `padding` is one size for all sides, or (left, right,
    top, bottom), each no larger than the dimension; negative sizes remove elements. The output has H_out = H + top + bottom and W_out = W
    + left + right."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pads an input (N, C, D, H, W) or (C, D, H, W) with elements from the opposite ends. `padding` is one size for all sides, or (left,
    right, top, bottom, front, back), each no larger than the dimension; negative sizes remove elements. The output has D_out = D + front
    + back, H_out = H + top + bottom and W_out = W + left + right."""

    _dims = 3


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    _mode = "constant"
    value: float

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with `value`. `padding` is one size or (left, right); negative sizes remove elements."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with `value`. `padding` is one size or (left, right, top, bottom); negative sizes remove elements."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with `value`. `padding` is one size or (left, right, top, bottom, front, back); negative sizes remove
    elements."""

    _dims = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads the last dimension with zeros. `padding` is one size or (left, right); negative sizes remove elements."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads the last two dimensions with zeros. `padding` is one size or (left, right, top, bottom); negative sizes remove elements."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads the last three dimensions with zeros. `padding` is one size or (left, right, top, bottom, front, back); negative sizes remove
    elements."""


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads an input (N, C, W) or (C, W) with its reflection at the border, without the border elements. `padding` is one size for all
    sides, or (left, right), each smaller than the dimension; negative sizes remove elements. The output has W_out = W + left + right."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads an input (N, C, H, W) or (C, H, W) with its reflection at the border, without the border elements. `padding` is one size for
    all sides, or (left, right, top, bottom), each smaller than the dimension; negative sizes remove elements. The output has H_out = H +
    top + bottom and W_out = W + left + right."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads an input (N, C, D, H, W) or (C, D, H, W) with its reflection at the border, without the border elements. `padding` is one size
    for all sides, or (left, right, top, bottom, front, back), each smaller than the dimension; negative sizes remove elements. The output
    has D_out = D + front + back, H_out = H + top + bottom and W_out = W + left + right."""

    _dims = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads an input (N, C, W) or (C, W) by repeating its border elements. `padding` is one size for all sides, or (left, right); negative
    sizes remove elements. The output has W_out = W + left + right."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads an input (N, C, H, W) or (C, H, W) by repeating its border elements. `padding` is one size for all sides, or (left, right, top,
    bottom); negative sizes remove elements. The output has H_out = H + top + bottom and W_out = W + left + right."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads an input (N, C, D, H, W) or (C, D, H, W) by repeating its border elements. `padding` is one size for all sides, or (left,
    right, top, bottom, front, back); negative sizes remove elements. The output has D_out = D + front + back, H_out = H + top + bottom
    and W_out = W + left + right."""

    _dims = 3
