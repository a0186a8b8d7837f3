"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, log_softmax, logsumexp, no_grad
from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: the last batch dimension of `component_distribution` is the dimension of components, from which `mixture_distribution`, a
    Categorical, selects.
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        batch_shape = self._mixture_distribution.batch_shape
        component_batch_shape = self._component_distribution.batch_shape[:-1]
        for size, component_size in zip(reversed(batch_shape), reversed(component_batch_shape), strict=False):
            if size != 1 and component_size != 1 and size != component_size:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({component_batch_shape})"
                )
        mixed, components = self._mixture_distribution.logits.shape[-1], self._component_distribution.batch_shape[-1]
        if mixed != components:
            raise ValueError(
                f"`mixture_distribution component` ({mixed}) does not equal `component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = components
        event_shape = self._component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(component_batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> MixtureSameFamily:
        new = self._expanded(MixtureSameFamily, _instance, batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The distributions of the components."""
        return self._component_distribution

    def _expectation(self, of: Tensor) -> Tensor:
        """Returns the mean over components."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return (probs * of).sum(dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._expectation(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        within = self._expectation(self.component_distribution.variance)
        return within + self._expectation((self.component_distribution.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x: Any) -> Tensor:
        probabilities = self.component_distribution.cdf(self._pad(x))
        return (probabilities * self.mixture_distribution.probs).sum(dim=-1)

    def log_prob(self, x: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self.component_distribution.log_prob(self._pad(x))
        return logsumexp(log_prob + log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            mixture = self.mixture_distribution
            if mixture.batch_shape != self.batch_shape:
                mixture = mixture.expand(self.batch_shape)
            chosen = mixture.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            sizes = drawn.shape[:dim] + (1,) + self.event_shape
            return drawn.gather(dim, index.expand(sizes)).squeeze(dim)

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Any) -> Any:
        mixed = len(self.mixture_distribution.batch_shape)
        missing = 0 if mixed == 0 else len(self.batch_shape) - mixed
        return x.reshape(x.shape[:-1] + (1,) * missing + x.shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
