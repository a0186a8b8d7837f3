"""Modules with uninitialized parameters."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from ..modules.module import Module

__all__ = ["skip_init"]

_M = TypeVar("_M", bound=Module)


def skip_init(module_cls: type[_M], *args: Any, **kwargs: Any) -> _M:
    """Returns `module_cls(*args, **kwargs)` with uninitialized parameters and buffers on `device`, a keyword argument, by default the CPU.

    The constructor must take `device`, create all tensors on it, and not depend on their values. Raises RuntimeError if `module_cls` is not
    a Module class or does not take `device`.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    target = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=target)
