"""The parts of utils.benchmark."""

from . import common, compare, timer

__all__ = ["common", "compare", "timer"]
