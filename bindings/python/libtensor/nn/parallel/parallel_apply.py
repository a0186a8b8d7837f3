"""Calls of modules, one after the other."""

from __future__ import annotations

from typing import Any

__all__ = ["parallel_apply"]


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
    """Returns what each module returns for its inputs, one after the other."""
    options: Any = kwargs_tup or ({},) * len(modules)
    calls = zip(modules, inputs, options, strict=True)
    return [module(*(args if isinstance(args, (tuple, list)) else (args,)), **kwargs) for module, args, kwargs in calls]
