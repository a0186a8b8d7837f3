"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, finfo, no_grad, zeros_like
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from ._choice import ProbsOrLogits
from .distribution import Distribution
from .utils import _scalars, broadcast_all

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits, Distribution):
    """The distribution of the number of failures before the first success of trials with success probability `probs` or log odds
    `logits`: (1 - probs)**k probs for k = 0, 1, ..."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        given = self._one_of(probs, logits)
        (self._param,) = broadcast_all(given)
        setattr(self, "logits" if probs is None else "probs", self._param)
        super().__init__(Size() if _scalars(given) else self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            valid = self.probs > 0
            if not valid.all():
                raise ValueError(
                    f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of distribution {self!r} "
                    f"to be positive but found invalid values:\n{self.probs[~valid]}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Geometric:
        new = self._expanded(Geometric, _instance, batch_shape)
        self._expand_param(new, tuple(batch_shape))
        return new

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        certain = (probs == 1) & (value == 0)
        return value * (-probs.masked_fill(certain, 0)).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
