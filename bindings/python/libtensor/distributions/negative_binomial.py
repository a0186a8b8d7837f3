"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, exp, lgamma, no_grad, poisson, sigmoid
from ..nn.functional import logsigmoid
from . import constraints
from ._choice import ProbsOrLogits
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits, Distribution):
    """The distribution of the number of successes before `total_count` failures, of trials with success probability `probs` or log odds
    `logits`."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self.total_count, self._param = broadcast_all(total_count, self._one_of(probs, logits))
        setattr(self, "logits" if probs is None else "probs", self._param)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> NegativeBinomial:
        new = self._expanded(NegativeBinomial, _instance, batch_shape, total_count=0)
        self._expand_param(new, tuple(batch_shape))
        return new

    @property
    def mean(self) -> Tensor:
        return self.total_count * exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(concentration=self.total_count, rate=exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        unnormalized = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        normalizer = -lgamma(self.total_count + value) + lgamma(1.0 + value) + lgamma(self.total_count)
        return unnormalized - normalizer.masked_fill(self.total_count + value == 0.0, 0.0)
