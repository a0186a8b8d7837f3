"""Data pipes: datasets whose operations are methods, registered by `functional_datapipe`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from ..dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


class _Registry:
    """Methods that other classes register: `pipe.name(...)` returns `Class(pipe, ...)`."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        functions = type(self).functions
        if name in functions:
            return functools.partial(functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Makes `function` a method of all pipes, which is called with the pipe first."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False) -> None:
        """Makes a class a method of all pipes. Raises Exception for a name that is taken."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_Registry, IterableDataset[_T_co]):
    """A stream of samples, whose operations are methods: `pipe.map(f).filter(g).batch(2)`."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def reset(self) -> None:
        """Does nothing; a subclass restores the state before an iteration."""

    def __repr__(self) -> str:
        return type(self).__qualname__


class DFIterDataPipe(IterDataPipe[Any]):
    """A stream of data frames."""


class MapDataPipe(_Registry, Dataset[_T_co]):
    """Samples by index, whose operations are methods."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __repr__(self) -> str:
        return type(self).__qualname__


class DataChunk(list[Any]):
    """A list of samples."""

    def __init__(self, items: Iterable[Any]) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """Returns the samples as text."""
        return indent + "[" + ", ".join(map(str, self)) + "]"

    def raw_iterator(self) -> Iterator[Any]:
        """Returns an iterator over the samples."""
        return iter(self.items)
