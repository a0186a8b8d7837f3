"""Datasets: samples by index (Dataset) or as a stream (IterableDataset), and combinations of datasets."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ... import Generator, randperm
from ..._core.tensor import Tensor

__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset", "random_split"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """Samples by index. A subclass defines `__getitem__`, and `__len__` for samplers and `len(loader)`.

    A subclass may define `__getitems__`, which takes a list of indices and returns a list of samples: DataLoader then calls it once a
    batch. The sum of two datasets is a ConcatDataset.

    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 10
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> (Squares() + Squares())[13]
    9
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """Samples as a stream. A subclass defines `__iter__`.

    Each worker process of a DataLoader iterates over a copy of the dataset: `get_worker_info()` identifies the worker, so that each can
    yield its share of the samples. The sum of two datasets is a ChainDataset.

    >>> class Numbers(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         worker = torch.utils.data.get_worker_info()
    ...         return iter(range(4) if worker is None else range(worker.id, 4, worker.num_workers))
    >>> list(torch.utils.data.DataLoader(Numbers(), batch_size=2))
    [tensor([0, 1]), tensor([2, 3])]
    """

    @abstractmethod
    def __iter__(self) -> Iterator[_T_co]: ...

    def __add__(self, other: Dataset[Any]) -> ChainDataset[Any]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset["tuple[Tensor, ...]"]):
    """The rows of tensors: sample `i` is the tuple of `tensor[i]`. All tensors have the same first dimension.

    >>> torch.utils.data.TensorDataset(torch.arange(3), torch.ones(3))[1]
    (tensor(1), tensor(1.))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Samples of several datasets at one index: a tuple for positional arguments, a dictionary for keyword arguments.

    >>> torch.utils.data.StackDataset(image=["a", "b"], label=[0, 1])[1]
    {'image': 'b', 'label': 1}
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        parts = list(args or kwargs.values())
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        named = isinstance(self.datasets, dict)
        columns = [samples_of(part, indices) for part in (self.datasets.values() if named else self.datasets)]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
        rows = zip(*columns, strict=True)
        return [dict(zip(self.datasets, row, strict=True)) for row in rows] if named else list(rows)

    def __len__(self) -> int:
        return self._length


def samples_of(dataset: Any, indices: list[Any]) -> list[Any]:
    """Returns the samples at `indices`, by one call where the dataset has `__getitems__`."""
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(indices)  # type: ignore[no-any-return]
    return [dataset[index] for index in indices]


class ConcatDataset(Dataset[_T_co]):
    """Datasets one after the other. Negative indices count from the end.

    >>> torch.utils.data.ConcatDataset([range(3), range(5)])[-1]
    4
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Returns the running sums of the lengths."""
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(part, IterableDataset) for part in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> _T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[part - 1] if part else 0
        return self.datasets[part][index - before]  # type: ignore[no-any-return]

    @property
    def cummulative_sizes(self) -> list[int]:
        """`cumulative_sizes`, under an earlier name."""
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[_T_co]):
    """Streams one after the other.

    >>> list(torch.utils.data.ChainDataset([]))
    []
    """

    datasets: Iterable[Any]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _parts(self) -> Iterator[IterableDataset[_T_co]]:
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield part

    def __iter__(self) -> Iterator[_T_co]:
        for part in self._parts():
            yield from part

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts())  # type: ignore[arg-type, misc]


class Subset(Dataset[_T_co]):
    """The samples of `dataset` at `indices`.

    >>> list(torch.utils.data.Subset("abcdef", [4, 0]))
    ['e', 'a']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return samples_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None) -> list[Subset[Any]]:
    """Divides a dataset at random into subsets of the given lengths, whose sum is the length of the dataset, or of the given fractions,
    whose sum is 1; remaining samples are added to the subsets in turn. `generator` defaults to the default generator.

    >>> first, second = torch.utils.data.random_split(range(10), [3, 7], generator=torch.Generator().manual_seed(42))
    >>> first.indices
    [2, 6, 1]
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        counts = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if not count:
                warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2)
        lengths = counts
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(int(sum(lengths)), generator=generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[int(end - length) : int(end)]) for end, length in zip(ends, lengths, strict=True)]
