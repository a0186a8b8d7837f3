"""Questions about compilation."""

from ..compiler import is_compiling

__all__ = ["is_compiling"]
