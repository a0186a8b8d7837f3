"""The generalized Pareto distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, expm1, full_like, inf, isclose, log1p, nan, ones_like, rand, where, zeros_like
from . import constraints
from .distribution import Distribution
from .utils import _scalars, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution of location `loc`, `scale` and shape parameter `concentration` (c): with z = (x - loc) / scale
    the survival function is (1 + c z)**(-1 / c), or exp(-z) where c is 0."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(Size() if _scalars(loc, scale, concentration) else self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> GeneralizedPareto:
        return self._expanded(GeneralizedPareto, _instance, batch_shape, loc=0, scale=0, concentration=0)

    def _z(self, x: Any) -> Tensor:
        return (x - self.loc) / self.scale

    def _split(self) -> tuple[Tensor, Tensor]:
        """Returns where the concentration is 0, and the concentration with ones there."""
        zero = isclose(self.concentration, zeros_like(self.concentration))
        return zero, where(zero, ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, c = self._split()
        power = 1 / c + ones_like(z)
        return -self.scale.log() - where(zero, z, where(power == 0, power, power * log1p(c * z)))

    def log_survival_function(self, value: Any) -> Tensor:
        """Returns the logarithm of the probability of values above `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, c = self._split()
        return where(zero, -z, -log1p(c * z) / c)

    def log_cdf(self, value: Any) -> Tensor:
        """Returns the logarithm of the probability of values up to `value`."""
        return log1p(-self.log_survival_function(value).exp())

    def cdf(self, value: Any) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Tensor:
        log_survival = log1p(-value)
        zero, c = self._split()
        return where(zero, self.loc - self.scale * log_survival, self.loc + self.scale * expm1(-c * log_survival) / c)

    @property
    def mean(self) -> Tensor:
        c = self.concentration
        return where(c < 1, self.loc + self.scale / (1 - c), full_like(self.loc, nan))

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return where(c < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), full_like(self.loc, nan))

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self.batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = where(self.concentration < 0, self.loc - self.scale / self.concentration, inf)
        return constraints.interval(self.loc, upper)
