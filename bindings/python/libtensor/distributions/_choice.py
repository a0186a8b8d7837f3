"""What distributions with the parameter `probs` or `logits` share."""

from __future__ import annotations

from typing import Any

from .. import Size, Tensor
from .utils import lazy_property, logits_to_probs, probs_to_logits


class ProbsOrLogits:
    """A distribution of `probs` or `logits`; the other one of the two is computed when it is first asked for."""

    _is_binary = True
    _param: Any

    @staticmethod
    def _one_of(probs: Any, logits: Any) -> Any:
        """Returns the parameter that is given. Raises ValueError if none is, or both."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        return logits if probs is None else probs

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)

    def _expand_param(self, new: Any, shape: tuple[int, ...]) -> None:
        """Sets the parameters of `new` to those of `self`, expanded to `shape`."""
        for name in ("probs", "logits"):
            if name in self.__dict__:
                value = self.__dict__[name].expand(shape)
                setattr(new, name, value)
                new._param = value

    @lazy_property
    def logits(self) -> Tensor:
        """Log odds, or log probabilities over the last dimension."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()
