"""Layers that resample images."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resamples signals, images or volumes to `size`, or by `scale_factor`.

    `mode` is nearest, linear, bilinear, bicubic or trilinear. `align_corners` and `recompute_scale_factor` are those of `F.interpolate`.

    Shapes: input (N, C, L), (N, C, H, W) or (N, C, D, H, W), output (N, C, *size).

    >>> torch.nn.Upsample(scale_factor=2)(torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]
    name: str
    size: int | tuple[int, ...] | None
    scale_factor: float | tuple[float, ...] | None
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None

    def __init__(
        self,
        size: int | tuple[int, ...] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name, self.size, self.mode = type(self).__name__, size, mode
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        factors: Any = self.scale_factor
        return F.interpolate(input, self.size, factors, self.mode, self.align_corners, recompute_scale_factor=self.recompute_scale_factor)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        which = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{which}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resamples images (N, C, H, W) to `size`, or by `scale_factor`, with the nearest element."""

    def __init__(self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resamples images (N, C, H, W) to `size`, or by `scale_factor`, with bilinear interpolation between aligned corners."""

    def __init__(self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
