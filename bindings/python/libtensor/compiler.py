"""Names of torch.compiler: libtensor has no compiler, and runs functions and modules unchanged.

Decorators return their argument, questions about compilation return False, and settings have no effect.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from ._inert import declare_unsupported, identity
from ._inert.compilation import compile, exporting

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
    """The event at which a compilation callback is called."""

    DYNAMO = 1
    LAZY_BACKWARD = 2
    TRITON_AUTOTUNING = 3
    CUDAGRAPH_RECORDING = 4


def reset() -> None:
    """Does nothing: no compiled code exists."""


def allow_in_graph(fn: Any) -> Any:
    """Returns `fn`."""
    return fn


def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[Any], Any]:
    """Returns a decorator that returns its argument."""
    return lambda fn: fn


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Returns an empty list: there are no compilers."""
    return []


def assume_constant_result(fn: Any) -> Any:
    """Returns `fn`."""
    return fn


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Returns `fn`; without it, a decorator that returns its argument."""
    return identity if fn is None else fn


def set_stance(stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> Any:
    """Returns a context manager and decorator without effect."""
    from contextlib import ContextDecorator, nullcontext

    return type("set_stance", (nullcontext, ContextDecorator), {})()


def cudagraph_mark_step_begin() -> None:
    """Does nothing: CUDA graphs are not supported."""


def wrap_numpy(fn: Any) -> Any:
    """Returns a function that calls `fn` with its tensor arguments as NumPy arrays, and converts the returned arrays to tensors."""
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
    """Returns whether torch.export.export calls a function on this thread: functions are never compiled."""
    return is_exporting()


def is_dynamo_compiling() -> bool:
    """Returns False: functions are never compiled."""
    return False


def is_exporting() -> bool:
    """Returns whether torch.export.export calls a function on this thread."""
    return exporting.active


def nested_compile_region(fn: Any = None, *, options: Any = None) -> Any:
    """Returns `fn`; without it, a decorator that returns its argument."""
    return identity if fn is None else fn


def nonstrict_trace(traceable_fn: Any) -> Any:
    """Returns its argument."""
    return traceable_fn


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Returns False, the previous setting; has no effect."""
    return False


def skip_all_guards_unsafe(guard_entries: list[Any]) -> list[bool]:
    """Returns False for each guard."""
    return [False for _ in guard_entries]


__all__ += declare_unsupported(
    globals(), "libtensor has no compiler, and no cache of compiled code", "save_cache_artifacts load_cache_artifacts"
)
__all__ += declare_unsupported(globals(), "libtensor has no compiler, and no cache of compiled code", "load_compiled_function")
