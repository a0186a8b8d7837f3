"""Operators over functions: cond, while_loop, map, scan and associative_scan."""

from .._inert.control_flow import cond, while_loop
from .associative_scan import associative_scan
from .map import map
from .scan import scan

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
