"""Experimental names of graphs of modules."""

from . import proxy_tensor

__all__ = ["proxy_tensor"]
