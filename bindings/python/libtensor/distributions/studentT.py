"""Student's t-distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, digamma, inf, lgamma, nan
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distribution of `df` degrees of freedom, shifted by `loc` and multiplied by `scale`."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        return finite.masked_fill(self.df <= 2, inf).masked_fill(self.df <= 1, nan)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> StudentT:
        new = self._expanded(StudentT, _instance, batch_shape, df=0, loc=0, scale=0)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        chi2 = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * (chi2 / self.df).rsqrt())

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1.0)
        normalizer = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + lgamma(half) - lgamma(next_half)
        return -next_half * (y**2.0 / self.df).log1p() - normalizer

    def entropy(self) -> Tensor:
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = 0.5 * math.log(math.pi) + lgamma(half) - lgamma(next_half)
        return self.scale.log() + next_half * (digamma(next_half) - digamma(half)) + 0.5 * self.df.log() + log_beta
