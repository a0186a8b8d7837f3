"""Types of values, which graphs print."""

from typing import Any

from .proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """Sets the type of the node of a proxy, and returns the value. Raises RuntimeError if the node has another type."""
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new type is {type}."
            )
        val.node.type = type
    return val
