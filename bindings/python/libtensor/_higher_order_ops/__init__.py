"""Operators over functions: cond, while_loop and associative_scan."""

from .._inert.names import cond, while_loop
from .associative_scan import associative_scan

__all__ = ["associative_scan", "cond", "while_loop"]
