"""The module of PyTorch that has Proxy."""

from . import Proxy

__all__ = ["Proxy"]
