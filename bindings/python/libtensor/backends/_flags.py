"""Flags of libraries that libtensor does not use: they are stored without effect."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PRECISIONS = ("ieee", "tf32", "bf16", "none")


class Precision:
    """The precision of a kind of operator in float32: ieee, tf32, bf16, or none for that of the parent setting. Stored without effect.

    Raises RuntimeError for another value, AttributeError for another attribute.
    """

    def __init__(self, precision: str = "none") -> None:
        object.__setattr__(self, "fp32_precision", precision)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "fp32_precision":
            raise AttributeError("Unknown attribute " + name)
        if value not in PRECISIONS:
            raise RuntimeError(f"Unknown precision: {value}; choose from {', '.join(PRECISIONS)}")
        object.__setattr__(self, name, value)


def settable(name: str, names: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Returns the functions set_flags and flags of a module: the first sets the attributes `names` to its arguments, except None, and
    returns their previous values; the second is a context manager that does so, with defaults by name.
    """
    module, defaults = sys.modules[name], dict(names)

    def set_flags(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        given = dict(zip(defaults, args, strict=False)) | {name.removeprefix("_"): value for name, value in kwargs.items()}
        unknown = given.keys() - defaults.keys()
        if unknown or len(args) > len(defaults):
            raise TypeError(f"set_flags() takes {', '.join(defaults)}, but got {', '.join(sorted(unknown)) or len(args)}")
        before = tuple(getattr(module, name) for name in defaults)
        for name, value in given.items():
            if value is not None:
                setattr(module, name, value)
        return before

    @contextmanager
    def flags(*args: Any, **kwargs: Any) -> Iterator[None]:
        given = defaults | dict(zip(defaults, args, strict=False)) | kwargs
        before = set_flags(**given)
        try:
            yield
        finally:
            for name, value in zip(defaults, before, strict=True):
                setattr(module, name, value)

    return set_flags, flags
