"""Decorators of data pipes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from .datapipe import IterDataPipe, MapDataPipe

_valid = True
_deterministic = False


class functional_datapipe:
    """Registers a class of pipes as a method `name` of all pipes of its kind."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        if not isinstance(cls, type) or not issubclass(cls, (IterDataPipe, MapDataPipe)):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        kind: Any = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        kind.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
        return cls


class guaranteed_datapipes_determinism:
    """A context under which classes that `non_deterministic` marks cannot be made."""

    def __init__(self) -> None:
        global _deterministic
        self.before, _deterministic = _deterministic, True

    def __enter__(self) -> None:
        """Does nothing; the constructor begins the context."""

    def __exit__(self, *_: object) -> None:
        global _deterministic
        _deterministic = self.before


class non_deterministic:
    """Marks a class of pipes, whose order of samples may change. The argument is the class or a function of its arguments that says so."""

    def __init__(self, arg: Any) -> None:
        self.cls = arg if isinstance(arg, type) else None
        self.applies = (lambda *args, **kwargs: True) if isinstance(arg, type) else arg

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is None:
            self.cls = args[0]
            return self
        if _deterministic and self.applies(*args, **kwargs):
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'. You can turn off determinism "
                "for this "
                "DataPipe if that is acceptable for your application"
            )
        return self.cls(*args, **kwargs)


def argument_validation(f: Any) -> Any:
    """Returns `f`: types of arguments are not checked."""
    return f


def runtime_validation(f: Any) -> Any:
    """Returns `f`: types of samples are not checked."""
    return f


@contextmanager
def runtime_validation_disabled() -> Any:
    """A context that does nothing: types of samples are not checked."""
    yield
