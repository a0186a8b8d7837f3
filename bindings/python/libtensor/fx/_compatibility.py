"""Declarations about stability."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

F = TypeVar("F")


def compatibility(is_backward_compatible: bool = False) -> Callable[[F], F]:
    """Returns a decorator that returns the function or class."""

    def declare(fn: F) -> F:
        target: Any = fn
        with suppress(AttributeError, TypeError):
            target._backward_compatible = is_backward_compatible
        return fn

    return declare
