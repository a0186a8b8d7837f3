"""The base class of distributions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import Size, Tensor, is_tensor, no_grad
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A distribution over tensors of shape `batch_shape` + `event_shape`: batch elements are independent, the elements of an event are
    drawn together.

    Parameters and values are checked if `validate_args` is True; the default is set by `set_default_validate_args`. A subclass defines
    `arg_constraints`, `support`, and the methods and properties below that it supports; the others raise NotImplementedError.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Sets whether new distributions check their arguments by default. Raises ValueError for other values than True and False."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Size = Size(), event_shape: Size = Size(), validate_args: bool | None = None) -> None:  # noqa: B008
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self) -> None:
        """Raises ValueError for a parameter that does not satisfy its constraint."""
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for param, constraint in arg_constraints.items():
            computed = param not in self.__dict__ and isinstance(getattr(type(self), param, None), lazy_property)
            if constraints.is_dependent(constraint) or computed:
                continue
            value = getattr(self, param)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {param} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """Returns the distribution with parameters expanded to `batch_shape`, without allocating memory for them. Subclasses of a
        distribution pass the instance to initialize as `_instance`.
        """
        raise NotImplementedError

    def _expanded(self, cls: type[Distribution], instance: Any, batch_shape: Sequence[int], **parameters: int) -> Any:
        """Initializes `instance`, or a new one, as `cls` with expanded `parameters`: names with numbers of event dimensions. Parameters
        that are not stored are omitted.
        """
        new = self._get_checked_instance(cls, instance)
        for name, events in parameters.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                setattr(new, name, value.expand(tuple(batch_shape) + value.shape[value.dim() - events :]))
        initialize: Any = super(cls, new).__init__
        initialize(Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch, to which parameters broadcast."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """The constraints of parameters, by their names."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that values of the distribution satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean, of shape `batch_shape` + `event_shape`."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value with the largest density or probability, of shape `batch_shape` + `event_shape`."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance, of shape `batch_shape` + `event_shape`."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, of shape `batch_shape` + `event_shape`."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Returns random values of shape `sample_shape` + `batch_shape` + `event_shape`, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Returns random values of shape `sample_shape` + `batch_shape` + `event_shape` that are differentiable with respect to the
        parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Returns `n` samples. Deprecated: `sample((n,))` does the same."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Tensor:
        """Returns the logarithm of the probability density or mass of `value`, of shape `sample_shape` + `batch_shape`."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Tensor:
        """Returns the cumulative distribution function at `value`."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Tensor:
        """Returns the inverse cumulative distribution function at `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Returns all values of a discrete distribution along a new first dimension; with `expand`, expanded to the batch."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Returns the entropy in nats, of shape `batch_shape`."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Returns exp of the entropy, of shape `batch_shape`."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Sequence[int] = Size()) -> Size:
        """Returns the shape of samples: `sample_shape` + `batch_shape` + `event_shape`."""
        return Size(tuple(sample_shape) + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Any) -> None:
        """Raises ValueError for a value that is not a tensor, is not broadcastable with the distribution or is outside of the support."""
        if not is_tensor(value):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event_dim_start = value.dim() - len(self._event_shape)
        if value.shape[max(event_dim_start, 0) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for actual, size in zip(reversed(value.shape), reversed(expected), strict=False):
            if actual != 1 and size != 1 and actual != size:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {Size(expected)}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation.",
                stacklevel=2,
            )
            return
        if support is None:
            raise AssertionError(f"{self.__class__} has no support")
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({support!r}) "
                f"of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom "
                ".expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        params = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        parts = (f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in params.items())
        return f"{type(self).__name__}({', '.join(parts)})"
