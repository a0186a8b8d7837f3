"""Settings of a pipe and of all pipes that it reads from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from .... import Generator, empty, int64
from .datapipe import IterDataPipe, MapDataPipe

__all__ = ["apply_random_seed", "apply_shuffle_settings"]


def _pipes(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yields the pipes among the attributes of `value`, at any depth of lists, tuples and dictionaries, each once."""
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        if id(value) in seen:
            return
        seen.add(id(value))
        yield value
        value = vars(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _pipes(part, seen)


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Sets whether the shuffling pipes of `datapipe` shuffle. With `shuffle=True` and no such pipe, warns and appends one to a stream."""
    if shuffle is None:
        return datapipe
    shufflers = [pipe for pipe in _pipes(datapipe, set()) if "set_shuffle" in dir(type(pipe)) and "set_seed" in dir(type(pipe))]
    if shuffle and not shufflers and isinstance(datapipe, IterDataPipe):
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware that the default "
            "buffer "
            "size might not be sufficient for your task.",
            stacklevel=3,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, seed: int) -> None:
    """Seeds the random pipes of `datapipe`, each with another number that `seed` determines."""
    generator = Generator().manual_seed(seed)
    for pipe in _pipes(datapipe, set()):
        if "set_seed" in dir(type(pipe)):
            pipe.set_seed(int(empty((), dtype=int64).random_(generator=generator).item()))
