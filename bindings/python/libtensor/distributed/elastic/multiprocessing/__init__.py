"""Processes that a launcher started, and their errors."""

from . import errors

__all__ = ["errors"]
