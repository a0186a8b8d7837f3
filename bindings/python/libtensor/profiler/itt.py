"""Ranges and marks for Intel's profilers (ITT), which are accepted and not emitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """Returns False: no profiler receives ranges."""
    return False


def range_push(msg: str) -> None:
    """Begins a nested range."""


def range_pop() -> None:
    """Ends the innermost range of range_push()."""


def mark(msg: str) -> None:
    """Marks an instant."""


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context manager and decorator for a range, whose name is `msg.format(*args, **kwargs)`."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
