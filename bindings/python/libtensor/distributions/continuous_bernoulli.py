"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, no_grad, ones_like, rand, where, zeros_like
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from ._choice import ProbsOrLogits
from .exp_family import ExponentialFamily
from .utils import _scalars, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """The continuous Bernoulli distribution on [0, 1] of `probs` p or log odds `logits`, with a density proportional to
    p**x (1 - p)**(1 - x) (Loaiza-Ganem, Cunningham, 2019). For p in `lims`, around 1/2, Taylor series replace quotients that cancel."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        given = self._one_of(probs, logits)
        (self._param,) = broadcast_all(given)
        if probs is None:
            self.logits = self._param
        else:
            if validate_args is not None and not self.arg_constraints["probs"].check(self._param).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self._param)
        self._lims = lims
        super().__init__(Size() if _scalars(given) else self._param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter p, at least the dtype's epsilon from 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> ContinuousBernoulli:
        new = self._expanded(ContinuousBernoulli, _instance, batch_shape)
        self._expand_param(new, tuple(batch_shape))
        new._lims = self._lims
        return new

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """Returns `probs`, with the lower limit where the series are used."""
        return where(self._outside_unstable_region(), self.probs, self._lims[0] * ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Tensor:
        """Returns the logarithm of the density's factor, 2 atanh(1 - 2 p) / (1 - 2 p)."""
        cut = self._cut_probs()
        low = where(cut <= 0.5, cut, zeros_like(cut))
        high = where(cut >= 0.5, cut, ones_like(cut))
        distance = where(cut <= 0.5, (-2.0 * low).log1p(), (2.0 * high - 1.0).log())
        exact = ((-cut).log1p() - cut.log()).abs().log() - distance
        x = (self.probs - 0.5).pow(2)
        return where(self._outside_unstable_region(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        return where(self._outside_unstable_region(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / ((-cut).log1p() - cut.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        return where(self._outside_unstable_region(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        exact = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        probabilities = where(self._outside_unstable_region(), exact, value)
        at_end = where(value >= 1.0, ones_like(probabilities), probabilities)
        return where(value <= 0.0, zeros_like(probabilities), at_end)

    def icdf(self, value: Any) -> Tensor:
        cut = self._cut_probs()
        exact = ((-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()) / (cut.log() - (-cut).log1p())
        return where(self._outside_unstable_region(), exact, value)

    def entropy(self) -> Tensor:
        failure, success = (-self.probs).log1p(), self.probs.log()
        return self.mean * (failure - success) - self._cont_bern_log_norm() - failure

    @property
    def _natural_params(self) -> Any:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        """Returns the logarithm of (exp(x) - 1) / x."""
        (x,) = natural_params
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = where(outside, x, (self._lims[0] - 0.5) * ones_like(x))
        exact = (cut.exp() - 1.0).abs().log() - cut.abs().log()
        return where(outside, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
