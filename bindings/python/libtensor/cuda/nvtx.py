"""Ranges and marks for NVIDIA's profilers, which are accepted and not emitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_UNTRACKED = -2  # what NVTX returns in place of a depth where no profiler is attached


def range_push(msg: str) -> int:
    """Begins a nested range. Returns -2: no profiler tracks ranges."""
    return _UNTRACKED


def range_pop() -> int:
    """Ends the innermost range of range_push(). Returns -2: no profiler tracks ranges."""
    return _UNTRACKED


def range_start(msg: str) -> int:
    """Begins a range that may end on another thread. Returns its handle, 0."""
    return 0


def range_end(range_id: int) -> None:
    """Ends a range of range_start()."""


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
