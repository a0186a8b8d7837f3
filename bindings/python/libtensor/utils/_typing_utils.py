"""Helpers for type checkers."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def not_none(obj: T | None) -> T:
    """Returns `obj`. Raises TypeError for None."""
    if obj is None:
        raise TypeError("Invariant encountered: value was None when it should not be")
    return obj


def _unchanged(source: Any) -> Any:
    return lambda target: target


copy_func_sig = copy_func_params = copy_method_sig = copy_method_params = _unchanged
