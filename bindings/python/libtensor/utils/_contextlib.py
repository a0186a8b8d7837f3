"""Context managers that decorate functions and generators."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


def context_decorator(ctx: Any, func: Any) -> Any:
    """Wraps `func` in a new context `ctx()` for each call, or, for a generator function, for each step. `ctx` may be a context manager,
    which is entered each time. Raises RuntimeError for a class together with a function that creates contexts.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise RuntimeError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous which interface to "
            "use."
        )
    make = ctx if callable(ctx) else lambda: ctx
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the context applied"
        )
    if inspect.isgeneratorfunction(func):
        return _wrapped_generator(make, func)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return wrapped


def _wrapped_generator(make: Callable[[], Any], func: Any) -> Any:
    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with make():
            running = func(*args, **kwargs)
        try:
            with make():
                made = running.send(None)
            while True:
                try:
                    request = yield made
                except GeneratorExit:
                    with make():
                        running.close()
                    raise
                except BaseException as error:
                    with make():
                        made = running.throw(error)
                else:
                    with make():
                        made = running.send(request)
        except StopIteration as end:
            return end.value

    return wrapped


class _DecoratorContextManager:
    """A context manager whose instances decorate functions and generator functions."""

    def __call__(self, orig_func: Any) -> Any:
        if inspect.isclass(orig_func):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or methods.",
                FutureWarning,
                stacklevel=2,
            )
            return orig_func
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Self:
        """Returns a new context of the same class."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context manager whose class decorates too: `@context` and `@context()` are the same."""

    def __new__(cls, orig_func: Any = None) -> Any:
        made = super().__new__(cls)
        if orig_func is None:
            return made
        return made(orig_func)
