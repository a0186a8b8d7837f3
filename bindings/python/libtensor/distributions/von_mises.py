"""The von Mises distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, double, empty, no_grad, rand, where, zeros
from .. import bool as _bool
from ..special import i0e, i1e
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


def _rejection_sample(loc: Tensor, concentration: Tensor, proposal_r: Tensor, x: Tensor) -> Tensor:
    """Fills `x` by the rejection method of Best and Fisher (1979), with a wrapped Cauchy proposal, and returns it."""
    done = zeros(x.shape, dtype=_bool, device=loc.device)
    while not done.all():
        u1, u2, u3 = rand((3, *x.shape), dtype=loc.dtype, device=loc.device).unbind()
        z = (math.pi * u1).cos()
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
        if accept.any():
            x = where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """The von Mises distribution of angles in radians, of mode `loc` and `concentration` (1 / dispersion). Angles are drawn in float64."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        # log(2 pi I0(k)), where the scaled Bessel function does not overflow
        return k * (value - self.loc).cos() - math.log(2 * math.pi) - (i0e(k).log() + k)

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(double)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(double)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        k = self._concentration
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        small = 1 / k + k  # the series, where the quotient cancels
        return where(k < 1e-5, small, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            x = empty(self._extended_shape(sample_shape), dtype=self._loc.dtype, device=self.loc.device)
            return _rejection_sample(self._loc, self._concentration, self._proposal_r, x).to(self.loc.dtype)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> VonMises:
        validate_args = self.__dict__.get("_validate_args")
        loc, concentration = self.loc.expand(tuple(batch_shape)), self.concentration.expand(tuple(batch_shape))
        return type(self)(loc, concentration, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance, 1 - I1(k) / I0(k)."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)
