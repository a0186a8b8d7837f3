"""Samplers: the order in which a DataLoader reads the samples of a dataset."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ... import Generator, as_tensor, empty, float64, int64, multinomial, randint, randperm

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler"]

_T_co = TypeVar("_T_co", covariant=True)
DRAWN_AT_ONCE = 32  # indices with replacement, of which each call draws this many: the numbers depend on it


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler(Generic[_T_co]):
    """The indices of samples, or lists of them. A subclass defines `__iter__`, and `__len__` for `len(loader)`."""

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """The indices 0, 1, 2, ... of `data_source`.

    >>> list(torch.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Samples indices of `data_source` in random order, or with `replacement`. `num_samples` defaults to the length of `data_source`; more
    samples are drawn from several random orders.

    Each iteration draws a seed from the default generator, or continues `generator`. Raises ValueError for a `num_samples` that is not
    positive, TypeError for a `replacement` that is not a bool.

    >>> list(torch.utils.data.RandomSampler("abc", generator=torch.Generator().manual_seed(0)))
    [2, 0, 1]
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Generator | None = None
    ) -> None:
        self.data_source, self.replacement, self._num_samples, self.generator = data_source, replacement, num_samples, generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices of an iteration; by default the current length of the dataset."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        length, left, generator = len(self.data_source), self.num_samples, self.generator
        if generator is None:
            generator = Generator().manual_seed(int(empty((), dtype=int64).random_().item()))
        if self.replacement:
            for _ in range(left // DRAWN_AT_ONCE):
                yield from randint(high=length, size=(DRAWN_AT_ONCE,), dtype=int64, generator=generator).tolist()
            yield from randint(high=length, size=(left % DRAWN_AT_ONCE,), dtype=int64, generator=generator).tolist()
        else:
            for _ in range(left // length):
                yield from randperm(length, generator=generator).tolist()
            yield from randperm(length, generator=generator).tolist()[: left % length]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    >>> list(torch.utils.data.SubsetRandomSampler([5, 6, 7], generator=torch.Generator().manual_seed(2)))
    [5, 7, 6]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Samples `num_samples` indices with probabilities proportional to `weights`.

    Raises ValueError for weights that are not one-dimensional, a `num_samples` that is not positive, and a `replacement` that is not a
    bool.

    >>> list(torch.utils.data.WeightedRandomSampler([0, 1], 3))
    [1, 1, 1]
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Generator | None = None) -> None:
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler["list[int]"]):
    """Lists of `batch_size` indices of another sampler. `drop_last` leaves out a last list that is shorter.

    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count: int = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
