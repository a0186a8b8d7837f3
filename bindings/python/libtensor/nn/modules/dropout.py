"""Dropout: random zeros during training."""

from __future__ import annotations

from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Sets each element to zero with probability `p` during training and multiplies the others by 1 / (1 - p). Returns the input in
    evaluation mode.

    With `inplace` the result is written to the input. Raises ValueError unless 0 <= p <= 1.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Sets each channel of an input (N, C, L) or (C, L) to zero with probability `p` during training and multiplies the others by 1 / (1 -
    p). Returns the input in evaluation mode. The options are those of Dropout.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Sets each channel of an input (N, C, H, W) to zero with probability `p` during training and multiplies the others by 1 / (1 - p).
    Returns the input in evaluation mode. The options are those of Dropout.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Sets each channel of an input (N, C, D, H, W) or (C, D, H, W) to zero with probability `p` during training and multiplies the others
    by 1 / (1 - p). Returns the input in evaluation mode. The options are those of Dropout.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Sets each element to the negative saturation value of SELU (-1.7581) with probability `p` during training, and scales and shifts all
    elements so that a mean of 0 and a variance of 1 are preserved (Klambauer et al., 2017). Returns the input in evaluation mode. `inplace`
    has no effect.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels: dimension 1 of the input."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
