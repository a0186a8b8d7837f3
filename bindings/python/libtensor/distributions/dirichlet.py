"""The Dirichlet distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, digamma, lgamma, xlogy
from .._gen.gen_functions import dirichlet_grad as _dirichlet_grad
from .._gen.gen_functions import sample_dirichlet as _sample_dirichlet
from ..nn.functional import one_hot
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """Returns the gradient of a loss with respect to `concentration`, from that with respect to a sample `x` of it."""
    slope = _dirichlet_grad(x, concentration, concentration.sum(-1, True).expand_as(concentration))
    made: Tensor = slope * (grad_output - (x * grad_output).sum(-1, True))
    return made


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of `concentration` (..., K): of vectors of K positive numbers whose sum is 1."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Dirichlet:
        return self._expanded(Dirichlet, _instance, batch_shape, concentration=1)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return xlogy(a - 1.0, value).sum(-1) + lgamma(a.sum(-1)) - lgamma(a).sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        mode[corner] = one_hot(mode[corner].argmax(dim=-1), excess.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return lgamma(a).sum(-1) - lgamma(total) - (k - total) * digamma(total) - ((a - 1.0) * digamma(a)).sum(-1)

    @property
    def _natural_params(self) -> Any:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        (x,) = natural_params
        return x.lgamma().sum(-1) - lgamma(x.sum(-1))
