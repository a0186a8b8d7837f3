"""Helpers under the names of torch.nn.utils."""

from . import rnn as rnn

__all__ = ["rnn"]
