"""Normalization over features, groups of channels and adjacent channels."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ..._base.size import Size
from ..._core.tensor import Tensor
from ..._gen.gen_functions import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]

_Shape = int | list[int] | tuple[int, ...] | Size


class LocalResponseNorm(Module):
    """Divides each element by `(k + alpha / size * sum of squares over size channels around it)^beta`.

    Shapes: input and output (N, C, *).
    """

    __constants__ = ["size", "alpha", "beta", "k"]
    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """Applies LocalResponseNorm to images (N, C, H, W). Raises ValueError for inputs with another number of dimensions."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return super().forward(input)


class LayerNorm(Module):
    """Normalizes the last dimensions, of sizes `normalized_shape`: `y = (x - mean) / sqrt(var + eps) * weight + bias` (Ba et al., 2016).

    Shapes: input and output (*, *normalized_shape). Mean and (biased) variance are taken over these dimensions. `weight` begins as ones and
    `bias` as zeros, both of `normalized_shape`; they are None with `elementwise_affine=False`, the bias also with `bias=False`.

    >>> torch.nn.LayerNorm(2)(torch.tensor([[1., 3.]])).detach()
    tensor([[-1.0000,  1.0000]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool
    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: _Shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        factory = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(empty(self.normalized_shape, **factory)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(empty(self.normalized_shape, **factory)) if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


def _as_tuple(shape: _Shape) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, Integral) else tuple(shape)  # type: ignore[arg-type]


class GroupNorm(Module):
    """Normalizes each of `num_groups` groups of channels: `y = (x - mean) / sqrt(var + eps) * weight + bias` (Wu and He, 2018).

    Shapes: input and output (N, C, *) with C = `num_channels`. Mean and (biased) variance are those of one group of one sample. `weight`
    begins as ones and `bias` as zeros, both (C); they are None with `affine=False`, the bias also with `bias=False`. Raises ValueError
    unless `num_channels` is divisible by `num_groups`."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    num_groups: int
    num_channels: int
    eps: float
    affine: bool
    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        factory = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(empty(num_channels, **factory)) if affine else None)
        self.register_parameter("bias", Parameter(empty(num_channels, **factory)) if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Divides by the root mean square of the last dimensions, of sizes `normalized_shape`: `y = x / sqrt(mean(x^2) + eps) * weight`
    (Zhang and Sennrich, 2019).

    Shapes: input and output (*, *normalized_shape). `eps` defaults to the machine epsilon of the dtype of the input. `weight` begins as
    ones, of `normalized_shape`; it is None with `elementwise_affine=False`."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: float | None
    elementwise_affine: bool
    weight: Parameter | None

    def __init__(
        self, normalized_shape: _Shape, eps: float | None = None, elementwise_affine: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        made = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
