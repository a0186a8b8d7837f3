"""Compilation of functions and modules: libtensor has no compiler, and runs them as they are.

Decorators return what they decorate, questions about compilation are answered with False, and settings change nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from ._inert import identity, refuse
from ._inert.compilation import compile

__all__ = ["CallbackTrigger", "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling"]
__all__ += [
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "nonstrict_trace",
    "reset",
    "set_enable_guard_collectives",
]
__all__ += ["set_stance", "skip_all_guards_unsafe", "substitute_in_graph", "wrap_numpy"]


class CallbackTrigger(enum.Enum):
    """When a callback of a compilation is called."""

    DYNAMO = 1
    LAZY_BACKWARD = 2
    TRITON_AUTOTUNING = 3
    CUDAGRAPH_RECORDING = 4


def reset() -> None:
    """Does nothing: no compiled code is kept."""


def allow_in_graph(fn: Any) -> Any:
    """Returns `fn`."""
    return fn


def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[Any], Any]:
    """Returns a decorator that returns the function."""
    return lambda fn: fn


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Returns the names of compilers: none."""
    return []


def assume_constant_result(fn: Any) -> Any:
    """Returns `fn`."""
    return fn


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Returns `fn`; without it, a decorator that returns the function."""
    return identity if fn is None else fn


def set_stance(stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> Any:
    """Returns a context manager, and a decorator, that changes nothing."""
    from contextlib import ContextDecorator, nullcontext

    return type("set_stance", (nullcontext, ContextDecorator), {})()


def cudagraph_mark_step_begin() -> None:
    """Does nothing: no graphs are kept."""


def wrap_numpy(fn: Any) -> Any:
    """Returns a function that calls `fn` with NumPy arrays for the tensors among its arguments, and makes tensors of the arrays it
    returns."""
    from functools import wraps

    import numpy

    from . import Tensor, as_tensor

    def to_numpy(value: Any) -> Any:
        return value.numpy(force=True) if isinstance(value, Tensor) else value

    def to_tensor(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(map(to_tensor, value))
        return as_tensor(value) if isinstance(value, (numpy.ndarray, numpy.generic)) else value

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return to_tensor(fn(*map(to_numpy, args), **{key: to_numpy(value) for key, value in kwargs.items()}))

    return call


def is_compiling() -> bool:
    """Returns False: functions run, they are not compiled."""
    return False


def is_dynamo_compiling() -> bool:
    """Returns False: functions run, they are not compiled."""
    return False


def is_exporting() -> bool:
    """Returns False: functions run, they are not exported."""
    return False


def nested_compile_region(fn: Any = None, *, options: Any = None) -> Any:
    """Returns `fn`; without it, a decorator that returns the function."""
    return identity if fn is None else fn


def nonstrict_trace(traceable_fn: Any) -> Any:
    """Returns the function."""
    return traceable_fn


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Returns False, the setting before: it changes nothing."""
    return False


def skip_all_guards_unsafe(guard_entries: list[Any]) -> list[bool]:
    """Returns False for each guard."""
    return [False for _ in guard_entries]


__all__ += refuse(globals(), "libtensor has no compiler, and no cache of compiled code", "save_cache_artifacts load_cache_artifacts")
__all__ += refuse(globals(), "libtensor has no compiler, and no cache of compiled code", "load_compiled_function")
