"""The base class of exponential families."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from ..autograd import grad
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with the density exp(<t(x), theta> - F(theta) + k(x)): natural parameters theta, log normalizer F, carrier measure k.
    The entropy follows from F by its gradient; so do Kullback-Leibler divergences between members of one family."""

    @property
    def _natural_params(self) -> Any:
        """The natural parameters, as a tuple of tensors."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        """Returns the log normalizer of natural parameters."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of the carrier measure, where entropies need it."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        result = normalizer - self._mean_carrier_measure
        for param, slope in zip(params, grad(normalizer.sum(), params, create_graph=True), strict=True):
            result = result - (param * slope).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
