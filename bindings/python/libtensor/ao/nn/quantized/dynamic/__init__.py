"""Layers with qint8 weights that quantize their floating-point input at each call."""

from .modules import LSTM, Linear

__all__ = ["LSTM", "Linear"]
