"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, arange, cat, diag_embed, finfo, lgamma, mvlgamma, randn
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import _scalars, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """The distribution of lower Cholesky factors (dim, dim) of correlation matrices whose density is proportional to det**(`concentration`
    - 1) (Lewandowski, Kurowicka, Joe, 2009). Samples are drawn by the onion method.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch_shape = Size() if _scalars(concentration) else self.concentration.size()
        # The squared distance of row i + 1 from the diagonal has the Beta distribution of i / 2 (1/2 for the first) and b_i.
        marginal = self.concentration + 0.5 * (self.dim - 2)
        offset = arange(self.dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(batch_shape, Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> LKJCholesky:
        new = self._expanded(LKJCholesky, _instance, batch_shape, concentration=0)
        new.dim = self.dim
        new._beta = self._beta.expand(tuple(batch_shape) + (self.dim,))
        return new

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        distance = self._beta.sample(sample_shape).unsqueeze(-1)
        direction = randn(self._extended_shape(sample_shape), dtype=distance.dtype, device=distance.device).tril(-1)
        direction = direction / direction.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)  # the first row has no elements off the diagonal
        w = distance.sqrt() * direction
        diagonal = (1 - (w**2).sum(dim=-1)).clamp(min=finfo(w.dtype).tiny).sqrt()
        return w + diag_embed(diagonal)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = (order * diagonal.log()).sum(dim=-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        normalizer = 0.5 * less * math.log(math.pi) + mvlgamma(alpha - 0.5, less) - lgamma(alpha) * less
        return unnormalized - normalizer
