"""Base classes and a manager of passes."""

from . import pass_base, pass_manager

__all__ = ["pass_base", "pass_manager"]
