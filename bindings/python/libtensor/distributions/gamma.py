"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Generator, Size, Tensor, as_tensor, digamma, finfo, lgamma, no_grad, xlogy
from .._gen.gen_functions import standard_gamma as _standard_gamma
from ..special import gammainc
from . import constraints
from .exp_family import ExponentialFamily
from .utils import _scalars, broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution of shape parameter `concentration` and `rate`, which is 1 / scale."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(Size() if _scalars(concentration, rate) else self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Gamma:
        return self._expanded(Gamma, _instance, batch_shape, concentration=0, rate=0)

    def sample(self, sample_shape: Sequence[int] = Size(), generator: Generator | None = None) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape, generator)

    def rsample(self, sample_shape: Sequence[int] = Size(), generator: Generator | None = None) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape), generator=generator) / self.rate.expand(shape)
        with no_grad():
            value.detach().clamp_(min=finfo(value.dtype).tiny)  # the gradient of a number that underflows is that of the number
        return value

    def log_prob(self, value: Any) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return xlogy(a, rate) + xlogy(a - 1, value) - rate * value - lgamma(a)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + lgamma(a) + (1.0 - a) * digamma(a)

    def cdf(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return gammainc(self.concentration, self.rate * value)

    @property
    def _natural_params(self) -> Any:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        x, y = natural_params
        return lgamma(x + 1) + (x + 1) * (-y.reciprocal()).log()
