"""The module of PyTorch that has Tracer, symbolic_trace."""

from . import Tracer, symbolic_trace

__all__ = ["Tracer", "symbolic_trace"]
