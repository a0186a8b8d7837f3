"""The name of a tool that prints pickles, which is not supported."""

from .._inert import refuse as _refuse

__all__ = _refuse(
    globals(),
    "the tool is not supported; use pickletools",
    "main",
)
