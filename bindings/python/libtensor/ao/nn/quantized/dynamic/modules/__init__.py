"""Layers with qint8 weights that quantize their floating-point input at each call."""

from .linear import Linear
from .rnn import LSTM

__all__ = ["LSTM", "Linear"]
