"""Helpers under the names of torch.nn.utils."""

from . import rnn

__all__ = ["rnn"]
