"""Fetchers, which read batches from a dataset."""

from __future__ import annotations

import itertools
from typing import Any

from ..dataset import samples_of

__all__ = ["create_fetcher"]


class _BaseDatasetFetcher:
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset, self.auto_collation, self.collate_fn, self.drop_last = dataset, auto_collation, collate_fn, drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Returns the batch of a list of indices, or the sample of one index."""
        raise NotImplementedError


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.auto_collation:
            return self.collate_fn(samples_of(self.dataset, possibly_batched_index))
        return self.collate_fn(self.dataset[possibly_batched_index])


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        count = len(possibly_batched_index)
        batch = list(itertools.islice(self.dataset_iter, count))
        self.ended = len(batch) < count
        if not batch or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(batch)


def create_fetcher(iterable: bool, *args: Any) -> _BaseDatasetFetcher:
    """Returns a fetcher for a dataset with or without indices."""
    return _IterableDatasetFetcher(*args) if iterable else _MapDatasetFetcher(*args)
