"""The multinomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, inf, lgamma, no_grad, ones_like, tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """The distribution of how often each of K categories is drawn among `total_count` draws, an int, with the relative weights `probs`
    (..., K) or the unnormalized log probabilities `logits` (..., K)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Multinomial:
        new = self._expanded(Multinomial, _instance, batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand((*batch_shape, *self.event_shape))
        new.total_count = self.total_count
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        """Probabilities, normalized over the last dimension."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Log probabilities, normalized over the last dimension."""
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            draws = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
            counts = draws.new_zeros(self._extended_shape(sample_shape)).scatter_add_(-1, draws, ones_like(draws))
            return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        n = tensor(self.total_count)
        support = self._binomial.enumerate_support(expand=False)[1:]
        expected = (self._binomial.log_prob(support).exp() * lgamma(support + 1)).sum([0, -1])
        return n * self._categorical.entropy() - lgamma(n + 1) + expected

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -inf), 0)
        return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + (logits * value).sum(-1)
