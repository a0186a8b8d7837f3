"""What removes hooks."""

from .._hooks import RemovableHandle

__all__ = ["RemovableHandle"]
