"""Streams as data pipes."""

from __future__ import annotations

import copy
import itertools
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ... import _utils
from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe

__all__ = ["Batcher", "Collator", "Concater", "Filter", "IterableWrapper", "Mapper", "ShardingFilter", "Shuffler", "UnBatcher", "Zipper"]


class IterableWrapper(IterDataPipe[Any]):
    """The items of an iterable, of which each iteration has a copy unless `deepcopy` is false.

    >>> from libtensor.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(5)).map(lambda x: x * 2).filter(lambda x: x > 2).batch(2))
    [[4, 6], [8]]
    """

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place modification would affect source data.",
                    stacklevel=2,
                )
        return iter(source)

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


class _Source(IterDataPipe[Any]):
    """A pipe over another one, of the same length."""

    def __init__(self, datapipe: Any) -> None:
        self.datapipe = datapipe

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("map")
class Mapper(_Source):
    """`fn` of each sample; with `input_col` of an item, or several, of each sample, which replaces it, or the item `output_col`."""

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        super().__init__(datapipe)
        self.fn, self.input_col, self.output_col = fn, input_col, output_col

    def __iter__(self) -> Iterator[Any]:
        return map(self._applied, self.datapipe)

    def _applied(self, sample: Any) -> Any:
        if self.input_col is None:
            return self.fn(sample)
        columns = self.input_col if isinstance(self.input_col, (list, tuple)) else [self.input_col]
        made = self.fn(*(sample[column] for column in columns))
        target = columns[0] if self.output_col is None else self.output_col
        changed = list(sample) if isinstance(sample, tuple) else copy.copy(sample)
        if target == -1 and isinstance(changed, list):
            changed.append(made)
        else:
            changed[target] = made
        return tuple(changed) if isinstance(sample, tuple) else changed


@functional_datapipe("collate")
class Collator(Mapper):
    """A batch of each list of samples."""

    def __init__(self, datapipe: Any, conversion: Any = None, collate_fn: Callable[..., Any] | None = None) -> None:
        super().__init__(datapipe, collate_fn or conversion or _utils.collate.default_collate)


@functional_datapipe("filter")
class Filter(IterDataPipe[Any]):
    """The samples for which `filter_fn`, of the sample or of its item `input_col`, is true."""

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            if self.filter_fn(sample if self.input_col is None else sample[self.input_col]):
                yield sample


@functional_datapipe("batch")
class Batcher(IterDataPipe[Any]):
    """Lists of `batch_size` samples."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __iter__(self) -> Iterator[Any]:
        samples = iter(self.datapipe)
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe[Any]):
    """The items of lists, `unbatch_level` lists deep; -1 for all."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            yield from self._items(sample, self.unbatch_level)

    def _items(self, sample: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level < 0 and not isinstance(sample, (list, DataChunk))):
            yield sample
            return
        for item in sample:
            yield from self._items(item, level - 1)


@functional_datapipe("shuffle")
class Shuffler(_Source):
    """Samples in random order, of which `buffer_size` are held at a time. `set_seed` seeds the next iteration."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        super().__init__(datapipe if unbatch_level == 0 else UnBatcher(datapipe, unbatch_level))
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        self.buffer_size, self._enabled = buffer_size, True
        self._seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Shuffler:
        """Chooses whether the order is random."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Shuffler:
        """Seeds the next iteration."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        generator = random.Random(random.getrandbits(63) if self._seed is None else self._seed)
        self._seed = None
        held: list[Any] = []
        for sample in self.datapipe:
            if len(held) < self.buffer_size:
                held.append(sample)
            else:
                i = generator.randint(0, len(held) - 1)
                held[i], sample = sample, held[i]
                yield sample
        generator.shuffle(held)
        yield from held


@functional_datapipe("sharding_filter")
class ShardingFilter(_Source):
    """Every `num_of_instances`-th sample; in worker processes those of the worker."""

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        super().__init__(source_datapipe)
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> None:
        """Sets the share."""
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator[Any]:
        worker, count, first = _utils.worker.get_worker_info(), self.num_of_instances, self.instance_id
        if worker is not None:
            count, first = count * worker.num_workers, first * worker.num_workers + worker.id
        return itertools.islice(self.datapipe, first, None, count)


@functional_datapipe("concat")
class Concater(IterDataPipe[Any]):
    """Pipes one after the other."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain(*self.datapipes)

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(IterDataPipe[Any]):
    """Tuples of the samples of several pipes, as many as the shortest one has."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.datapipes)  # noqa: B905 - the shortest one ends it

    def __len__(self) -> int:
        return min(map(len, self.datapipes))
