"""The name of a tool that profiles a program, which is not supported."""

from .._inert import declare_unsupported as _declare_unsupported

__all__ = _declare_unsupported(
    globals(),
    "the tool is not supported; use cProfile or the profiler",
    "main",
)
